"""Links that are up, and slower than their equals."""

import pytest
from lanescope.incident.findings import Confidence


def listing(speeds, gpu=0):
    lines = [f"\t Link {link}: {speed}" for link, speed in enumerate(speeds)]
    return "\n".join([f"GPU {gpu}: NVIDIA H100 (UUID: GPU-{gpu}2345678-aaaa)", *lines, ""])


@pytest.fixture
def found(judged):
    def judge_texts(*told):
        return [one for one in judged(*told) if one.rule == "links_slow"]

    return judge_texts


def test_a_link_at_a_lower_speed_than_its_siblings_is_downtrained(found):
    (finding,) = found(("n1", "", listing(["26.562 GB/s"] * 5 + ["13.281 GB/s"])))
    assert (finding.component, finding.fault_class) == ("n1/gpu0/nvlink5", "nvlink-link/downtrained")
    assert finding.confidence is Confidence.LIKELY


def test_inactive_links_are_not_slow(found):
    assert found(("n1", "", listing(["26.562 GB/s"] * 5 + ["<inactive>"]))) == []


def test_speeds_that_differ_by_rounding_are_equal(found):
    assert found(("n1", "", listing(["25 GB/s", "25.781 GB/s", "25 GB/s", "25 GB/s"]))) == []


def test_another_kind_of_gpu_beside_is_not_slow(found):
    assert found(("n1", "", listing(["53.125 GB/s"] * 6) + listing(["26.562 GB/s"] * 6, gpu=1))) == []


def test_the_latest_reading_of_a_node_counts(found):
    slow, good = listing(["26.562 GB/s"] * 5 + ["13.281 GB/s"]), listing(["26.562 GB/s"] * 6)
    assert found(("n1", "t1", good), ("n1", "t0", slow)) == []
    assert len(found(("n1", "t1", slow), ("n1", "t0", good))) == 1
