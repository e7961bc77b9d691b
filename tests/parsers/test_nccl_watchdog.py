"""What PyTorch's watchdog means, where no capture shows it."""

from __future__ import annotations

from lanescope.parsers.nccl.pytorch_watchdog import (
    PYTORCH_WATCHDOG,
    WatchdogState,
    WatchdogTimeout,
    parse_pytorch_watchdog,
)

TIMEOUT = (
    "[rank1]:[E1114 09:50:59.789610635 ProcessGroupNCCL.cpp:683] [Rank 1] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=1, OpType=ALLGATHER, NumelIn=1, NumelOut=2, Timeout(ms)=600000) "
    "ran for 600067 milliseconds before timing out."
)


def test_a_process_group_with_id_and_guid_is_named():
    (state,) = parse_pytorch_watchdog(
        "[rank8]:[E129 16:38:47.801786726 ProcessGroupNCCL.cpp:1858] [PG ID 2 PG GUID 3(default_pg) Rank 8] Timeout at "
        "NCCL work: 31, last enqueued NCCL work: 58, last completed NCCL work: 30."
    ).readings
    assert state == WatchdogState(8, "2", "default_pg", 31, 58, 30, "0129 16:38:47.801786726")


def test_a_rank_that_was_told_by_another_has_no_failed_work_of_its_own():
    (state,) = parse_pytorch_watchdog(
        "[rank0]:[E1114 09:51:00.65 ProcessGroupNCCL.cpp:1858] [PG ID 0 PG GUID 0(default_pg) Rank 0] Received a dump "
        "signal due to a collective timeout from rank 1. Last enqueued NCCL work: 3, last completed: -1."
    ).readings
    assert (state.failed, state.last_enqueued, state.last_completed) == (None, 3, -1)


def test_what_is_printed_again_as_the_thread_ends_is_read_once():
    again = TIMEOUT.replace(
        "[Rank 1] Watchdog", "[PG 0 Rank 1] Process group watchdog thread terminated with exception: [Rank 1] Watchdog"
    )
    assert len(parse_pytorch_watchdog(f"{TIMEOUT}\n{again}\n").readings) == 1


def test_a_line_wrapped_by_a_terminal_is_put_together():
    for width in (60, 80, 120):
        wrapped = "\n".join(TIMEOUT[at : at + width] for at in range(0, len(TIMEOUT), width))
        (timeout,) = parse_pytorch_watchdog(wrapped).readings
        assert isinstance(timeout, WatchdogTimeout)
        assert (timeout.rank, timeout.operation, timeout.elements_out, timeout.ran_ms) == (1, "ALLGATHER", 2, 600067)


def test_a_line_that_is_cut_is_unread_and_does_not_hide_the_next():
    parsed = parse_pytorch_watchdog(f"{TIMEOUT[:150]}\n{TIMEOUT.replace('Rank 1', 'Rank 5')}\n{TIMEOUT[:170]}")
    assert [one.rank for one in parsed.readings] == [5]
    assert [line.number for line in parsed.unread] == [1, 3]


def test_a_launchers_prefix_does_not_hide_the_line():
    (timeout,) = parse_pytorch_watchdog(f"(RayWorkerWrapper pid=270291, ip=10.175.94.190) {TIMEOUT}").readings
    assert timeout.rank == 1


def test_a_training_log_without_the_watchdog_is_not_recognized():
    assert not PYTORCH_WATCHDOG.recognizes("step 1 loss 2.3\nRuntimeError: CUDA error: out of memory\n")
