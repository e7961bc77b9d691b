"""Runs of nccl-tests that say little: no row, or the last line only, with NCCL's own lines in between."""

from lanescope.parsers.bandwidth.nccl_tests import CollectiveSummary, CollectiveTime, CollectiveUnanswered
from lanescope.parsers.nccl.log_channels import Channel
from lanescope.parsers.tools import recognize

COLUMNS = "time   algbw   busbw #wrong"
HEADING = f"#       size         count      type   redop    root     {COLUMNS}     {COLUMNS}\n"
FIGURES = "41.88   25.04   43.82      0    41.50   25.27   44.22      0"
ROW = f"     1048576        262144     float     sum      -1    {FIGURES}\n"
CHANNEL = "box:71:80 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
END = "# Out of bounds values : 0 OK\n"


def readings(text, kind):
    tool = recognize(text)
    assert tool is not None
    assert tool.name == "nccl-tests"
    return [one for one in tool.parse(text).readings if isinstance(one, kind)]


def test_a_heading_with_nothing_below_it_is_a_run_without_an_answer():
    assert len(readings(CHANNEL + HEADING, CollectiveUnanswered)) == 1


def test_a_run_with_a_row_a_summary_or_a_failure_has_answered():
    failure = "box: Test CUDA failure common.cu:1126 'unspecified launch failure'\n"
    for answer in (ROW, END, failure, "# error: out of memory\n"):
        assert readings(HEADING + answer, CollectiveUnanswered) == []


def test_each_run_of_a_log_is_asked_for_its_own_answer():
    assert len(readings(HEADING + HEADING + ROW, CollectiveUnanswered)) == 1
    assert len(readings(HEADING + ROW + HEADING, CollectiveUnanswered)) == 1


def test_the_last_line_of_a_run_is_enough_to_know_it():
    assert readings(CHANNEL + END, CollectiveSummary) == [CollectiveSummary(0, True, None, "")]


def test_lines_of_nccl_between_the_rows_are_read_as_its_log_is():
    (channel,) = readings(CHANNEL + HEADING + ROW, Channel)
    assert (channel.transport, channel.rank, channel.to_rank) == ("P2P", 0, 1)
    assert len(readings(CHANNEL + HEADING + ROW, CollectiveTime)) == 2
