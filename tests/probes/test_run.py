"""A round: all nodes at once, and each failure kept to its own node."""

from __future__ import annotations

import asyncio
import time

import pytest
from lanescope.incident.errors import Busy, Unreachable
from lanescope.incident.events import Trial
from lanescope.incident.ids import NodeId, gpu_id
from lanescope.incident.source import TaskOutput
from lanescope.probes.run import run_round

NODES = ("gpu-001", "gpu-002")
RATES = [{"w": k, "gbps": 395.0 + k} for k in range(16)]


def trial(name, node, *gpus, probe="p2p"):
    targets = tuple(gpu_id(node, gpu) for gpu in gpus)
    return Trial(id=name, probe=probe, node=NodeId(node), targets=targets, seconds=0.6)


PLAN = (
    trial("R4T1", "gpu-001", 0, 1),
    trial("R4T2", "gpu-002", 2, 3),
    trial("R4T3", "gpu-001", 4, 5),
    trial("R4T4", "gpu-002", 6, probe="h2d"),
)


class Nodes:
    """A source whose nodes answer as they are told to."""

    def __init__(self, **behaviour):
        self.behaviour = behaviour
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.ended: list[str] = []

    async def run_tasks(self, node, tasks, deadline):
        self.asked.append((node, tuple(task.id for task in tasks)))
        try:
            how = self.behaviour.get(node.replace("-", "_"), self.well)
            return await how(node, tasks, deadline)
        finally:
            self.ended.append(node)

    async def well(self, node, tasks, deadline):
        return tuple(TaskOutput(task.id, tuple(RATES), 100.0, 101.0, 0.5 + len(tasks) / 10) for task in tasks)


async def test_the_trials_of_a_node_run_at_once_and_come_back_in_the_order_of_the_plan(fabric):
    nodes = Nodes()
    ended = await run_round(nodes, fabric, PLAN, 4, lambda: 102.0)
    assert sorted(nodes.asked) == [("gpu-001", ("R4T1", "R4T3")), ("gpu-002", ("R4T2", "R4T4"))]
    assert [trial.trial.id for trial in ended] == [trial.id for trial in PLAN]
    assert all(trial.round == 4 and len(trial.windows) == 16 and not trial.error for trial in ended)
    assert (ended[0].started, ended[0].ended, ended[0].time) == (100.0, 101.0, 102.0)


async def test_nodes_run_side_by_side(fabric):
    both = asyncio.Barrier(2)

    async def meet(node, tasks, deadline):
        await asyncio.wait_for(both.wait(), 5)
        return await Nodes().well(node, tasks, deadline)

    ended = await run_round(Nodes(gpu_001=meet, gpu_002=meet), fabric, PLAN, 1, time.time)
    assert not any(trial.error for trial in ended)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Busy("the GPUs are in use"), "busy"),
        (Unreachable("no route to gpu-002"), "unreachable"),
        (RuntimeError("a defect"), "error"),
    ],
)
async def test_a_node_that_fails_costs_the_others_nothing(fabric, error, code):
    async def fail(node, tasks, deadline):
        raise error

    ended = await run_round(Nodes(gpu_002=fail), fabric, PLAN, 1, time.time)
    assert [trial.code for trial in ended] == ["", code, "", code]
    assert str(error) in ended[1].error
    assert ended[1].windows == ()


async def test_a_task_that_failed_is_a_trial_with_its_error_and_its_code(fabric):
    async def one_fails(node, tasks, deadline):
        good, bad = await Nodes().well(node, tasks, deadline)
        return good, TaskOutput(bad.id, (), 100.0, 101.0, 0.2, "cuInit did not return", "hung")

    ended = await run_round(Nodes(gpu_001=one_fails), fabric, PLAN, 1, time.time)
    assert [(trial.error, trial.code) for trial in ended[:3:2]] == [("", ""), ("cuInit did not return", "hung")]


async def test_a_trial_that_got_no_answer_is_not_a_clean_one(fabric):
    async def forgetful(node, tasks, deadline):
        return (await Nodes().well(node, tasks, deadline))[:1]

    ended = await run_round(Nodes(gpu_001=forgetful), fabric, PLAN, 1, time.time)
    assert ended[2].error == "gpu-001 gave no answer for R4T3"


async def test_an_answer_that_is_no_measurement_is_unparsable(fabric):
    async def short(node, tasks, deadline):
        return tuple(TaskOutput(task.id, tuple(RATES[:3]), 100.0, 101.0) for task in tasks)

    ended = await run_round(Nodes(gpu_001=short), fabric, PLAN, 1, time.time)
    assert [trial.code for trial in ended] == ["unparsable", "", "unparsable", ""]


async def test_an_unknown_probe_is_an_error_of_its_trial_alone(fabric):
    plan = (PLAN[0], trial("R4T9", "gpu-001", 1, probe="magic"))
    good, bad = await run_round(Nodes(), fabric, plan, 1, time.time)
    assert not good.error
    assert "'magic'" in bad.error
    assert bad.code == "input"


async def test_a_trial_says_what_it_took_by_its_nodes_own_clock(fabric):
    async def slow(node, tasks, deadline):
        return tuple(TaskOutput(task.id, tuple(RATES), 100.0, 101.0, 1.75) for task in tasks)

    ended = await run_round(Nodes(gpu_002=slow), fabric, PLAN, 1, time.time)
    assert {trial.seconds for trial in ended if trial.trial.node == "gpu-002"} == {1.75}


async def test_a_source_that_keeps_no_deadline_is_held_to_one(fabric, monkeypatch):
    monkeypatch.setattr("lanescope.probes.run.START_ALLOWANCE", -2.9)
    monkeypatch.setattr("lanescope.probes.run.LAST_WORD", 0.1)

    async def silent(node, tasks, deadline):
        await asyncio.Event().wait()

    ended = await run_round(Nodes(gpu_001=silent), fabric, PLAN, 1, time.time)
    assert [trial.code for trial in ended] == ["deadline", "", "deadline", ""]


async def test_a_cancelled_round_takes_its_trials_with_it(fabric):
    async def silent(node, tasks, deadline):
        await asyncio.Event().wait()

    nodes = Nodes(gpu_001=silent, gpu_002=silent)
    run = asyncio.create_task(run_round(nodes, fabric, PLAN, 1, time.time))
    while len(nodes.asked) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert sorted(nodes.ended) == list(NODES)
