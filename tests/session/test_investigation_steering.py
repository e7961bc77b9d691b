"""An operator pauses a search, changes what it may do, lets it go on, and breaks it off at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from lanescope.evidence.case import Case, entries
from lanescope.incident.errors import InputError
from lanescope.incident.events import NoteWritten, RoundPlanned, SearchEdited, TrialEnded
from lanescope.incident.ids import ComponentId, NodeId, gpu_id
from lanescope.incident.source import Task, TaskOutput
from lanescope.probes.localize.edits import Edits
from lanescope.session.investigation import Investigation
from lanescope.session.session import Session, running
from lanescope.sim.source import WorldSource

from .worlds import ready, small_world

Kind = TypeVar("Kind")
ENOUGH = 20.0
"""Seconds."""


class HeldSource(WorldSource):
    """Trials end when they are let go; what is broken off in between is counted."""

    def __init__(self, nodes: int) -> None:
        world = small_world("healthy", speed=400)
        super().__init__(world, nodes=world.scenario.nodes[:nodes])
        self.let_go = asyncio.Event()
        self.let_go.set()
        self.running = 0
        self.broken_off = 0

    async def run_tasks(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> tuple[TaskOutput, ...]:
        await self._held()
        return await super().run_tasks(node, tasks, deadline)

    async def run_joint(
        self, tasks: Mapping[NodeId, Sequence[Task]], deadline: float
    ) -> Mapping[NodeId, tuple[TaskOutput, ...]]:
        await self._held()
        return await super().run_joint(tasks, deadline)

    async def _held(self) -> None:
        self.running += 1
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.broken_off += 1
            raise
        finally:
            self.running -= 1


def session_of(tmp_path: Path, nodes: int = 2) -> tuple[Session, HeldSource]:
    source = HeldSource(nodes)
    return Session(source, Case.create(tmp_path, "c1")), source


async def comes_to(session: Session, investigation: Investigation, *states: str) -> None:
    for _ in range(int(ENOUGH * 100)):
        if investigation.state in states:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{investigation.state}, after {len(session.snapshot().rounds)} rounds")


def journalled(session: Session, kind: type[Kind]) -> list[Kind]:
    return [entry.event for entry in entries(session.case_path) if isinstance(entry.event, kind)]


async def test_a_paused_round_runs_to_its_end_and_none_is_proposed_until_the_search_may_go_on(tmp_path: Path) -> None:
    session, source = session_of(tmp_path)
    async with running(session):
        await ready(session)
        source.let_go.clear()
        search = session.investigate(session.source.nodes, approve_all=True)
        await comes_to(session, search, "running")
        assert search.began is not None
        search.pause()
        assert search.state == "running"
        source.let_go.set()
        await comes_to(session, search, "paused")
        assert search.began is None
        spent, planned = search.seconds, len(session.snapshot().rounds)
        assert session.snapshot().beliefs
        await asyncio.sleep(0.3)
        assert (search.state, search.seconds, len(session.snapshot().rounds)) == ("paused", spent, planned)
        search.resume()
        assert await session.until(lambda seen: len(seen.rounds) > planned, ENOUGH)
    assert [note.text for note in journalled(session, NoteWritten)] == [
        "paused the search; the round that runs goes on to its end",
        "let the search go on",
    ]


async def test_a_pause_takes_a_waiting_proposal_back_and_gives_the_same_one_again(tmp_path: Path) -> None:
    session, _ = session_of(tmp_path)
    async with running(session):
        await ready(session)
        search = session.investigate(session.source.nodes)
        await comes_to(session, search, "proposed")
        proposal = search.proposal
        search.pause()
        assert search.state == "paused"
        search.approve(all_rounds=True)
        await asyncio.sleep(0.1)
        assert not session.snapshot().trials
        search.resume()
        await comes_to(session, search, "proposed")
        assert search.proposal is proposal
        assert len(session.snapshot().rounds) == 1
        search.approve()
        assert await session.until(lambda seen: bool(seen.beliefs), ENOUGH)
        await comes_to(session, search, "proposed")
        assert len(session.snapshot().rounds) == 2


async def test_an_edit_plans_a_waiting_proposal_anew_and_the_old_one_can_no_longer_be_agreed_to(tmp_path: Path) -> None:
    session, _ = session_of(tmp_path)
    left_out, kept = session.source.nodes
    async with running(session):
        await ready(session)
        search = session.investigate(session.source.nodes)
        await comes_to(session, search, "proposed")
        first = search.proposal
        assert first is not None
        search.edit(Edits(left_out=frozenset({left_out})))
        search.approve()
        await comes_to(session, search, "proposed")
        second = search.proposal
        assert second is not None
        assert not session.snapshot().trials
        assert second.round == first.round
        assert {trial.node for trial in second.trials} == {kept}
        search.approve()
        assert await session.until(lambda seen: bool(seen.beliefs), ENOUGH)
    ran = {node for ended in journalled(session, TrialEnded) for node in ended.trial.nodes}
    assert ran == {kept}


async def test_edits_hold_from_the_next_round_on_and_stand_in_the_journal(tmp_path: Path) -> None:
    session, source = session_of(tmp_path)
    pinned = gpu_id(session.source.nodes[0], 3)
    async with running(session):
        await ready(session)
        source.let_go.clear()
        search = session.investigate(session.source.nodes, approve_all=True)
        await comes_to(session, search, "running")
        planned = session.snapshot().rounds[-1]
        search.edit(Edits(forbidden=frozenset({"h2d", "net_pair"}), pinned=frozenset({pinned})))
        source.let_go.set()
        assert await session.until(lambda seen: len(seen.rounds) > 3, ENOUGH)
    edited = journalled(session, SearchEdited)
    assert [(event.forbidden, event.pinned, event.by) for event in edited] == [
        (("h2d", "net_pair"), (pinned,), "operator")
    ]
    rounds = journalled(session, RoundPlanned)
    assert rounds[0].trials == planned.trials
    assert {trial.probe for plan in rounds[1:] for trial in plan.trials} == {"p2p"}


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        (Edits(left_out=frozenset({NodeId("stranger")})), "stranger is none of the nodes"),
        (Edits(forbidden=frozenset({"p3p"})), "p3p is none of the probes"),
        (Edits(pinned=frozenset({ComponentId("sim1/psu9")})), "sim1/psu9 is no part"),
        (Edits(forbidden=frozenset({"p2p", "h2d", "net_pair"})), "no probe would be left"),
        (Edits(left_out=frozenset({NodeId("sim1"), NodeId("sim2")})), "no node would be left"),
    ],
    ids=["node", "probe", "part", "no-probe", "no-node"],
)
async def test_an_edit_that_cannot_be_meant_is_refused_and_changes_nothing(
    tmp_path: Path, edits: Edits, says: str
) -> None:
    session, _ = session_of(tmp_path)
    async with running(session):
        await ready(session)
        search = session.investigate(session.source.nodes)
        await comes_to(session, search, "proposed")
        with pytest.raises(InputError, match=says):
            search.edit(edits)
        assert search.edits == Edits()
        assert search.state == "proposed"
    assert not journalled(session, SearchEdited)


async def test_breaking_off_ends_the_running_trials_at_once_and_keeps_what_was_learned(tmp_path: Path) -> None:
    session, source = session_of(tmp_path)
    async with running(session):
        await ready(session)
        search = session.investigate(session.source.nodes)
        await comes_to(session, search, "proposed")
        search.approve()
        assert await session.until(lambda seen: bool(seen.beliefs), ENOUGH)
        await comes_to(session, search, "proposed")
        source.let_go.clear()
        search.approve(all_rounds=True)
        await comes_to(session, search, "running")
        for _ in range(500):
            if source.running:
                break
            await asyncio.sleep(0.01)
        search.cancel()
        async with asyncio.timeout(1):
            await search.wait()
        assert (search.state, source.running) == ("cancelled", 0)
        assert source.broken_off >= 1
        assert search.began is None
        assert len(session.snapshot().beliefs) == 1


@pytest.mark.parametrize("paused_in", ["proposed", "running"])
async def test_a_paused_search_can_be_broken_off(tmp_path: Path, paused_in: str) -> None:
    session, source = session_of(tmp_path)
    async with running(session):
        await ready(session)
        source.let_go.clear()
        search = session.investigate(session.source.nodes, approve_all=paused_in == "running")
        await comes_to(session, search, paused_in)
        search.pause()
        search.cancel()
        async with asyncio.timeout(1):
            await search.wait()
        assert search.state == "cancelled"
        search.pause()
        search.resume()
        search.edit(Edits(forbidden=frozenset({"h2d"})))
        assert (search.state, search.edits) == ("cancelled", Edits())


async def test_a_session_that_ends_while_its_search_is_paused_ends_at_once(tmp_path: Path) -> None:
    session, _ = session_of(tmp_path)
    async with asyncio.timeout(ENOUGH):
        async with running(session):
            await ready(session)
            search = session.investigate(session.source.nodes)
            await comes_to(session, search, "proposed")
            search.pause()
    assert search.state == "cancelled"
