from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest
from lanescope.incident.ids import NodeId
from lanescope.tui.app import LanescopeApp
from lanescope.tui.draw.canvas import text_of
from lanescope.tui.screens.consent import ConsentScreen
from lanescope.tui.screens.fleet import FleetScreen
from lanescope.tui.screens.node import NodeScreen
from lanescope.tui.screens.suspects import SuspectsScreen
from lanescope.tui.screens.view_screen import ViewScreen
from lanescope.tui.widgets.strip_view import StripView
from textual.pilot import Pilot

from .made_up import MadeUp  # noqa: TID251 (this folder, not the room)
from .made_up_session import MadeUpSession  # noqa: TID251 (this folder, not the room)

SIZES = [(120, 36), (80, 24), (40, 10)]


@asynccontextmanager
async def running(
    session: MadeUpSession, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[LanescopeApp, Pilot[None]]]:
    app = LanescopeApp(session)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


def shown(app: LanescopeApp) -> str:
    """The text of the topmost screen."""
    return "\n".join(text_of(view.rows) for view in app.screen.query(StripView))


async def until(pilot: Pilot[None], holds: Callable[[], object], within: float = 10) -> None:
    """Let the app go on until something holds; fails after so many seconds."""
    deadline = monotonic() + within
    while not holds():
        assert monotonic() < deadline
        await pilot.pause(0.05)


@pytest.fixture
def session(faulty: MadeUp, tmp_path: Path) -> MadeUpSession:
    return MadeUpSession(faulty, tmp_path)


@pytest.mark.parametrize("size", SIZES)
async def test_the_way_from_fleet_to_verdict_to_bundle_works_at_every_size(
    session: MadeUpSession, size: tuple[int, int]
) -> None:
    async with running(session, size) as (app, pilot):
        assert "sim6" in shown(app)
        await pilot.press("n", "n", "enter")
        assert isinstance(app.screen, NodeScreen)
        await pilot.press("p")
        assert session.investigation is not None
        assert session.investigation.nodes == (NodeId("sim3"),)
        session.investigation.propose()
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen) and "this round" in shown(app))
        await pilot.press("y")
        assert session.investigation.approved == [False]
        session.investigation.end()
        await until(pilot, lambda: app.snapshot.verdict)
        if size[1] >= 24:
            await until(pilot, lambda: "NVLINK LANE" in shown(app))
        await pilot.press("b", "y")
        await until(pilot, lambda: "The bundle is written" in shown(app))
        await pilot.press("escape")
        assert isinstance(app.screen, SuspectsScreen)
        assert app.snapshot.bundle.endswith("4711.evb.zip")


async def test_nothing_runs_when_the_operator_says_no_and_the_question_can_be_asked_again(
    session: MadeUpSession,
) -> None:
    async with running(session) as (app, pilot):
        await pilot.press("p")
        assert session.investigation is not None
        session.investigation.propose()
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
        await pilot.press("escape")
        assert session.investigation.approved == []
        assert isinstance(app.screen, SuspectsScreen)
        await pilot.press("p", "a")
        assert session.investigation.approved == [True]


async def test_localizing_with_nothing_selected_means_all_live_nodes(session: MadeUpSession) -> None:
    async with running(session) as (_, pilot):
        await pilot.press("p")
        assert session.investigation is not None
        assert len(session.investigation.nodes) == 7
        assert "sim7" not in session.investigation.nodes


async def test_x_stops_probing(session: MadeUpSession) -> None:
    async with running(session) as (_, pilot):
        await pilot.press("p", "x")
        assert session.investigation is not None
        assert session.investigation.state == "cancelled"


async def test_escape_goes_up_and_never_leaves_the_fleet(session: MadeUpSession) -> None:
    async with running(session) as (app, pilot):
        await pilot.press("enter", "2", "4", "1", "escape")
        assert isinstance(app.screen, FleetScreen)
        await pilot.press("escape", "escape")
        assert isinstance(app.screen, FleetScreen)


async def test_a_frozen_screen_says_so_takes_no_snapshot_and_repaints_nothing(
    session: MadeUpSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(session) as (app, pilot):
        await pilot.press("space")
        assert "frozen at" in shown(app).splitlines()[1]
        await pilot.pause(0.2)
        repainted: list[object] = []
        monkeypatch.setattr(StripView, "refresh", lambda self, *regions, **_: repainted.append(regions))
        before = session.snapshots
        session.made.tick(3)
        await pilot.pause(1.3)
        assert (session.snapshots, repainted) == (before, [])
        monkeypatch.undo()
        await pilot.press("space")
        assert "frozen" not in shown(app)


async def test_a_tick_repaints_only_the_cells_that_changed(
    session: MadeUpSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(session) as (app, _):
        repainted: list[int] = []
        monkeypatch.setattr(
            StripView, "refresh", lambda self, *regions, **_: repainted.append(sum(region.area for region in regions))
        )
        session.made.now += 1
        app.look()
        assert sum(repainted) == 0
        session.made.tick()
        app.look()
        assert 0 < sum(repainted) < 200


async def test_a_filter_acts_while_it_is_typed_and_escape_undoes_it(session: MadeUpSession) -> None:
    async with running(session) as (app, pilot):
        await pilot.press("slash", *"sim3")
        fleet = next(screen for screen in app.screen_stack if isinstance(screen, FleetScreen))
        assert fleet.pattern == "sim3"
        await pilot.press("enter")
        assert "1 of 8 nodes match" in shown(app)
        await pilot.press("escape")
        assert "match" not in shown(app)


async def test_a_command_is_completed_and_carried_out(session: MadeUpSession) -> None:
    async with running(session) as (app, pilot):
        await pilot.press("colon", *"nod", "tab", "space", *"sim5", "enter")
        assert isinstance(app.screen, NodeScreen)
        assert app.screen.node == "sim5"


async def test_a_wrong_command_is_answered_in_one_sentence(session: MadeUpSession) -> None:
    async with running(session) as (app, pilot):
        await pilot.press("colon", *"node sim99", "enter")
        assert "no node here is called 'sim99'" in shown(app)


async def test_a_note_goes_into_the_journal(session: MadeUpSession) -> None:
    async with running(session) as (app, pilot):
        await pilot.press("colon", *"note reseated", "enter")
        app.look()
        assert app.snapshot.notes[0][1].text == "reseated"


async def test_help_is_searched_and_runs_what_was_chosen(session: MadeUpSession) -> None:
    async with running(session) as (app, pilot):
        await pilot.press("question_mark", *"error counters", "enter")
        await pilot.pause()
        assert "error counters move" in shown(app)


async def test_a_bundle_that_fails_says_why_and_the_screen_goes_on(session: MadeUpSession) -> None:
    session.bundle_fails = "the disk is full: /cases"
    async with running(session) as (app, pilot):
        await pilot.press("b", "y")
        await until(pilot, lambda: "the disk is full: /cases" in shown(app))
        await pilot.press("escape")
        assert isinstance(app.screen, FleetScreen)


async def test_a_picture_of_the_screen_is_saved_in_the_case_folder(session: MadeUpSession) -> None:
    async with running(session) as (_, pilot):
        await pilot.press("S")
        (saved,) = (session.case_path / "screenshots").iterdir()
        assert "sim6" in saved.read_text()


async def test_the_session_leads_a_newcomer_with_its_own_hint(faulty: MadeUp, tmp_path: Path) -> None:
    session = MadeUpSession(faulty, tmp_path, hint=lambda snapshot: f"press p, {len(snapshot.nodes)} nodes are up")
    async with running(session) as (app, _):
        assert "press p, 8 nodes are up" in shown(app)


@pytest.mark.parametrize("size", [(40, 10), (20, 5), (79, 24)])
async def test_below_eighty_by_twenty_four_every_screen_is_the_list_of_findings(
    session: MadeUpSession, size: tuple[int, int]
) -> None:
    async with running(session, size) as (app, pilot):
        for key in ("2", "4", "1", "enter", "s", "question_mark", "escape", "b"):
            await pilot.press(key)
        await pilot.press("escape")
        assert isinstance(app.screen, ViewScreen)
        assert "4 of 8 nodes need" in shown(app)


async def test_q_leaves(session: MadeUpSession) -> None:
    async with running(session) as (app, pilot):
        await pilot.press("q")
        await pilot.pause()
        assert not app.is_running
