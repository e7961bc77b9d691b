from lanescope.parsers.bandwidth.gpu_burn import BurnFailure, BurnVerdict, BurnWindow, parse_gpu_burn
from lanescope.parsers.parsed import LONGEST_LINE, Count

TWO = "{}%  proc'd: {} (7150 Gflop/s) - {} (7100 Gflop/s)   errors: {}- {}  temps: 38 C - -- "
SUMMARY = "\n\tSummary at:   Thu Mar 10 19:21:17 UTC 2022\n\n"


def windows(text):
    return [reading for reading in parse_gpu_burn(text).readings if isinstance(reading, BurnWindow)]


def test_only_the_last_state_of_a_window_counts_and_counts_begin_again_after_it():
    text = (
        "\r"
        + TWO.format("5.0", 10, 10, "3  (WARNING!)", "0 ")
        + "\r"
        + TWO.format("10.0", 20, 20, "5  (WARNING!)", "0 ")
    )
    text += SUMMARY + "\r" + TWO.format("20.0", 30, 30, "0 ", "0 ")
    assert [(one.window, one.gpu, one.iterations, one.errors.value) for one in windows(text)] == [
        (0, 0, 20, 5),
        (0, 1, 20, 0),
        (1, 0, 30, 0),
        (1, 1, 30, 0),
    ]


def test_the_end_of_a_window_longer_than_a_line_may_be_is_not_lost():
    line = "\r".join(TWO.format("5.0", count, count, "0 ", "0 ") for count in range(2000))
    assert len(line) > 2 * LONGEST_LINE
    assert [one.iterations for one in windows(line + SUMMARY)] == [1999, 1999]


def test_a_temperature_that_could_not_be_read_is_missing_and_not_zero():
    assert [one.temperature_c for one in windows(TWO.format("5.0", 1, 1, "0 ", "0 "))] == [38, None]


def test_a_gpu_that_died_has_no_iterations():
    died = windows(TWO.format("5.0", -1, 7, "-1  (DIED!)", "0 "))
    assert [(one.died, one.iterations) for one in died] == [(True, None), (False, 7)]


def test_an_error_count_that_wrapped_is_at_least_two_to_the_31():
    assert windows(TWO.format("5.0", 1, 1, "-2147480000  (WARNING!)", "0 "))[0].errors == Count(2**31, at_least=True)


def test_power_is_read_where_newer_versions_print_it():
    line = "10.0%  proc'd: 5 (100 Gflop/s)   errors: 0   temps: 61 C   power: 345 W "
    assert [(one.temperature_c, one.power_w) for one in windows(line)] == [(61, 345)]


def test_a_progress_line_that_breaks_off_leaves_the_state_before_it():
    whole = TWO.format("5.0", 1, 1, "0 ", "0 ")
    parsed = parse_gpu_burn(whole + "\r" + whole[:60])
    assert [reading.iterations for reading in parsed.readings] == [1, 1]
    assert [line.number for line in parsed.unread] == [1]


def test_a_run_that_could_not_start_says_why():
    parsed = parse_gpu_burn(
        "Couldn't init a GPU test: Error in load module: no kernel image\n\nTested 1 GPUs:\n\tGPU 0: FAULTY\n"
    )
    assert parsed.readings == [
        BurnFailure("Couldn't init a GPU test: Error in load module: no kernel image"),
        BurnVerdict(0, ok=False),
    ]
