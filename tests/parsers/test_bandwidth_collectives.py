from pathlib import Path

from lanescope.parsers.bandwidth.nccl_tests import (
    CollectiveFailure,
    CollectiveRank,
    CollectiveRun,
    CollectiveSummary,
    CollectiveTime,
    CollectiveWarning,
    parse_nccl_tests,
    times_of_row,
)
from lanescope.parsers.parsed import Missing
from lanescope.parsers.tools import recognize

DATA = Path(__file__).parents[1] / "data" / "bandwidth"
HEADING = "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
ROW = "  8589934592  2147483648  float  sum  -1  20299  423.16  834.57  {}  20006  429.37  846.82  0\n"


def of_type(parsed, kind):
    return [reading for reading in parsed.readings if isinstance(reading, kind)]


def test_sendrecv_in_place_is_not_checked_rather_than_right():
    text = (DATA / "sendrecv_perf.txt").read_text()
    parsed = parse_nccl_tests(text)
    assert recognize(text).name == "nccl-tests"
    assert parsed.unread == []
    run = of_type(parsed, CollectiveRun)[0]
    assert (run.test, run.version, run.gpus, run.validates) == ("sendrecv_perf", "2.17.6", 2, True)
    checked = [(time.in_place, time.wrong, time.missing) for time in of_type(parsed, CollectiveTime)]
    assert checked == [(False, 0, {}), (True, None, {"wrong": Missing.NOT_APPLICABLE})] * 2
    assert [rank.bus_address for rank in of_type(parsed, CollectiveRank)] == ["0000:19:00.0", "0000:3b:00.0"]


def test_wrong_values_are_counted_whatever_notation_they_are_printed_in():
    parsed = parse_nccl_tests(HEADING + ROW.format("7") + ROW.format("1.5e+06"))
    assert [time.wrong for time in of_type(parsed, CollectiveTime)] == [7, 0, 1_500_000, 0]


def test_a_headed_column_with_an_empty_cell_does_not_shift_the_others():
    columns = HEADING.lstrip("#").split()
    for cells, redop, root in (
        ("32 1 float 89.0 1 2 0 85.1 3 4 0", None, None),
        ("32 1 float 3 89.0 1 2 0 85.1 3 4 0", None, 3),
    ):
        first = times_of_row(cells.split(), columns)[0]
        assert (first.redop, first.root, first.time_us, first.busbw) == (redop, root, 89.0, 2.0)


def test_a_row_that_fits_no_heading_is_noted_and_not_guessed_at():
    parsed = parse_nccl_tests(ROW.format("0") + HEADING + "  1024  256  float  sum  -1  20.1  3.4\n")
    assert [line.number for line in parsed.unread] == [1, 3]
    assert parsed.readings == []


def test_a_timestamp_and_per_iteration_columns_are_no_measurements():
    heading = (
        "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% "
        "time algbw busbw #wrong i_min i_max i_p99 i_cv% timestamp\n"
    )
    row = " 64 16 float sum -1 10.0 1.0 2.0 0 9.0 11.0 10.9 3.1 20.0 3.0 4.0 0 19.0 21.0 20.9 2.2 2026-01-02 03:04:05\n"
    times = of_type(parse_nccl_tests(heading + row), CollectiveTime)
    assert [(time.in_place, time.time_us, time.busbw) for time in times] == [(False, 10.0, 2.0), (True, 20.0, 4.0)]


def test_failures_of_cuda_nccl_and_the_test_itself_name_host_and_place():
    parsed = parse_nccl_tests(
        "gpu-017: Test CUDA failure common.cu:894 'invalid device ordinal'\n"
        "gpu-018: Test NCCL failure common.cu:958 'unhandled system error / Call to ibv_modify_qp failed'\n"
        " .. gpu-018 pid 4711: Test failure common.cu:1080\n"
    )
    assert of_type(parsed, CollectiveFailure) == [
        CollectiveFailure("gpu-017", None, "CUDA", "common.cu:894", "invalid device ordinal"),
        CollectiveFailure(
            "gpu-018", None, "NCCL", "common.cu:958", "unhandled system error / Call to ibv_modify_qp failed"
        ),
        CollectiveFailure("gpu-018", 4711, "", "common.cu:1080"),
    ]


def test_out_of_bounds_values_fail_the_run_even_where_the_average_is_cut_off():
    parsed = parse_nccl_tests("# Out of bounds values : 12 FAILED\n")
    assert parsed.readings == [CollectiveSummary(12, False, None, "")]


def test_what_nccl_informs_of_is_passed_over_and_what_it_warns_of_is_kept():
    parsed = parse_nccl_tests(
        "gpu-017:99:101 [3] NCCL INFO Channel 00 : 0 -> 1\n"
        "gpu-017:99:101 [3] transport/net_ib.cc:1 NCCL WARN NET/IB : Got completion with error 12\n"
        "gpu-017:99:101 [3] NCCL WARN Call to connect failed\n"
    )
    assert of_type(parsed, CollectiveWarning) == [
        CollectiveWarning("gpu-017", 99, 3, "NET/IB : Got completion with error 12"),
        CollectiveWarning("gpu-017", 99, 3, "Call to connect failed"),
    ]


def test_windows_line_ends_and_colours_change_nothing():
    text = (DATA / "sendrecv_perf.txt").read_text()
    coloured = "\x1b[32m" + text.replace("\n", "\x1b[0m\r\n\x1b[32m")
    assert parse_nccl_tests(coloured).readings == parse_nccl_tests(text).readings
