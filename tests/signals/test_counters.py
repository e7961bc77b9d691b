"""Counters: differences, never totals; equals as the yardstick; one storm once."""

from lanescope.incident.findings import Confidence
from lanescope.signals.counters import ERROR_COUNTERS, is_error_counter, plain_name

LANE = "n1/gpu5/nvlink7"


def now_and_then(story, component, name, times=3, step=1):
    for _ in range(times):
        story.rise(component, name, step)
        story.tick(10)
    return story


def test_a_counter_that_comes_back_is_a_finding_that_steers_and_does_not_convict(story):
    finding = now_and_then(story, LANE, "recovery_errors").only()
    assert (finding.component, finding.fault_class) == (LANE, "nvlink-link/marginal")
    assert finding.confidence is Confidence.POSSIBLE
    assert "about 5 a minute" in finding.title


def test_a_lifetime_total_that_stands_still_raises_nothing(begin):
    story = begin()
    story.put(LANE, replay_errors=2353, crc_errors=65535)
    story.put("n1/gpu5/hbm", ecc_uncorrected=12, ecc_corrected=9000)
    story.put("n1/mlx5_0", symbol_error=65535, link_downed=255)
    assert story.tick(20).findings() == ()


def test_one_storm_counts_once_and_is_no_rise(story):
    story.rise(LANE, "replay_errors", 100_000)
    assert story.tick(30).findings() == ()


def test_a_rise_that_goes_on_is_told_without_a_pause_in_it(story):
    for _ in range(40):
        story.rise(LANE, "replay_errors")
        story.tick()
    assert story.only().component == LANE


def test_a_rise_that_all_equals_share_accuses_none_of_them(story):
    for _ in range(4):
        for gpu in range(8):
            for lane in range(18):
                story.rise(f"n1/gpu{gpu}/nvlink{lane}", "replay_errors", 3)
        story.tick(10)
    assert story.findings() == ()


def test_a_part_far_above_its_rising_equals_stands_out(story):
    for _ in range(4):
        for gpu in range(8):
            for lane in range(18):
                story.rise(f"n1/gpu{gpu}/nvlink{lane}", "replay_errors", 3)
        story.rise(LANE, "replay_errors", 200)
        story.tick(10)
    assert story.only().component == LANE


def test_several_counters_of_one_part_are_one_finding_led_by_the_gravest(story):
    for _ in range(3):
        story.rise(LANE, "replay_errors", 9)
        story.rise(LANE, "recovery_errors")
        story.tick(10)
    finding = story.only()
    assert finding.title.startswith("recovery errors rise on gpu5/nvlink7")
    assert "also replay errors" in finding.title


def test_a_counter_that_goes_missing_raises_nothing(story):
    story.put(LANE, recovery_errors=float("nan"))
    assert story.tick(10).findings() == ()


def test_corrected_memory_errors_at_an_ordinary_rate_raise_nothing(story):
    assert now_and_then(story, "n1/gpu0/hbm", "ecc_corrected").findings() == ()


def test_a_link_that_went_down_once_is_told_at_once(story):
    story.rise("n1/mlx5_0", "link_downed")
    assert story.tick(2).only().fault_class == "net-link/flap"


def test_corrected_pcie_errors_of_a_bridge_are_told_on_the_bridge(story):
    finding = now_and_then(story, "n1/pcie/0000:16:00.0", "aer_correctable", step=60).only()
    assert (finding.component, finding.fault_class) == ("n1/pcie/0000:16:00.0", "pcie-link/signal-integrity")


def test_the_title_of_a_steady_rise_does_not_change_with_every_tick(story):
    titles = set()
    for _ in range(12):
        story.rise(LANE, "recovery_errors")
        for _ in range(5):
            titles |= {finding.title for finding in story.tick(2).faults()}
    assert len(titles) <= 2


def test_an_uncorrectable_memory_error_during_the_session_is_a_finding_and_stands(story):
    story.rise("n1/gpu0/hbm", "ecc_uncorrected")
    assert "1 uncorrectable memory error on gpu0" in story.tick().only().title
    assert story.tick(130).only().fault_class == "gpu-memory/uncontained"


def test_a_row_that_waits_for_a_reset_is_a_warning_and_a_failed_one_is_critical(story):
    story.put("n1/gpu0/hbm", remap_pending=1)
    assert story.tick().only().severity == "warning"
    story.put("n1/gpu0/hbm", remap_pending=0, remap_failure=1)
    assert story.tick().only().fault_class == "gpu-memory/row-remap-failure"


def test_every_error_counter_has_a_name_and_a_meaning_from_the_facts():
    for counter in ERROR_COUNTERS.values():
        assert counter.plain
        assert counter.meaning
        assert counter.unit
        assert counter.blames


def test_throughput_is_no_error_counter():
    assert not is_error_counter("port_xmit_data")
    assert plain_name("port_xmit_data") == "port xmit data"
