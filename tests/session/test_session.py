"""The session: one intake, one fold, one case."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lanescope.evidence.case import Case, entries
from lanescope.incident.events import FindingCleared, FindingRaised, NoteWritten, SampleTaken
from lanescope.incident.fold import Incident
from lanescope.incident.ids import NodeId
from lanescope.incident.snapshot import same
from lanescope.incident.source import Intake
from lanescope.session.session import Session, running
from lanescope.sim.source import WorldSource

from .worlds import small_world


def session_on(tmp_path: Path, source: WorldSource) -> Session:
    return Session(source, Case.create(tmp_path, "c1"))


async def watched(session: Session, samples: int = 6) -> None:
    """Let every node show a few samples."""
    await session.until(
        lambda seen: all(len(view.series.get("nvml", _EMPTY).samples) >= samples for view in seen.nodes.values()), 15
    )


class _Empty:
    samples: tuple[object, ...] = ()


_EMPTY = _Empty()


async def test_folding_what_the_case_holds_gives_the_live_snapshot(tmp_path: Path) -> None:
    session = session_on(tmp_path, WorldSource(small_world(), pace=5))
    async with running(session):
        await watched(session)
        session.note("rail 4 looks slow")
    again = Incident()
    for entry in entries(session.case_path):
        again.apply(entry)
    assert same(again.snapshot(), session.snapshot())


async def test_sequence_numbers_count_all_events_and_ids_tell_samples_from_the_rest(tmp_path: Path) -> None:
    session = session_on(tmp_path, WorldSource(small_world(), pace=5))
    async with running(session):
        await watched(session)
    found = list(entries(session.case_path))
    assert [entry.seq for entry in found] == list(range(1, len(found) + 1))
    samples = [entry.id for entry in found if isinstance(entry.event, SampleTaken) and entry.event.node == "sim1"]
    assert samples == [f"sim1#{n}" for n in range(1, len(samples) + 1)]
    others = [entry.id for entry in found if not isinstance(entry.event, SampleTaken)]
    assert others == [f"J{n}" for n in range(1, len(others) + 1)]


async def test_a_finding_is_recorded_once_while_it_says_the_same(tmp_path: Path) -> None:
    session = session_on(tmp_path, WorldSource(small_world("lane_down"), pace=5))
    async with running(session):
        await session.until(lambda seen: bool(seen.findings), 15)
        await asyncio.sleep(2.5)
    raised = [entry.event.finding.key for entry in entries(session.case_path) if isinstance(entry.event, FindingRaised)]
    assert raised
    assert len(raised) == len(set(raised))
    assert not [entry for entry in entries(session.case_path) if isinstance(entry.event, FindingCleared)]


async def test_every_finding_names_evidence_that_is_in_the_log(tmp_path: Path) -> None:
    session = session_on(tmp_path, WorldSource(small_world("lane_down"), pace=5))
    async with running(session):
        await session.until(lambda seen: bool(seen.findings), 15)
    known = {entry.id for entry in entries(session.case_path)}
    assert all(set(finding.evidence) <= known for finding in session.snapshot().findings)


class BreakingSource(WorldSource):
    """Yields a little, then breaks: a defect of ours, for the session must not hang or lose what it has."""

    async def events(self) -> AsyncIterator[Intake]:
        yield NoteWritten(time=time.time(), text="still here", by="test")
        raise RuntimeError("broken source")


async def test_a_source_that_breaks_ends_the_session_with_its_error_and_loses_nothing(tmp_path: Path) -> None:
    session = session_on(tmp_path, BreakingSource(small_world()))
    with pytest.raises(RuntimeError, match="broken source"):
        async with running(session):
            await asyncio.sleep(5)
    notes = [entry.event for entry in entries(session.case_path) if isinstance(entry.event, NoteWritten)]
    assert [note.text for note in notes] == ["still here"]


async def test_an_error_in_the_block_closes_the_case_all_the_same(tmp_path: Path) -> None:
    session = session_on(tmp_path, WorldSource(small_world()))
    with pytest.raises(ValueError, match="mine"):
        async with running(session):
            await session.until(lambda seen: bool(seen.nodes), 5)
            session.note("before")
            raise ValueError("mine")
    assert any(isinstance(entry.event, NoteWritten) for entry in entries(session.case_path))


async def test_waiting_for_what_never_comes_ends_at_its_deadline(tmp_path: Path) -> None:
    session = session_on(tmp_path, WorldSource(small_world()))
    async with running(session):
        assert not await session.until(lambda seen: NodeId("nobody") in seen.nodes, 0.3)
