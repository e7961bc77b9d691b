"""A newcomer's way through the real session: only the nodes are simulated, and time passes faster."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lanescope.demo import demo_scenario, hint
from lanescope.evidence.case import Case
from lanescope.evidence.verify import verify
from lanescope.session.session import Session, running
from lanescope.sim.source import WorldSource
from lanescope.sim.world import World
from lanescope.tui.app import LanescopeApp
from lanescope.tui.screens.consent import ConsentScreen
from lanescope.tui.screens.fleet import FleetScreen
from lanescope.tui.screens.suspects import SuspectsScreen
from textual.pilot import Pilot

from .test_app import shown, until  # noqa: TID251 (this folder, not the room)


@asynccontextmanager
async def demo_on(nodes: list[str], folder: Path, pace: float) -> AsyncIterator[tuple[LanescopeApp, Pilot[None]]]:
    """The demo's world cut down to some nodes, so many times faster."""
    source = WorldSource(World(demo_scenario(), time.time()), nodes=nodes, pace=pace)
    async with running(Session(source, Case.create(folder, "c1"), hint=hint)) as session:
        app = LanescopeApp(session)
        async with app.run_test(size=(120, 36)) as pilot:
            yield app, pilot


async def test_from_the_fleet_to_the_verdict_to_a_bundle_that_verifies(tmp_path: Path) -> None:
    async with demo_on(["sim3"], tmp_path, pace=30) as (app, pilot):
        await until(pilot, lambda: "1/1 up" in shown(app))
        await pilot.press("p")
        await until(pilot, lambda: "loads the GPUs" in shown(app))
        await pilot.press("a")
        await until(pilot, lambda: "NVLINK LANE  sim3 GPU5 lane 7" in shown(app), within=60)
        assert isinstance(app.screen, SuspectsScreen)
        assert "sim3/gpu5" not in shown(app)  # screens name parts as they are drawn
        await pilot.press("b", "y")
        await until(pilot, lambda: "The bundle is written" in shown(app), within=30)
        await pilot.press("escape", "escape")
        assert isinstance(app.screen, FleetScreen)
        await until(pilot, lambda: "verdict: at fault, likely" in shown(app))
        assert "q leaves" in shown(app)
        assert verify(Path(app.snapshot.bundle)).intact


async def test_a_stopped_search_leaves_screens_usable_and_can_be_begun_again(tmp_path: Path) -> None:
    async with demo_on(["sim1"], tmp_path, pace=1) as (app, pilot):
        await until(pilot, lambda: "1/1 up" in shown(app))
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, SuspectsScreen))
        await pilot.press("x")
        await until(pilot, lambda: app.session.investigation and app.session.investigation.state == "cancelled")
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
        await pilot.press("escape")
        assert isinstance(app.screen, SuspectsScreen)
