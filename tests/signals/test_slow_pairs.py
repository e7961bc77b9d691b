"""Slow pairs: whoever is fast with anyone is acquitted, and what can't be told apart is said to be so."""

import itertools

import pytest
from lanescope.incident.findings import Confidence
from lanescope.signals.slow_pairs import slow_limit

FAST, SLOW = 180.0, 97.0


def table(pairs, heading="node_a,node_b,busbw GB/s"):
    return "\n".join([heading, *(",".join(str(cell) for cell in pair) for pair in pairs)]) + "\n"


def all_pairs(names, value):
    return [(one, other, value(one, other)) for one, other in itertools.combinations(names, 2)]


@pytest.fixture
def found(judged):
    def judge_pairs(text, node="head"):
        return [one for one in judged((node, "", text)) if one.rule == "slow_pairs"]

    return judge_pairs


def test_pairs_that_are_all_alike_raise_nothing(found):
    assert found(table(all_pairs("abcd", lambda one, other: FAST + ord(one) / 50))) == []


def test_a_node_that_is_slow_with_all_who_are_fast_with_others_is_named(found):
    (finding,) = found(table(all_pairs(["n1", "n2", "n3", "n4"], lambda *ends: SLOW if "n3" in ends else FAST)))
    assert (finding.component, finding.fault_class) == ("n3", "straggler/node")
    assert finding.confidence is Confidence.LIKELY
    assert "97" in finding.title
    assert "180" in finding.title


def test_one_slow_pair_with_a_good_partner_is_only_possible(found):
    (finding,) = found(table([("n1", "n2", FAST), ("n1", "n3", FAST), ("n3", "n4", SLOW)]))
    assert (finding.component, finding.confidence) == ("n4", Confidence.POSSIBLE)


def test_a_pair_of_which_neither_end_is_fast_with_anyone_is_not_split_and_names_the_tests_that_would(found):
    (finding,) = found(table([("n1", "n2", FAST), ("n2", "n3", FAST), ("n8", "n9", SLOW)]))
    assert (finding.fault_class, finding.confidence) == ("straggler/pair", Confidence.POSSIBLE)
    assert "n8, n9 or both" in finding.title
    assert "n8-n1" in finding.next
    assert "n9-n1" in finding.next


def test_a_pair_is_tested_with_a_node_that_is_slow_with_nobody(found):
    rows = [("n1", "n2", FAST + 5), ("n5", "n6", FAST), ("n2", "n7", SLOW), ("n1", "n7", SLOW), ("n8", "n9", SLOW)]
    unsplit = next(one for one in found(table(rows)) if one.fault_class == "straggler/pair")
    assert "n8-n5" in unsplit.next


def test_the_common_end_of_pairs_that_nothing_splits_is_named_as_possible_only(found):
    rows = [("n1", "n2", FAST), ("n3", "n4", FAST), ("n9", "n5", SLOW), ("n9", "n6", SLOW), ("n9", "n7", SLOW)]
    (finding,) = found(table(rows))
    assert (finding.component, finding.confidence) == ("n9", Confidence.POSSIBLE)


def test_ends_that_are_both_fast_elsewhere_leave_what_lies_between_them(found):
    names = ["n1", "n2", "n3", "n4"]
    (finding,) = found(table(all_pairs(names, lambda *ends: SLOW if ends == ("n1", "n4") else FAST)))
    assert (finding.fault_class, finding.confidence) == ("straggler/pair", Confidence.POSSIBLE)
    assert "n1-n4" in finding.title


def test_an_attribute_that_a_fast_pair_has_as_well_is_refuted(found):
    rows = [("n1", "n2", "yes", FAST), ("n2", "n4", "no", FAST), ("n1", "n3", "yes", SLOW), ("n2", "n3", "no", SLOW)]
    (finding,) = found(table(rows, "node1,node2,other rack,busbw"))
    assert any("other rack=yes is refuted" in said and "n1-n2" in said for said in finding.argues_against)
    assert finding.confidence is Confidence.LIKELY


def test_an_attribute_that_all_slow_pairs_have_and_no_fast_one_is_a_rival_and_lowers_the_confidence(found):
    rows = [("n1", "n2", "no", FAST), ("n2", "n4", "no", FAST), ("n1", "n3", "yes", SLOW), ("n2", "n3", "yes", SLOW)]
    (finding,) = found(table(rows, "node1,node2,other rack,busbw"))
    assert finding.confidence is Confidence.POSSIBLE
    assert any("other rack=yes" in said and "explain" in said for said in finding.argues_against)


def test_pairs_measured_with_other_sizes_are_not_compared(found):
    rows = [("n1", "n2", "1M", SLOW), ("n3", "n4", "1M", SLOW), ("n1", "n2", "1G", FAST), ("n3", "n4", "1G", FAST)]
    assert found(table(rows, "node1,node2,size,busbw")) == []


def test_of_latencies_the_high_ones_are_slow(found):
    rows = all_pairs(["n1", "n2", "n3", "n4"], lambda *ends: 9.0 if "n2" in ends else 2.1)
    (finding,) = found(table(rows, "src_node,dst_node,latency_us"))
    assert finding.component == "n2"


def test_a_matrix_says_the_same_as_a_list(found):
    names = ["n1", "n2", "n3", "n4"]
    rows = [(one, *("-" if one == two else SLOW if "n4" in (one, two) else FAST for two in names)) for one in names]
    (finding,) = found(table(rows, "GB/s," + ",".join(names)))
    assert finding.component == "n4"


def test_a_table_of_which_nobody_says_whether_more_is_better_raises_nothing(found):
    rows = all_pairs(["n1", "n2", "n3", "n4"], lambda *ends: SLOW if "n3" in ends else FAST)
    assert found(table(rows, "node_1,node_2,value")) == []


def gpu_matrix(value, gpus=8):
    rows = [[f"{50.0 if one == two else value(one, two):.2f}" for two in range(gpus)] for one in range(gpus)]
    head = "   D\\D " + " ".join(f"{gpu:6d}" for gpu in range(gpus))
    lines = [f"{one:6d} " + " ".join(f"{cell:>6}" for cell in row) for one, row in enumerate(rows)]
    return "\n".join(["Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", head, *lines, ""])


def test_a_gpu_that_is_slow_with_every_other_while_those_are_fast_is_a_possible_straggler(found):
    (finding,) = found(gpu_matrix(lambda *ends: 180.0 if 3 in ends else 390.0), node="n7")
    assert (finding.component, finding.fault_class) == ("n7/gpu3", "straggler/gpu")
    assert finding.confidence is Confidence.POSSIBLE


def test_gpus_that_are_slow_across_sockets_are_wired_so(found):
    assert found(gpu_matrix(lambda one, two: 52.0 if one // 4 == two // 4 else 18.0)) == []


def test_gpus_bridged_two_by_two_are_wired_so(found):
    assert found(gpu_matrix(lambda one, two: 250.0 if one // 2 == two // 2 else 20.0, gpus=7)) == []


def test_names_that_are_no_nodes_are_no_nodes(found):
    rows = all_pairs(["[red]a", "b/c", "d e", "f"], lambda *ends: SLOW if "f" in ends else FAST)
    assert found(table(rows)) == []


def test_values_without_a_gap_have_no_slow_ones():
    assert slow_limit([float(value) for value in range(80, 100)]) is None
    assert slow_limit([]) is None


def test_several_levels_of_slow_are_all_slow():
    limit = slow_limit([20.0, 60.0, 90.0, 90.5, 91.0])
    assert limit is not None
    assert 60.0 <= limit < 90.0


def collective(one, other, busbw):
    ranks = "\n".join(
        f"#  Rank {rank:2d} Group  0 Pid   77{rank} on {host:>10} device  0 [0000:1b:00] NVIDIA H100 80GB HBM3"
        for rank, host in enumerate((one, other))
    )
    row = f"1048576 262144 float sum -1 57.30 {busbw} {busbw} 0 56.90 {busbw} {busbw} 0"
    return (
        "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 1 iters: 9 validation: 1\n"
        f"# Using devices\n{ranks}\n"
        "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
        f"   {row}\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {busbw}\n"
    )


def test_collectives_on_two_nodes_at_a_time_are_pairs(judged):
    names = ["n1", "n2", "n3", "n4"]
    runs = all_pairs(names, lambda *ends: 24.1 if "n2" in ends else 46.3)
    findings = judged(*(("head", "", collective(*run)) for run in runs))
    (finding,) = [one for one in findings if one.rule == "slow_pairs"]
    assert finding.component == "n2"
    assert len(finding.evidence) == len(runs)
