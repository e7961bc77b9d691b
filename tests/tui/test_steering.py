"""Pausing, limiting and stopping a search by its keys; where it stands is said on the screen."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from lanescope.incident.events import VerdictReached
from lanescope.incident.ids import ComponentId, NodeId, lane_id
from lanescope.probes.localize.edits import Edits
from lanescope.tui.app import LanescopeApp
from lanescope.tui.draw.canvas import Canvas, text_of
from lanescope.tui.draw.edit_search import draw_edit, edit_rows, lines_of
from lanescope.tui.draw.progress import draw_progress, progress_rows
from lanescope.tui.draw.progress_view import Progress
from lanescope.tui.draw.suspects import Pane, draw_suspects
from lanescope.tui.draw.suspects_view import suspects_view
from lanescope.tui.screens.consent import ConsentScreen
from lanescope.tui.screens.edit_search import EditSearchScreen
from lanescope.tui.screens.node import NodeScreen
from lanescope.tui.screens.suspects import SuspectsScreen
from lanescope.tui.theme import MONO, Ink
from msgspec.structs import replace as replaced
from textual.pilot import Pilot

from .made_up import MadeUp, plan, rounds_on, verdict_on  # noqa: TID251 (this folder, not the room)
from .made_up_session import MadeUpInvestigation, MadeUpSession  # noqa: TID251
from .test_app import running, shown, until  # noqa: TID251

INK = Ink()
SIZES = [(120, 36), (80, 24)]
AT_WORK = Progress(
    state="running", round=5, trials=31, nodes=8, elapsed=0.4, planned=1.1, seconds=12.0, budget=300.0,
    trials_ended=128, paused_at=None, edits=(),
)  # fmt: skip


def progress_text(progress: Progress, width: int = 120) -> str:
    canvas = Canvas(width, 3, INK)
    assert draw_progress(canvas, 0, progress) == progress_rows(progress)
    return text_of(canvas.strips())


# ---- how far it is


@pytest.mark.parametrize("width", [120, 80])
def test_a_running_round_says_its_trials_its_seconds_and_what_is_spent(width: int) -> None:
    text = progress_text(AT_WORK, width)
    assert "running  round 5: 31 trials on 8 nodes, 0.4 of 1.1 s" in text
    assert "12 of 300 s" in text
    assert ("at most 5 min left" in text) == (width == 120)


def test_a_budget_that_nobody_knows_is_not_made_up() -> None:
    text = progress_text(replace(AT_WORK, state="", budget=math.nan))
    assert "12 s of probing" in text
    assert "of 300" not in text
    assert "left" not in text
    assert "━" not in text


@pytest.mark.parametrize("width", [120, 80])
def test_a_paused_search_cannot_be_taken_for_one_at_work(width: int) -> None:
    canvas = Canvas(width, 2, INK)
    draw_progress(canvas, 0, replace(AT_WORK, state="paused", paused_at=1_796_047_404.0, elapsed=math.nan))
    strip = canvas.strips()[0]
    assert "■ PAUSED since 14:03:24" in strip.text
    assert "no time counts" in strip.text
    assert all(segment.style.bgcolor != INK().bgcolor for segment in strip if segment.style)


@pytest.mark.parametrize("width", [120, 80])
def test_a_round_that_still_runs_is_told_from_the_pause_that_follows_it(width: int) -> None:
    text = progress_text(replace(AT_WORK, paused_at=1_796_047_404.0), width)
    assert "■ PAUSING since 14:03:24: round 5 runs to its end" in text


def test_limits_stand_below() -> None:
    text = progress_text(replace(AT_WORK, edits=("without sim3", "no h2d")))
    assert "limits   without sim3 · no h2d" in text.splitlines()[1]


def test_what_the_operator_limited_is_counted_where_it_is_much(faulty: MadeUp, tmp_path: Path) -> None:
    session = MadeUpSession(faulty, tmp_path)
    search = session.investigate([NodeId("sim1")])
    search.edits = Edits(
        frozenset(NodeId(f"sim{n}") for n in range(1, 6)), frozenset({"h2d"}), frozenset({ComponentId("sim3/gpu5")})
    )
    view = suspects_view(session.snapshot(), session.fabric(), search)
    assert view.progress.edits == ("without 5 nodes", "no h2d", "sim3 GPU5 first")


# ---- the next round


@pytest.mark.parametrize("size", [(120, 33), (80, 20)])
def test_the_next_round_says_why_what_it_would_mean_and_what_it_costs_and_disturbs(
    faulty: MadeUp, tmp_path: Path, size: tuple[int, int]
) -> None:
    rounds_on(faulty, "sim3", [(0.02, 0.1, 0.6), (0.71, 0.06, 0.05)])
    session = MadeUpSession(faulty, tmp_path)
    search = session.investigate([NodeId("sim3")])
    search.propose(3)
    assert search.proposal is not None
    meaning = (
        "A trial across sim3/gpu5/nvlink9 slow: it is at fault with 96 % (now 71 %).",
        "A trial across sim3/gpu5/nvlink9 clean: 40 % is left.",
    )
    search.proposal = replaced(search.proposal, meaning=meaning)
    view = suspects_view(session.snapshot(), session.fabric(), search)
    for pane in (Pane.ROUND, *((Pane.BELIEF,) if size[0] > 100 else ())):
        text = " ".join(text_of(draw_suspects(view, *size, INK, pane)).split())
        assert "Next: round 3 4 probes at once · 1.4 s · 1 node" in text
        assert "is it a lane of GPU5, or GPU5 itself" in text
        assert "sim3 GPU5 lane 9 slow: it is at fault with 96 % (now 71 %)." in text
        assert "clean: 40 % is left." in text
        assert ("loads the GPUs, NVLink" in text) == (size[0] > 100)


# ---- the keys


@asynccontextmanager
async def searching(
    faulty: MadeUp, folder: Path, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[LanescopeApp, Pilot[None], MadeUpInvestigation]]:
    """The suspects screen with a search that waits for a yes, its question closed."""
    session = MadeUpSession(faulty, folder)
    async with running(session, size) as (app, pilot):
        await pilot.press("p")
        search = session.investigation
        assert search is not None
        search.propose()
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
        await pilot.press("escape")
        yield app, pilot, search


@pytest.mark.parametrize("size", SIZES)
async def test_u_pauses_and_goes_on_and_then_the_question_comes_again(
    faulty: MadeUp, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with searching(faulty, tmp_path, size) as (app, pilot, search):
        assert "u pause" in shown(app)
        await pilot.press("u")
        assert search.paused_at is not None
        assert "■ PAUSED" in shown(app)
        assert "u go on" in shown(app)
        await pilot.press("u")
        assert search.paused_at is None
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
        await pilot.press("y")
        assert search.approved == [False]


async def test_p_goes_on_with_a_paused_search_and_begins_no_other(faulty: MadeUp, tmp_path: Path) -> None:
    async with searching(faulty, tmp_path) as (app, pilot, search):
        await pilot.press("u", "p")
        assert search.paused_at is None
        assert app.session.investigation is search


@pytest.mark.parametrize("size", SIZES)
async def test_limits_are_chosen_line_by_line_and_applied_at_once(
    faulty: MadeUp, tmp_path: Path, size: tuple[int, int]
) -> None:
    rounds_on(faulty, "sim3", [(0.71, 0.06, 0.05)])
    async with searching(faulty, tmp_path, size) as (app, pilot, search):
        await pilot.press("e")
        assert isinstance(app.screen, EditSearchScreen)
        assert "Nodes to probe" in shown(app)
        await pilot.press("space")  # the dialog opens on the node that is drawn
        assert "left out" in next(line for line in shown(app).splitlines() if "› □ sim3" in line)
        await pilot.press(*["down"] * 6, "enter")  # sim8 is the sixth below; then the probes follow
        await pilot.press(*["down"] * 2, "space")
        await pilot.press("y")
        assert not isinstance(app.screen, EditSearchScreen)
        assert search.edits.left_out == {NodeId("sim3")}
        assert search.edits.forbidden == {"h2d"}
        assert search.edits.pinned == {lane_id("sim3/gpu5", 9)}
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
        await pilot.press("escape")
        assert "without sim3 · no h2d · sim3 GPU5 lane 9 first" in shown(app)


async def test_limits_that_are_given_up_change_nothing(faulty: MadeUp, tmp_path: Path) -> None:
    async with searching(faulty, tmp_path) as (_, pilot, search):
        await pilot.press("e", "space", "escape")
        assert search.edits == Edits()


async def test_limits_that_are_refused_say_why_and_the_dialog_stays(faulty: MadeUp, tmp_path: Path) -> None:
    async with searching(faulty, tmp_path) as (app, pilot, search):
        search.refuses = "no node would be left to probe; leave at least one in"
        await pilot.press("e", "space", "y")
        assert isinstance(app.screen, EditSearchScreen)
        assert "no node would be left to probe" in shown(app)
        await pilot.press("escape")
        assert search.edits == Edits()


async def test_without_a_search_its_keys_say_so_and_do_nothing(faulty: MadeUp, tmp_path: Path) -> None:
    session = MadeUpSession(faulty, tmp_path)
    async with running(session) as (app, pilot):
        await pilot.press("s")
        assert isinstance(app.screen, SuspectsScreen)
        assert "u pause" not in shown(app)
        await pilot.press("u")
        assert "nothing is being probed" in shown(app)
        await pilot.press("e")
        assert "limits belong to a search" in shown(app)
        assert session.investigation is None


async def test_x_stops_a_paused_search_at_once(faulty: MadeUp, tmp_path: Path) -> None:
    async with searching(faulty, tmp_path) as (app, pilot, search):
        await pilot.press("u", "x")
        assert search.state == "cancelled"
        app.look()
        assert "u pause" not in shown(app)


async def test_panes_and_nodes_are_gone_through_by_arrows_and_numbers(faulty: MadeUp, tmp_path: Path) -> None:
    rounds_on(faulty, "sim3", [(0.71, 0.06, 0.05)])
    faulty.take(plan(2, "sim4"))
    async with searching(faulty, tmp_path) as (app, pilot, _):
        assert "[1 belief]" in shown(app)
        await pilot.press("2")
        assert "[2 matrix]" in shown(app)
        await pilot.press("down")
        assert "[3 round]" in shown(app)
        await pilot.press("down", "down")
        assert "[1 belief]" in shown(app)
        assert "[sim3 80]" in shown(app)
        await pilot.press("right")
        assert "[sim4 ·]" in shown(app)
        await pilot.press("m")
        assert "nothing has been measured between nodes yet" in shown(app)
        await pilot.press("enter")
        assert isinstance(app.screen, NodeScreen)
        assert "sim4" in shown(app).splitlines()[0]


async def test_of_several_verdicts_each_can_be_laid_out(faulty: MadeUp, tmp_path: Path) -> None:
    rounds_on(faulty, "sim3", [(0.967, 0.01, 0.001)])
    end = verdict_on(faulty, "sim3")
    assert isinstance(end, VerdictReached)
    first = end.verdicts[0]
    other = replaced(first, component=ComponentId("sim5/mlx5_3"), fru="nic", alternatives=())
    faulty.take(replaced(end, verdicts=(first, other)))
    session = MadeUpSession(faulty, tmp_path)
    async with running(session, (80, 24)) as (app, pilot):
        await pilot.press("s")
        assert "Verdict 1 of 2" in shown(app)
        assert "and NIC  sim5 mlx5_3 · likely 97 %" in shown(app)
        assert "nvidia-bug-report.sh" in shown(app)
        await pilot.press("down")
        assert "NIC  sim5 mlx5_3" in shown(app)
        assert "and NVLINK LANE  sim3 GPU5 lane 9" in shown(app)
        assert "sysinfo-snapshot.py" in shown(app)


# ---- the dialog


def test_the_dialog_scrolls_to_the_chosen_line_and_keeps_its_keys() -> None:
    nodes = [NodeId(f"gpu-{n:03}") for n in range(64)]
    lines = lines_of(nodes, [("p2p", "GPU to GPU copy")], [(ComponentId("gpu-003/gpu5"), 0.23)])
    assert edit_rows(lines) == 64 + 1 + 1 + 3 + 4
    for ink in (INK, Ink(MONO, ascii_only=True)):
        text = text_of(draw_edit(lines, Edits(), 65, "", 60, 16, ink))
        assert "gpu-003 GPU5" in text
        assert "23 %" in text
        assert "66 of 66" in text
        assert text.splitlines()[-1].split()[:2] == ["space", "on/off"]
