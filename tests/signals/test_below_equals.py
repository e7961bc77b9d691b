"""Parts that reach less than their equals in the same test."""

import pytest
from lanescope.incident.findings import Confidence


@pytest.fixture
def found(judged):
    def judge_text(text):
        return [one for one in judged(("head", "", text)) if one.rule == "below_equals"]

    return judge_text


def by_node(values, heading="hostname,bandwidth GB/s"):
    return "\n".join([heading, *(f"n{at},{value}" for at, value in enumerate(values, start=1))]) + "\n"


def test_a_node_well_below_the_median_of_its_equals_is_a_possible_straggler(found):
    (finding,) = found(by_node([388, 391, 390, 240, 389, 390]))
    assert (finding.component, finding.fault_class) == ("n4", "straggler/node")
    assert finding.confidence is Confidence.POSSIBLE
    assert "240" in finding.title
    assert "389.5" in finding.title


def test_a_spread_that_all_have_is_no_straggler(found):
    assert found(by_node([300, 340, 380, 420, 460, 280])) == []


def test_a_step_below_seven_percent_is_no_straggler(found):
    assert found(by_node([390, 390, 390, 390, 390, 370])) == []


def test_four_nodes_are_too_few_for_a_yardstick(found):
    assert found(by_node([390, 390, 390, 240])) == []


def test_of_times_the_long_ones_stand_out(found):
    (finding,) = found(by_node([2.0, 2.1, 2.0, 2.0, 5.5, 2.1], "node,latency_us"))
    assert finding.component == "n5"


def gpus(slow):
    lines = [f"n{node}\t{gpu}\t{600 if (node, gpu) in slow else 720}" for node in (1, 2, 3) for gpu in range(4)]
    return "\n".join(["node\tgpu\ttflops", *lines]) + "\n"


def test_a_gpu_below_all_others_is_named_with_its_node(found):
    (finding,) = found(gpus({(2, 3)}))
    assert (finding.component, finding.fault_class) == ("n2/gpu3", "straggler/gpu")


def test_where_all_gpus_of_a_node_are_slow_the_node_is_named_instead(found):
    (finding,) = found(gpus({(2, gpu) for gpu in range(4)}))
    assert (finding.component, finding.fault_class) == ("n2", "straggler/node")


def test_a_gpu_that_computes_less_in_a_burn_is_a_possible_straggler(found):
    done = " - ".join(f"900 ({41000 if gpu == 5 else 49000} Gflop/s)" for gpu in range(8))
    errors, degrees = " - ".join("0" for _ in range(8)), " - ".join("60 C" for _ in range(8))
    text = f"100.0%  proc'd: {done}   errors: {errors}   temps: {degrees}\nTested 8 GPUs:\n\tGPU 0: OK\n"
    (finding,) = found(text)
    assert (finding.component, finding.fault_class) == ("head/gpu5", "straggler/gpu")
