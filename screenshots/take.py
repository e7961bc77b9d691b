"""Take the pictures of the documents, at 120x36 and 80x24, along a walk through the demo's incident.

The session, its rules and its localization are the real ones over the simulated world, so clocks and small numbers
differ from run to run. Writes screenshots/NAME_WIDTHxHEIGHT.svg, and a PNG beside each where a headless chromium is
found. Run as `python screenshots/take.py`.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ.pop("NO_COLOR", None)
os.environ["TZ"] = "UTC"
os.environ.setdefault("LC_ALL", "C.UTF-8")
time.tzset()

from lanescope.demo import demo_scenario, hint  # noqa: E402
from lanescope.evidence.case import Case  # noqa: E402
from lanescope.incident.snapshot import Snapshot  # noqa: E402
from lanescope.session.session import Session, running  # noqa: E402
from lanescope.sim.source import WorldSource  # noqa: E402
from lanescope.sim.world import World  # noqa: E402
from lanescope.tui.app import LanescopeApp  # noqa: E402
from lanescope.tui.screens.consent import ConsentScreen  # noqa: E402
from textual.pilot import Pilot  # noqa: E402

SIZES = ((120, 36), (80, 24))
PIXELS = 0.7
"""Pixels of a PNG for each unit of its SVG."""
PATIENCE = 120.0


class Walk:
    """One app on one incident, and the pictures taken on the way."""

    def __init__(self, app: LanescopeApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Keys, then the screen they lead to."""
        await self.pilot.press(*keys)
        await self.pilot.pause(0.3)

    async def until(self, holds: Callable[[], object]) -> None:
        """Let the incident go on until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError("the incident did not get there")
            await self.pilot.pause(0.1)

    async def picture(self, name: str) -> None:
        """What is seen now, at both sizes."""
        for size in SIZES:
            await self.pilot.resize_terminal(*size)
            await self.pilot.pause(0.3)
            path = HERE / f"{name}_{size[0]}x{size[1]}.svg"
            path.write_text(settled(self.app.export_screenshot(title="lanescope"), name))
            print(path.name)
        await self.pilot.resize_terminal(*SIZES[0])


@asynccontextmanager
async def walk_on(nodes: tuple[str, ...] | None) -> AsyncIterator[Walk]:
    """The demo's world, or some nodes of it."""
    with tempfile.TemporaryDirectory() as folder:
        source = WorldSource(World(demo_scenario(), time.time()), nodes=nodes)
        async with running(Session(source, Case.create(Path(folder), "demo"), hint=hint)) as session:
            app = LanescopeApp(session)
            async with app.run_test(size=SIZES[0]) as pilot:
                yield Walk(app, pilot)


async def from_fleet_to_verdict() -> None:
    """Two faults that show, one that takes probing."""
    async with walk_on(None) as walk:
        app = walk.app
        await walk.until(lambda: len(app.snapshot.findings) >= 2)
        await walk.pilot.pause(12.0)  # traces of counters need a little past
        await walk.picture("fleet")
        await walk.press("n", "enter")
        await walk.picture("lost_gpu")
        await walk.press("escape", "escape", "escape", "p")
        await walk.until(lambda: isinstance(app.screen, ConsentScreen))
        await walk.picture("consent")
        while not is_telling(app.snapshot):
            await walk.press("y")
            await walk.until(lambda: app.session.investigation and app.session.investigation.state == "proposed")
            await walk.until(lambda: isinstance(app.screen, ConsentScreen))
        await walk.press("escape")
        await walk.picture("suspects")
        await walk.press("p", "a")
        await walk.until(lambda: app.snapshot.verdict)
        await walk.press("escape", "s")
        await walk.picture("verdict")
        await walk.press("enter")
        await walk.picture("node")
        await walk.press("2")
        await walk.picture("counters")


def is_telling(snapshot: Snapshot) -> bool:
    """Whether a counter moved in two trials: one more and there is a verdict."""
    return snapshot.belief is not None and any(suspect.strikes >= 2 for suspect in snapshot.belief.suspects)


async def on_healthy_nodes() -> None:
    """What probing says where nothing is wrong."""
    async with walk_on(("sim1", "sim2")) as walk:
        await walk.until(lambda: walk.app.snapshot.up() == 2)
        await walk.press("p")
        await walk.until(lambda: isinstance(walk.app.screen, ConsentScreen))
        await walk.press("a")
        await walk.until(lambda: walk.app.snapshot.verdict)
        await walk.picture("nothing_found")


def settled(svg: str, name: str) -> str:
    """The SVG with ids that don't change from run to run, and without ligatures, which shift cells."""
    for found in set(re.findall(r"terminal-\d+", svg)):
        svg = svg.replace(found, f"terminal-{name}")
    return svg.replace("<style>", "<style>\n    text { font-variant-ligatures: none; }\n", 1)


def to_png(svg: Path, chromium: str) -> None:
    """Render with headless chromium: the other renderers shear columns."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg.read_text())
    assert found is not None
    width, height = (round(float(number)) for number in found.groups())
    with tempfile.TemporaryDirectory() as profile:
        command = [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
            f"--window-size={width},{height}", f"--force-device-scale-factor={PIXELS}",
            f"--screenshot={svg.with_suffix('.png')}", svg.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    """All pictures."""
    asyncio.run(from_fleet_to_verdict())
    asyncio.run(on_healthy_nodes())
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("no chromium on this machine: no PNG was made")
        return
    for svg in sorted(HERE.glob("*.svg")):
        to_png(svg, chromium)


if __name__ == "__main__":
    main()
