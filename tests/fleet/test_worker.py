"""The warm probe worker: the real program as a real process over pipes, on a simulated driver library."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from lanescope.fleet import answers
from lanescope.fleet import worker as client
from lanescope.fleet.failures import computing_on, held_by, sentence_of
from lanescope.fleet.probe_program import MODULES, probe_program
from lanescope.fleet.worker import ProbeWorker
from lanescope.incident.errors import Busy, Deadline, Hung, NoPython, ProbeError
from lanescope.incident.ids import NodeId
from lanescope.incident.source import Task

from .pipe_node import GPUS, found, gone, h2d, p2p, rates, started  # noqa: TID251 (this folder, not the room)

HERE = Path(__file__).parent
NODE_PROGRAMS = HERE.parents[1] / "fleet" / "node"


async def test_tasks_on_several_gpus_are_measured_at_once_in_sixteen_windows(node):
    _, worker = node("rate p2p 0 2 390")
    pair, host = await worker.run([p2p(0, 2), h2d(3)], 20)
    assert (pair.id, pair.error, host.id, host.error) == ("T2", "", "T1", "")
    assert rates(pair) == pytest.approx([390.0] * 16, rel=1e-3)
    assert rates(host) == pytest.approx([55.0] * 16, rel=1e-3)
    assert found(pair, "head")[0]["path"] == "peer"
    assert pair.lines[-1]["end"] == "done"


async def test_a_slow_stretch_is_seen_in_its_own_windows_alone(node):
    _, worker = node("slow h2d 1 * 0.4")
    (host,) = await worker.run([h2d(1)], 20)
    low = [rate < 50 for rate in rates(host)]
    assert 1 <= sum(low) <= 3


async def test_an_engine_that_ran_dry_makes_its_windows_late(node):
    _, worker = node("dry cuEventQuery *")
    (host,) = await worker.run([h2d(1)], 20)
    assert [line["w"] for line in host.lines if line.get("late")] == list(range(1, 16))


async def test_the_lines_are_kept_verbatim_for_evidence(node):
    _, worker = node()
    (host,) = await worker.run([h2d(0)], 20)
    assert [json.loads(line) for line in host.raw.splitlines()] == list(host.lines)


async def test_contexts_stay_warm_from_one_round_to_the_next(node):
    link, worker = node()
    await worker.run([p2p(0, 1), h2d(2)], 20)
    before = link.processes()
    outputs = await worker.run([p2p(0, 1), h2d(2)], 20)
    assert not any(output.error for output in outputs)
    assert link.processes() == before
    assert len(before) == 3
    assert len(link.channels) == 1


async def test_the_cost_of_launching_is_measured_and_paid_once(node):
    _, worker = node()
    (first,) = await worker.run([h2d(0)], 20)
    (second,) = await worker.run([h2d(0)], 20)
    assert worker.launch_seconds > 0
    assert first.seconds == pytest.approx(first.lines[-1]["seconds"] + worker.launch_seconds)
    assert second.seconds == second.lines[-1]["seconds"]


async def test_without_peer_access_the_copies_are_said_to_be_staged(node):
    _, worker = node("apart 0 1; apart 1 0")
    (pair,) = await worker.run([p2p(0, 1)], 20)
    assert found(pair, "head")[0]["path"] == "staged through host memory"


async def test_the_lock_is_exclusive_and_says_who_holds_it(node):
    link, holder = node()
    await holder.run([h2d(0)], 20)
    _, second = node(lock=link.lock)
    with pytest.raises(Busy, match=f"pid {link.channels[0].process.pid} .*of user {os.getuid()}"):
        await second.run([h2d(0)], 20)


async def test_the_lock_is_gone_with_the_process_even_when_it_was_killed(node):
    link, holder = node()
    await holder.run([h2d(0)], 20)
    os.kill(link.channels[0].process.pid, signal.SIGKILL)
    assert await gone(link, 3)
    _, second = node(lock=link.lock)
    (host,) = await second.run([h2d(0)], 20)
    assert not host.error


async def test_closing_leaves_no_process(node):
    link, worker = node()
    await worker.run([h2d(0), p2p(1, 2)], 20)
    assert len(link.processes()) == 3
    await worker.close()
    assert await gone(link, 2)


async def test_without_a_lease_the_worker_ends_though_its_input_stays_open(node):
    link, _ = node(lease=0.4)
    channel = await link.open_program(probe_program(), 0.4)
    assert "ready" in await channel.receive(10)
    assert (await channel.receive(5))["bye"] == "the lease ran out"
    assert await gone(link, 3)


async def test_a_kept_lease_holds_through_idle_times(node, monkeypatch):
    monkeypatch.setattr(client, "KEEP_EVERY", 0.1)
    link, worker = node(lease=0.8)
    await worker.run([h2d(0)], 20)
    await asyncio.sleep(1.2)
    await worker.run([h2d(0)], 20)
    assert len(link.channels) == 1


async def test_a_worker_nobody_needs_any_more_is_let_go(node, monkeypatch):
    monkeypatch.setattr(client, "KEEP_EVERY", 0.05)
    monkeypatch.setattr(client, "IDLE_LIMIT", 0.3)
    link, worker = node()
    await worker.run([h2d(0)], 20)
    assert await gone(link, 5)
    (host,) = await worker.run([h2d(0)], 20)
    assert not host.error


async def test_a_call_that_does_not_return_is_named_and_killed_in_time_and_the_other_task_goes_on(node):
    link, worker = node("hang cuDevicePrimaryCtxRetain 3")
    began = time.monotonic()
    stuck, other = await worker.run([h2d(3), p2p(0, 1)], 4)
    assert time.monotonic() - began < 4
    assert stuck.code == "hung"
    assert stuck.error.startswith("cuDevicePrimaryCtxRetain did not return (process state S")
    assert len(rates(other)) == 16
    assert found(other, "started_without") == [["T1"]]
    await worker.close()
    assert await gone(link, 3)


async def test_a_copy_that_never_completes_is_a_deadline_that_names_the_copy(node):
    _, worker = node("stall h2d 2 *")
    (host,) = await worker.run([h2d(2)], 3)
    assert host.code == "deadline"
    assert "h2d warm-up" in host.error


async def test_a_driver_that_hangs_at_its_opening_is_hung(node, monkeypatch):
    link, worker = node("hang cuInit *")
    text = probe_program().replace(b"LAUNCH_LIMIT, CHECK_LIMIT = 20.0, 5.0", b"LAUNCH_LIMIT, CHECK_LIMIT = 0.2, 5.0")
    monkeypatch.setattr(client, "probe_program", lambda: text)
    with pytest.raises(Hung, match="cuInit did not return"):
        await worker.run([h2d(2)], 20)
    assert await gone(link, 3)


async def test_an_error_of_the_driver_ends_its_child_alone_and_the_next_task_gets_a_fresh_one(node):
    _, worker = node("fail cuMemHostAlloc 719 3")
    bad, good = await worker.run([h2d(3), p2p(0, 1)], 20)
    assert (bad.code, good.error) == ("probe", "")
    assert bad.error.startswith("cuMemHostAlloc failed with CUDA_ERROR_LAUNCH_FAILED: the GPU failed while it worked")
    (again,) = await worker.run([p2p(3, 1)], 20)
    assert not again.error


async def test_a_fabric_manager_that_is_not_up_is_said_in_words(node):
    link, worker = node("fail cuInit 802 *")
    with pytest.raises(ProbeError, match="fabric manager is not up"):
        await worker.run([h2d(0)], 20)
    assert await gone(link, 2)


async def test_a_gpu_the_driver_does_not_know_fails_its_own_task(node):
    _, worker = node("devices 2")
    good, bad = await worker.run([h2d(0), h2d(5, "T9")], 20)
    assert not good.error
    assert "knows no GPU at that bus address" in bad.error


@pytest.mark.parametrize(
    "wrong",
    [{"op": "burn"}, {"gpus": []}, {"gpus": ["; rm -rf /"]}, {"windows": "many"}, {"window_ms": 1e9}, {"bytes": -1}],
)
async def test_arguments_are_checked_on_the_node(node, wrong):
    _, worker = node()
    (bad,) = await worker.run([Task("T1", "cuda_copy", {"op": "h2d", "gpus": [GPUS[0]], **wrong})], 20)
    assert "BAD_TASK" in bad.error
    assert not rates(bad)


@pytest.mark.parametrize("program", ["find_processes", "open_driver", "no_such_thing", 7])
async def test_a_program_that_is_not_published_is_refused_and_costs_the_others_nothing(node, program):
    link, worker = node()
    refused, host = await worker.run([Task("T9", program, {"gpus": [], "ours": []}), h2d(0)], 20)
    assert (refused.code, host.error) == ("probe", "")
    assert "no such program" in refused.error
    (again,) = await worker.run([h2d(0)], 20)
    assert not again.error
    assert len(link.channels) == 1


async def test_compute_processes_of_others_are_not_disturbed_unless_told_to(node):
    _, worker = node(nvml={"computing": {GPUS[1]: [1]}})
    with pytest.raises(Busy, match=f"in use by pid 1 .* on {GPUS[1]}"):
        await worker.run([p2p(0, 1)], 20)
    (free,) = await worker.run([h2d(2)], 20)
    assert not free.error
    (forced,) = await worker.run([p2p(0, 1)], 20, force=True)
    assert not forced.error


async def test_our_own_contexts_do_not_count_as_somebody_elses(node):
    _, worker = node(nvml={"computing": {GPUS[0]: ["self"]}})
    for _ in range(2):
        (host,) = await worker.run([h2d(0)], 20)
        assert not host.error


async def test_all_lanes_of_both_gpus_are_read_before_and_after_the_windows(node):
    _, worker = node(nvml={"lanes": 18, "moving": [GPUS[0], 7, 162]})
    (pair,) = await worker.run([p2p(0, 1)], 20)
    (rows,) = found(pair, "counters")
    assert len(rows) == 2 * 18 * 3
    moved = [(row["gpu"], row["lane"], row["name"]) for row in rows if row["after"] > row["before"]]
    assert moved == [(GPUS[0], 7, "recovery_errors")]


async def test_lanes_a_board_does_not_have_are_absent(node):
    _, worker = node(nvml={"lanes": 12})
    (pair,) = await worker.run([p2p(0, 1)], 20)
    assert {row["lane"] for row in found(pair, "counters")[0]} == set(range(12))


async def test_a_host_copy_reads_the_replays_of_its_pcie_link(node):
    _, worker = node(nvml={"lanes": 18})
    (host,) = await worker.run([h2d(4)], 20)
    assert found(host, "counters") == [
        [{"gpu": GPUS[4], "lane": None, "name": "replays", "before": 3, "after": 3}],
    ]


async def test_without_nvml_there_are_no_counters_and_the_trial_is_measured(node):
    _, worker = node()
    (pair,) = await worker.run([p2p(0, 1)], 20)
    assert found(pair, "counters") == []
    assert len(rates(pair)) == 16


async def test_a_cancelled_run_leaves_no_process(node):
    link, worker = node("stall p2p 0 1")
    run = asyncio.create_task(worker.run([p2p(0, 1)], 20))
    await started(link, 2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await gone(link, 4)


async def test_a_worker_that_falls_silent_is_hung_and_not_waited_for(node, monkeypatch):
    monkeypatch.setattr(client, "KEEP_EVERY", 0.1)
    link, worker = node("stall p2p 0 1", lease=30)
    await worker.run([h2d(2)], 20)
    monkeypatch.setattr(client, "SILENCE_LIMIT", 0.6)
    monkeypatch.setattr(client, "LEASE", 0.5)
    run = asyncio.create_task(worker.run([p2p(0, 1)], 20))
    await asyncio.sleep(0.2)
    os.kill(link.channels[0].process.pid, signal.SIGSTOP)
    with pytest.raises(Hung, match="has said nothing"):
        await asyncio.wait_for(run, 5)


class BareNode:
    """A node on which programs end before their first word."""

    node = NodeId("gpu-017")
    ended = True

    def __init__(self, status, how):
        self.exit_status, self.how = status, how

    async def open_program(self, source, lease):
        return self

    async def send(self, order):
        raise BrokenPipeError

    async def receive(self, deadline):
        return None

    async def close(self):
        pass

    def how_it_ended(self):
        return self.how


@pytest.mark.parametrize(
    ("status", "how", "error"),
    [
        (86, "exit status 86", NoPython),
        (1, "exit status 1: needs Python 3.6 or newer, found 2.7.5", NoPython),
        (127, "exit status 127: env: not found", ProbeError),
    ],
)
async def test_a_node_without_a_fit_python_is_told_from_one_whose_worker_died(status, how, error):
    with pytest.raises(error, match=how):
        await ProbeWorker(BareNode(status, how)).run([h2d(0)], 5)


async def test_a_worker_that_died_while_idle_is_started_anew(node):
    link, worker = node()
    await worker.run([h2d(0)], 20)
    os.kill(link.channels[0].process.pid, signal.SIGKILL)
    await link.channels[0].process.wait()
    (host,) = await worker.run([h2d(0)], 20)
    assert not host.error
    assert len(link.channels) == 2


async def test_the_next_run_waits_for_our_last_worker_to_let_go_of_the_lock(node):
    link, worker = node()
    await worker.run([h2d(0)], 20)
    supervisor = link.channels[0].process.pid
    os.kill(supervisor, signal.SIGSTOP)
    link.channels[0].close = lambda: asyncio.sleep(0)
    await worker.close()
    asyncio.get_running_loop().call_later(0.8, os.kill, supervisor, signal.SIGKILL)
    (host,) = await worker.run([h2d(0)], 20)
    assert not host.error
    del link.channels[0].close


async def test_a_flood_of_output_ends_the_worker(node, monkeypatch):
    monkeypatch.setattr(answers, "MOST_BYTES", 500)
    link, worker = node()
    with pytest.raises(ProbeError, match="said more than"):
        await worker.run([h2d(0)], 20)
    assert await gone(link, 3)


async def test_runs_wait_for_each_other_and_not_for_ever(node):
    _, worker = node("stall h2d 2 *")
    first = asyncio.create_task(worker.run([h2d(2)], 4))
    await asyncio.sleep(0)
    with pytest.raises(Deadline, match="other probes"):
        await worker.run([h2d(0)], 0.1)
    await first


def test_what_runs_on_a_node_is_written_in_python_3_6():
    for path in NODE_PROGRAMS.glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 6))


def test_the_program_uses_nothing_but_its_own_modules_and_the_standard_library():
    for name in MODULES:
        for statement in ast.walk(ast.parse((NODE_PROGRAMS / f"{name}.py").read_text())):
            if isinstance(statement, ast.Import):
                assert all(alias.name in {*MODULES, *sys.stdlib_module_names} for alias in statement.names)
            assert not isinstance(statement, ast.ImportFrom)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ({"call": "cuInit", "name": "HUNG", "state": "D", "wchan": "rwsem_down"}, "hung"),
        ({"call": "cuInit", "name": "CUDA_ERROR_NOT_PERMITTED", "code": 800}, "denied"),
        ({"call": "p2p window 3", "name": "DEADLINE", "code": 0}, "deadline"),
        ({"call": "look for ib_write_bw", "name": "MISSING", "text": "ib_write_bw (package: perftest)"}, "not-tested"),
        ({"call": "wait for the other tasks", "name": "NOT_TOLD", "text": "no word came"}, "deadline"),
        ({"call": "wait", "name": "MISSING", "text": 7}, "not-tested"),
        ({"call": 7, "name": None, "code": "x", "text": ["no"]}, "probe"),
        ({}, "probe"),
    ],
)
def test_an_error_line_becomes_a_sentence_and_a_code_whatever_is_in_it(line, code):
    sentence, got = sentence_of(line)
    assert got == code
    assert sentence


def test_what_a_node_lacks_is_named_with_its_package():
    error = {"call": "dlopen", "name": "MISSING", "code": 0, "text": "libnccl.so.2 (package: libnccl2)"}
    assert sentence_of(error) == ("not tested: libnccl.so.2 (package: libnccl2)", "not-tested")


@pytest.mark.parametrize("value", [None, 7, {}, {"pid": "x"}, {"pid": -1, "uid": 0}, {"pid": 1, "uid": 2, "name": 3}])
def test_nothing_a_node_says_of_a_process_breaks_the_sentence(value):
    assert held_by(value)
    assert computing_on(value)


def test_names_from_a_node_bring_no_control_characters_and_no_flood():
    said = sentence_of({"call": "cu\x1b[31mInit\n", "name": "X" * 10_000, "text": "a\x00b"})[0]
    assert said.isprintable()
    assert len(said) < 700
