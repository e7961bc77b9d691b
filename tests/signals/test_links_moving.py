"""NVLink counters at two points in time: a move among still equals is told, a standing total is not."""

import pytest
from lanescope.incident.findings import Confidence, Severity

RECOVERIES = "Total link recovery events"


def listing(counts, name=RECOVERIES, gpu=0):
    lines = [f"\t Link {link}: {name}: {count}" for link, count in enumerate(counts)]
    return "\n".join([f"GPU {gpu}: NVIDIA GB200 (UUID: GPU-{gpu}2345678-aaaa)", *lines, ""])


@pytest.fixture
def found(judged):
    def judge_texts(*told):
        return [one for one in judged(*told) if one.rule == "links_moving"]

    return judge_texts


def test_a_link_whose_counter_moves_among_still_siblings_may_be_marginal(found):
    (finding,) = found(("n1", "t0", listing([0, 500, 0])), ("n1", "t1", listing([0, 504, 0])))
    assert (finding.component, finding.fault_class) == ("n1/gpu0/nvlink1", "nvlink-link/marginal")
    assert (finding.confidence, finding.severity) == (Confidence.POSSIBLE, Severity.WARNING)
    assert "500 -> 504" in finding.title
    assert "2 other links stood still" in finding.title
    assert finding.evidence == ("J1", "J2")
    assert "either end" in finding.argues_against[0]


def test_a_standing_total_says_nothing(found):
    assert found(("n1", "", listing([0, 500, 0]))) == []
    assert found(("n1", "t0", listing([0, 500, 0])), ("n1", "t1", listing([0, 500, 0]))) == []


def test_two_readings_of_which_nobody_says_which_came_first_are_no_move(found):
    assert found(("n1", "", listing([0, 500])), ("n1", "", listing([0, 504]))) == []


def test_the_order_of_files_does_not_matter_and_times_tell_how_long(found):
    (finding,) = found(("n1", 2200.0, listing([0, 504])), ("n1", 1000.0, listing([0, 500])))
    assert "500 -> 504 in 20 min" in finding.title


def test_a_counter_that_fell_was_reset_and_counts_from_zero(found):
    (finding,) = found(("n1", "t0", listing([0, 500, 0])), ("n1", "t1", listing([0, 3, 0])))
    assert "reset between" in finding.title
    assert found(("n1", "t0", listing([0, 500, 0])), ("n1", "t1", listing([0, 0, 0]))) == []


def test_links_that_all_move_alike_are_none_of_them_at_fault(found):
    before = [listing([0] * 18, gpu=gpu) for gpu in range(4)]
    after = [listing([3] * 18, gpu=gpu) for gpu in range(4)]
    assert found(("n1", "t0", "".join(before)), ("n1", "t1", "".join(after))) == []


def test_several_links_of_one_gpu_alone_point_at_the_gpu(found):
    before = "".join(listing([0] * 18, gpu=gpu) for gpu in range(4))
    after = "".join(listing([4] * 6 + [0] * 12 if gpu == 2 else [0] * 18, gpu=gpu) for gpu in range(4))
    (finding,) = found(("n1", "t0", before), ("n1", "t1", after))
    assert (finding.component, len(finding.victims)) == ("n1/gpu2", 6)


@pytest.mark.parametrize("name", ["FEC Errors - 0", "Tx packets", "PLR Xmit Blocks"])
def test_counters_that_rise_on_every_healthy_link_are_not_looked_at(found, name):
    assert found(("n1", "t0", listing([5, 5], name)), ("n1", "t1", listing([5, 9000], name))) == []


def test_a_few_crc_errors_are_ordinary_and_many_are_not(found):
    name = "CRC FLIT Errors"
    assert found(("n1", "t0", listing([0, 0, 0], name)), ("n1", "t1", listing([0, 4, 0], name))) == []
    assert len(found(("n1", "t0", listing([0, 0, 0], name)), ("n1", "t1", listing([0, 400, 0], name)))) == 1


def test_a_sweep_in_a_table_is_read_with_its_two_points_in_time(found):
    sweep = "host,gpu,link,recovery_t0,recovery_t1\nn1,0,3,7,7\nn2,5,11,40,49\nn2,5,12,0,0\n"
    (finding,) = found(("head", "", sweep))
    assert finding.component == "n2/gpu5/nvlink11"
    assert "40 -> 49" in finding.title


def test_two_sweeps_are_two_points_in_time(found):
    sweep = "node\tgpu\tnvlink\tcrc errors\nn1\t0\t3\t0\nn2\t5\t11\t{}\n"
    (finding,) = found(("head", "t0", sweep.format(1)), ("head", "t1", sweep.format(900)))
    assert finding.component == "n2/gpu5/nvlink11"


def test_a_link_that_was_read_alone_is_a_lead_and_no_more(found):
    (finding,) = found(("n1", "t0", listing([1])), ("n1", "t1", listing([9])))
    assert finding.confidence is Confidence.UNKNOWN


def test_two_nodes_of_which_nobody_said_the_name_are_not_taken_for_one(found):
    assert found(("unknown", 10.0, listing([0, 0])), ("unknown", 20.0, listing([0, 7]))) == []
