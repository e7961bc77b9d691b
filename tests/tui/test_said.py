"""What screens say of things that are not as they should be, or not there yet."""

from __future__ import annotations

from pathlib import Path

import pytest
from lanescope.incident.events import NodeState, SessionOpened, TrialEnded
from lanescope.incident.ids import ComponentId, NodeId
from lanescope.topology.sources.facts import build_fabric
from lanescope.tui.app import LanescopeApp
from lanescope.tui.draw.canvas import text_of
from lanescope.tui.draw.consent import draw_consent
from lanescope.tui.draw.events_view import event_lines
from lanescope.tui.draw.fleet import draw_fleet
from lanescope.tui.draw.fleet_view import FleetView, fleet_view
from lanescope.tui.draw.problems import problems_of
from lanescope.tui.draw.suspects import draw_suspects
from lanescope.tui.draw.suspects_view import next_round, suspects_view
from lanescope.tui.draw.trials import why_unmeasured
from lanescope.tui.screens.bundle import BundleScreen
from lanescope.tui.theme import MONO, Ink

from .made_up import MadeUp, plan, rounds_on, verdict_on  # noqa: TID251 (this folder, not the room)
from .made_up_session import MadeUpSession  # noqa: TID251 (this folder, not the room)
from .test_app import running, shown, until  # noqa: TID251 (this folder, not the room)

BUSY = "sim3: its GPUs are in use by pid 48211 on 0000:db:00.0; a probe would disturb it"


def seen(made: MadeUp) -> FleetView:
    snapshot = made.snapshot()
    return fleet_view(snapshot, build_fabric(snapshot.nodes.values()))


def refused(made: MadeUp) -> MadeUp:
    """A first round of which no trial measured anything."""
    rounds_on(made, "sim3", [(0.1, 0.1, 0.6)])
    for trial in plan(2, "sim3").trials:
        ended = TrialEnded(
            time=made.now, trial=trial, round=2, windows=(), moves=(), started=made.now, ended=made.now, error=BUSY
        )
        made.take(ended)
    return made


def test_nodes_on_their_way_up_are_no_problem_and_are_counted() -> None:
    made = MadeUp(3)
    for node in ("sim1", "sim2", "sim3"):
        made.state(node, NodeState.STARTING)
    text = text_of(draw_fleet(seen(made), 80, 21, Ink()))
    assert "3 of 3 nodes are coming up" in text
    assert not problems_of(made.snapshot())


def test_a_second_try_to_reach_a_node_is_a_problem_with_its_reason() -> None:
    made = MadeUp(2).tick(2)
    made.state("sim2", NodeState.CONNECTING, "trying again; sim2: no answer within 10 s", "unreachable")
    (problem,) = problems_of(made.snapshot())
    assert problem.text.startswith("trying again; ")


def test_a_node_that_failed_is_said_once_with_its_reason_whole() -> None:
    made = MadeUp(2).tick(2)
    reason = "sim2: 10.0.0.2:22 refused every key for user root (permission denied); check User and IdentityFile"
    made.state("sim2", NodeState.FAILED, reason, "refused")
    text = " ".join(text_of(draw_fleet(seen(made), 80, 21, Ink())).split())
    assert text.count("permission denied") == 1
    assert "refused every key for user root (permission denied); check User and IdentityFile" in text


def test_a_verdict_stands_among_the_problems_and_on_the_gpu_it_is_about(faulty: MadeUp) -> None:
    faulty.take(verdict_on(faulty, "sim3"))
    first = problems_of(faulty.snapshot())[0]
    assert (first.component, first.text) == (
        ComponentId("sim3/gpu5/nvlink9"), "verdict: at fault, likely 97 %; s shows why",
    )  # fmt: skip
    sim3 = next(node for node in seen(faulty).nodes if node.name == "sim3")
    assert [number for number, cell in enumerate(sim3.cells) if cell.mark.is_loud] == [5]


def test_a_filter_finds_nodes_by_what_is_wrong_with_them(faulty: MadeUp) -> None:
    snapshot = faulty.snapshot()
    found = fleet_view(snapshot, build_fabric(snapshot.nodes.values()), pattern="off the bus")
    assert [node.name for node in found.nodes] == ["sim6"]


def test_a_filter_that_nothing_matches_does_not_say_that_all_is_well(faulty: MadeUp) -> None:
    snapshot = faulty.snapshot()
    none = fleet_view(snapshot, build_fabric(snapshot.nodes.values()), pattern="nowhere")
    assert "No node matches" in text_of(draw_fleet(none, 80, 21, Ink()))


def test_a_round_that_was_refused_says_why_before_it_asks_again(faulty: MadeUp) -> None:
    snapshot = refused(faulty).snapshot()
    view = suspects_view(snapshot, build_fabric(snapshot.nodes.values()), None)
    text = text_of(draw_suspects(view, 120, 33, Ink()))
    assert f"The last round measured nothing: {BUSY}." in " ".join(text.split())
    assert f"{len(plan(2, 'sim3').trials)}× nothing measured" in text
    asked = text_of(draw_consent(next_round(plan(3, "sim3")), {}, 88, 20, Ink(), why_unmeasured(snapshot)))
    assert BUSY in " ".join(asked.split())


def test_the_numbers_that_the_kernel_puts_before_a_line_are_not_shown() -> None:
    made = MadeUp(1).tick()
    made.say("sim1", "4,1013,13000000,-;mlx5_core 0000:dc:00.0: Port module event: module 0, Cable plugged")
    made.say("sim1", "a line; with a semicolon")
    assert [line.text for line in event_lines(made.snapshot())] == [
        "mlx5_core 0000:dc:00.0: Port module event: module 0, Cable plugged",
        "a line; with a semicolon",
    ]


async def test_a_session_that_opens_later_is_seen_as_soon_as_it_does(tmp_path: Path) -> None:
    made = MadeUp(0)
    async with running(MadeUpSession(made, tmp_path)) as (app, pilot):
        assert "no node is known yet" in shown(app)
        hosts = (NodeId("sim1"), NodeId("sim2"))
        made.take(SessionOpened(time=made.now, case="4711", version="0.1.0", hosts=hosts, source="sim"))
        await until(pilot, lambda: "2 of 2 nodes are coming up" in shown(app), within=0.9)


async def test_without_colour_every_screen_can_be_drawn(
    faulty: MadeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(MadeUpSession(faulty, tmp_path)) as (app, pilot):
        assert app.ink.palette is MONO
        for key in ("enter", "2", "4", "1", "s", "b", "escape", "question_mark", "escape", "colon"):
            await pilot.press(key)
        assert app.is_running


@pytest.mark.parametrize("opening", ["b", "p", "question_mark", "colon", "2"])
async def test_ctrl_c_leaves_from_every_screen_and_dialog(faulty: MadeUp, tmp_path: Path, opening: str) -> None:
    async with running(MadeUpSession(faulty, tmp_path)) as (app, pilot):
        await pilot.press(opening, "ctrl+c")
        await pilot.pause()
        assert not app.is_running


async def test_closing_the_bundle_dialog_does_not_end_the_writing(faulty: MadeUp, tmp_path: Path) -> None:
    session = MadeUpSession(faulty, tmp_path)
    session.bundle_waits.clear()
    async with running(session) as (app, pilot):
        await pilot.press("b", "y", "escape", "b")
        assert isinstance(app.screen, BundleScreen)
        assert "collected from 3 of 8 nodes" in shown(app)
        await pilot.press("escape")
        session.bundle_waits.set()
        await until(pilot, lambda: "the bundle is written" in shown(app))
        assert session.bundles == 1


def test_the_app_can_be_made_before_anything_is_known(tmp_path: Path) -> None:
    assert LanescopeApp(MadeUpSession(MadeUp(0), tmp_path)).snapshot.nodes == {}
