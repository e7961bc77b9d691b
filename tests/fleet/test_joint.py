"""Trials over several nodes: real probe workers on several nodes of this machine, what they tell each other relayed."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest
from lanescope.fleet import answers, worker
from lanescope.fleet.joint import Runs
from lanescope.fleet.probe_program import probe_program
from lanescope.incident.errors import Busy, InputError
from lanescope.incident.events import NodeState
from lanescope.incident.ids import NodeId
from lanescope.incident.source import Task

from .pipe_node import GPUS, found, gone, h2d, rates, started  # noqa: TID251 (this folder, not the room)

MAIN = 'sys.modules["worker"].main()'
TALK = """
import time, cuda, programs
def step(bench, word, value):
    if word == "tell":
        bench.tell(said=value)
    elif word == "shout":
        for _ in range(value[0]):
            bench.tell(said="x" * value[1])
    elif word == "hear":
        bench.emit(heard=bench.told())
    elif word == "hear_all":
        bench.emit(sizes=[len(bench.told()["said"]) for _ in range(value)])
    elif word == "sleep":
        time.sleep(value)
    elif word == "barrier":
        bench.barrier()
    elif word == "fail":
        raise cuda.Failed("talk", value, text="libtalk.so (package: talk)")
def run(arguments, bench):
    for word, value in arguments["steps"]:
        step(bench, word, value)
talk = types.ModuleType("talk")
talk.run = run
sys.modules["talk"] = talk
programs.NAMES += ("talk",)
"""
"""A program that does as it is told, put beside the others."""


@pytest.fixture
def nodes(node):
    """Makes nodes of these names, their workers ready to talk, and what runs tasks on all of them."""

    class Nodes:
        def __init__(self, *names, **traits):
            made = {name: node(name=name, swaps={MAIN: TALK + MAIN}, **traits.get(name[-1], {})) for name in names}
            self.links = {name: link for name, (link, _) in made.items()}
            self.workers = {NodeId(name): worker for name, (_, worker) in made.items()}
            self.runs = Runs(self.worker_of)

        def worker_of(self, node):
            if node not in self.workers:
                raise InputError(f"{node}: not one of the nodes of this session")
            return self.workers[node]

        async def run(self, deadline=20, /, **tasks):
            """Run each node's tasks: `a=[...]` is for the node `n-a`. -> the outputs of all, in the same order"""
            found = await self.runs.on_all({NodeId(f"n-{name}"): mine for name, mine in tasks.items()}, deadline)
            return [output for mine in found.values() for output in mine]

    return Nodes


def talk(name, *steps, joint="R1T1", **more):
    return Task(name, "talk", {"steps": steps, **more}, joint)


async def within(seconds, run):
    """What a run gives, which must not take longer."""
    began = time.monotonic()
    outputs = await run
    assert time.monotonic() - began < seconds
    return outputs


async def warm(nodes):
    """Have all workers up, so that no launch counts in what is timed."""
    await nodes.run(**{name[-1]: [talk(f"W{name}", joint="")] for name in nodes.links})


async def test_what_a_task_tells_is_told_to_its_partners_on_other_nodes_and_on_its_own(nodes):
    three = nodes("n-a", "n-b")
    a, b, c = await three.run(
        a=[talk("T1.0", ("tell", "hello"), ("hear", 1))],
        b=[talk("T1.1", ("hear", 1), ("tell", "good day")), talk("T1.2", ("hear", 1), ("hear", 1))],
    )
    assert [a.error, b.error, c.error] == ["", "", ""]
    assert found(a, "heard") == [{"said": "good day"}]
    assert found(b, "heard") == [{"said": "hello"}]
    assert sorted(line["said"] for line in found(c, "heard")) == ["good day", "hello"]
    assert not found(a, "tell")


async def test_trials_do_not_hear_each_other(nodes):
    two = nodes("n-a", "n-b")
    outputs = await two.run(
        a=[talk("T1.0", ("tell", "one"), ("hear", 1)), talk("T2.0", ("tell", "two"), ("hear", 1), joint="R1T2")],
        b=[talk("T1.1", ("tell", "uno"), ("hear", 1)), talk("T2.1", ("tell", "due"), ("hear", 1), joint="R1T2")],
    )
    assert [found(output, "heard") for output in outputs] == [
        [{"said": "uno"}],
        [{"said": "due"}],
        [{"said": "one"}],
        [{"said": "two"}],
    ]


async def test_partners_on_one_node_hear_each_other_without_a_joint_run(nodes):
    one = nodes("n-a")
    first, second = await one.runs.on_one(
        NodeId("n-a"), [talk("T1.0", ("tell", "x"), ("barrier", 1)), talk("T1.1", ("hear", 1), ("barrier", 1))], 20
    )
    assert (first.error, second.error) == ("", "")
    assert found(second, "heard") == [{"said": "x"}]


async def test_what_is_told_before_a_task_begins_waits_for_it(nodes):
    two = nodes("n-a", "n-b", b={"nvml": {"computing": {}}})
    await warm(two)
    _, late = await two.run(a=[talk("T1.0", ("tell", "early"))], b=[talk("T1.1", ("hear", 1), gpus=[GPUS[0]])])
    assert found(late, "heard") == [{"said": "early"}]


async def test_what_the_last_trial_was_told_is_not_told_to_the_next(nodes):
    two = nodes("n-a", "n-b")
    await two.run(a=[talk("T1.0", ("tell", "old"), ("tell", "older"))], b=[talk("T1.1", ("hear", 1))])
    _, next_one = await two.run(a=[talk("T1.0", ("tell", "new"))], b=[talk("T1.1", ("hear", 1))])
    assert found(next_one, "heard") == [{"said": "new"}]


async def test_more_than_a_pipe_holds_reaches_a_task_that_was_busy(nodes):
    two = nodes("n-a", "n-b")
    _, busy = await two.run(
        a=[talk("T1.0", ("shout", [40, 10_000]))], b=[talk("T1.1", ("sleep", 0.5), ("hear_all", 40))]
    )
    assert found(busy, "sizes") == [[10_000] * 40]


async def test_a_task_that_never_reads_what_it_is_told_ends_without_holding_up_its_node(nodes):
    two = nodes("n-a", "n-b")
    loud = talk("T1.0", ("shout", [120, 16_000]))
    _, deaf, other = await two.run(10, a=[loud], b=[talk("T1.1", ("sleep", 8)), h2d(0)])
    assert "TOLD_TOO_MUCH" in deaf.error
    assert len(rates(other)) == 16


async def test_a_message_that_is_too_large_is_refused_on_the_node(nodes):
    two = nodes("n-a", "n-b")
    large, _ = await two.run(a=[talk("T1.0", ("shout", [1, 20_000]))], b=[talk("T1.1", ("hear", 1))])
    assert "BAD_TASK" in large.error


async def test_a_node_that_tells_without_end_is_ended_and_its_partners_with_it(nodes, monkeypatch):
    monkeypatch.setattr(answers, "MOST_TELLS", 10)
    two = nodes("n-a", "n-b")
    loud, partner = await two.run(a=[talk("T1.0", ("shout", [11, 1]))], b=[talk("T1.1", ("hear_all", 99))])
    assert "more than it may" in loud.error
    assert partner.error.startswith("a partner failed: n-a: ")
    assert await gone(two.links["n-a"], 3)


@pytest.mark.parametrize("busy_with", [("hear", 1), ("barrier", 1), ("sleep", 15)], ids=["told", "barrier", "a call"])
async def test_partners_of_a_task_that_fails_end_within_a_second_and_say_why(nodes, busy_with):
    two = nodes("n-a", "n-b")
    await warm(two)
    waits = [talk("T1.0", busy_with), talk("T9.0", ("sleep", 0.1), joint="other")]
    waiting, other, failing = await within(4, two.run(a=waits, b=[talk("T1.1", ("fail", "MISSING"))]))
    assert failing.code == waiting.code == "not-tested"
    assert failing.error == "not tested: libtalk.so (package: talk)"
    assert waiting.error == "a partner failed: n-b: not tested: libtalk.so (package: talk)"
    assert not other.error
    again = await two.run(a=[talk("T1.0", ("tell", "x"))], b=[talk("T1.1", ("hear", 1))])
    assert [output.error for output in again] == ["", ""]


async def test_a_node_that_cant_be_used_costs_its_own_trials_alone_and_its_partners_never_start(nodes):
    three = nodes("n-a", "n-b", "n-c")
    three.links["n-b"].lock = three.links["n-c"].lock + "-held"
    other = nodes("n-o")
    other.links["n-o"].lock = three.links["n-b"].lock
    await other.run(o=[talk("T0", joint="")])
    a, b, mine, c = await three.run(
        a=[talk("T1.0", ("sleep", 9))],
        b=[talk("T1.1", ("hear", 1)), talk("T2.0", joint="")],
        c=[talk("T3", joint="")],
    )
    assert (a.code, b.code, mine.code, c.error) == ("busy", "busy", "busy", "")
    assert a.error.startswith("a partner failed: n-b: somebody else probes, pid")
    assert a.lines == ()
    assert await gone(three.links["n-a"], 3), "a node that could not be used for anything is given back"
    assert three.links["n-c"].processes()


async def test_a_node_that_is_none_of_ours_is_an_error_of_its_tasks(nodes):
    one = nodes("n-a")
    a, b = await one.run(a=[talk("T1.0", ("hear", 1))], b=[talk("T1.1", ("hear", 1))])
    assert b.code == "input"
    assert a.error == "a partner failed: n-b: not one of the nodes of this session"


async def test_processes_on_the_gpus_of_one_node_end_the_trial_on_the_other_at_once(nodes):
    two = nodes("n-a", "n-b", b={"nvml": {"computing": {GPUS[1]: [1]}}})
    await warm(two)
    a, b = await within(4, two.run(a=[talk("T1.0", ("hear", 1))], b=[talk("T1.1", ("hear", 1), gpus=[GPUS[1]])]))
    assert (a.code, b.code) == ("busy", "busy")
    assert "in use by pid 1" in a.error


async def test_a_worker_that_is_killed_takes_its_trial_with_it_and_no_other(nodes):
    three = nodes("n-a", "n-b", "n-c")
    await warm(three)
    run = asyncio.create_task(
        three.run(
            a=[talk("T1.0", ("hear", 1)), talk("T2.0", ("hear", 1), joint="R1T2")],
            b=[talk("T1.1", ("sleep", 15))],
            c=[talk("T2.1", ("sleep", 1.5), ("tell", "alive"), joint="R1T2")],
        )
    )
    await started(three.links["n-b"], 2)
    await asyncio.sleep(0.2)
    os.kill(three.links["n-b"].channels[0].process.pid, signal.SIGKILL)
    a, good, _, c = await within(8, run)
    assert a.error.startswith("a partner failed: n-b: the probe worker ended on its own")
    assert (good.error, c.error) == ("", "")
    assert found(good, "heard") == [{"said": "alive"}]


async def test_partners_that_wait_for_each_other_end_at_the_deadline(nodes):
    two = nodes("n-a", "n-b")
    await warm(two)
    outputs = await within(3, two.run(3, a=[talk("T1.0", ("hear", 1))], b=[talk("T1.1", ("hear", 1))]))
    assert {output.code for output in outputs} == {"deadline"}
    assert "no word came" in outputs[0].error


async def test_a_cancelled_run_leaves_nothing_on_any_node(nodes):
    two = nodes("n-a", "n-b")
    run = asyncio.create_task(two.run(a=[talk("T1.0", ("sleep", 15))], b=[talk("T1.1", ("hear", 1))]))
    for link in two.links.values():
        await started(link, 2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    for link in two.links.values():
        assert await gone(link, 4)


async def test_a_run_cancelled_while_its_nodes_get_ready_leaves_nothing(nodes):
    two = nodes("n-a", "n-b", b={"gpu": "hang cuInit *"})
    run = asyncio.create_task(two.run(a=[talk("T1.0")], b=[talk("T1.1")]))
    await started(two.links["n-b"], 2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    for link in two.links.values():
        assert await gone(link, 4)
    (good,) = await two.run(a=[talk("T1.0", joint="")])
    assert not good.error


async def test_a_node_whose_worker_does_not_get_ready_is_left_behind_while_the_others_run(nodes):
    three = nodes("n-a", "n-b", "n-c", b={"gpu": "hang cuInit *"})
    tasks = {"a": [talk("T1.0", ("hear", 1))], "b": [talk("T1.1")], "c": [talk("T2", joint=""), h2d(0)]}
    a, b, c, host = await within(6, three.run(5, **tasks))
    assert b.code == "deadline"
    assert b.error == "n-b: the probe worker was not ready in time"
    assert a.code == "deadline"
    assert (c.error, len(rates(host))) == ("", 16)


async def test_two_operators_on_the_same_nodes_find_them_busy_and_neither_hangs(nodes):
    first = nodes("n-a", "n-b")
    second = nodes("n-a", "n-b")
    for name, link in second.links.items():
        link.lock = first.links[name].lock

    def trial():
        return {"a": [talk("T1.0", ("tell", "x"), ("sleep", 1))], "b": [talk("T1.1", ("hear", 1), ("sleep", 1))]}

    turned = dict(reversed(trial().items()))
    ours, theirs = await within(18, asyncio.gather(first.run(**trial()), second.run(**turned)))
    assert {output.code for output in (*ours, *theirs)} <= {"", "busy"}
    assert any(output.code == Busy.code for output in (*ours, *theirs))


async def test_two_runs_of_one_operator_over_the_same_nodes_take_turns(nodes):
    two = nodes("n-a", "n-b")
    runs = [
        two.run(a=[talk("T1.0", ("tell", "x"))], b=[talk("T1.1", ("hear", 1), ("sleep", 0.3))]),
        two.run(b=[talk("T2.1", ("hear", 1))], a=[talk("T2.0", ("tell", "y"), ("sleep", 0.3))]),
        two.runs.on_one(NodeId("n-b"), [talk("T3", joint="")], 20),
    ]
    outputs = await within(18, asyncio.gather(*runs))
    assert not any(output.error for each in outputs for output in each)


async def test_a_node_without_a_driver_runs_what_needs_none(nodes):
    one = nodes("n-a", a={"gpu": "fail cuInit 802 *"})
    (needs,) = await one.run(a=[h2d(0)])
    assert "fabric manager is not up" in needs.error
    (state,) = await one.run(a=[Task("T2", "fabric_state", {})])
    assert not state.error
    assert "SYSTEM_NOT_READY" in found(state, "state")[0]["multicast"]["why"]


async def test_over_ssh_a_node_that_is_not_there_costs_its_own_trials_and_no_other(operator, watching, monkeypatch):
    own_lock = probe_program().replace(b"lanescope-probe", f"lanescope-test-ssh-{os.getpid()}".encode())
    monkeypatch.setattr(worker, "probe_program", lambda: own_lock)
    lacking = Task("T2", "tool", {"argv": ["alltoall_perf"]})
    async with operator.serving(operator.node("n1")), watching(operator.source("n1", "n2")) as watch:
        await watch.state(NodeState.LIVE)
        await watch.state(NodeState.BACKOFF, node="n2")
        tasks = {NodeId("n1"): [fabric("T1.0"), lacking], NodeId("n2"): [fabric("T1.1")]}
        outputs = await watch.source.run_joint(tasks, 15)
        (here, missing), (there,) = outputs[NodeId("n1")], outputs[NodeId("n2")]
        (alone,) = await watch.source.run_tasks(NodeId("n1"), [fabric("T3")], 15)
    assert (there.code, here.code) == ("unreachable", "unreachable")
    assert here.error.startswith("a partner failed: n2: ")
    assert missing.code == "not-tested"
    assert found(alone, "state")


def fabric(name):
    """A task that needs neither a GPU nor its driver."""
    return Task(name, "fabric_state", {}, "R1T1")
