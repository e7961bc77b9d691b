"""Take pictures of every screen, at 120x36 and 80x24, from a made-up incident whose clock stands still.

Writes screenshots/NAME_WIDTHxHEIGHT.svg, and a PNG beside each where a headless chromium is found. A second run
changes nothing. Run as `python screenshots/take.py [NAME...]`.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ.pop("NO_COLOR", None)
os.environ["TZ"] = "UTC"
os.environ.setdefault("LC_ALL", "C.UTF-8")
time.tzset()

from lanescope.incident.ids import NodeId  # noqa: E402
from lanescope.tests.tui.made_up import MadeUp, with_faults  # noqa: E402
from lanescope.tests.tui.made_up_session import MadeUpSession  # noqa: E402
from lanescope.tui.app import LanescopeApp  # noqa: E402
from lanescope.tui.theme import MONO, Ink  # noqa: E402
from textual.pilot import Pilot  # noqa: E402

SIZES = ((120, 36), (80, 24))
Story = Callable[[Pilot[None], MadeUpSession], Awaitable[None]]


async def fleet(pilot: Pilot[None], session: MadeUpSession) -> None:
    """Nothing selected yet."""


async def node(pilot: Pilot[None], session: MadeUpSession) -> None:
    await pilot.press("n", "n", "enter")


async def lost_gpu(pilot: Pilot[None], session: MadeUpSession) -> None:
    await pilot.press("enter")


async def counters(pilot: Pilot[None], session: MadeUpSession) -> None:
    await pilot.press("2", "down")


async def events(pilot: Pilot[None], session: MadeUpSession) -> None:
    await pilot.press("4")


async def consent(pilot: Pilot[None], session: MadeUpSession) -> None:
    await pilot.press("n", "n", "enter", "p")
    assert session.investigation is not None
    session.investigation.propose()
    await pilot.pause(0.5)


async def suspects(pilot: Pilot[None], session: MadeUpSession) -> None:
    from lanescope.tests.tui.made_up import rounds_on

    shares = [(0.02, 0.1, 0.6), (0.08, 0.12, 0.4), (0.2, 0.15, 0.3), (0.4, 0.11, 0.2), (0.71, 0.06, 0.05)]
    rounds_on(session.made, "sim3", shares)
    session.investigate([NodeId("sim3")]).propose(6)
    await pilot.press("s")
    await pilot.pause(0.5)
    await pilot.press("y")


async def verdict(pilot: Pilot[None], session: MadeUpSession) -> None:
    session.investigate([NodeId("sim3")]).end()
    await pilot.press("s")


async def nothing(pilot: Pilot[None], session: MadeUpSession) -> None:
    from lanescope.tests.tui.made_up import nothing_found, rounds_on

    rounds_on(session.made, "sim2", [(0.05, 0.05, 0.7), (0.02, 0.01, 0.9), (0.006, 0.004, 0.96)])
    session.made.take(nothing_found(session.made))
    await pilot.press("s")


async def bundle(pilot: Pilot[None], session: MadeUpSession) -> None:
    await verdict(pilot, session)
    await pilot.press("b", "y")
    await pilot.pause(0.3)


async def help_(pilot: Pilot[None], session: MadeUpSession) -> None:
    await pilot.press("question_mark")


async def command(pilot: Pilot[None], session: MadeUpSession) -> None:
    await pilot.press("colon", *"node sim")


async def frozen(pilot: Pilot[None], session: MadeUpSession) -> None:
    await pilot.press("n", "n", "enter", "space")


STORIES: dict[str, Story] = {
    "fleet": fleet, "node": node, "lost_gpu": lost_gpu, "counters": counters, "events": events, "consent": consent,
    "suspects": suspects, "verdict": verdict, "nothing_found": nothing, "bundle": bundle, "help": help_,
    "command": command, "frozen": frozen, "fleet_64": fleet, "node_light": node, "verdict_light": verdict,
    "suspects_light": suspects, "node_no_color": node, "suspects_no_color": suspects, "node_ascii": node,
    "node_4_switches": node,
}  # fmt: skip


def session_for(name: str) -> MadeUpSession:
    """The incident a picture is taken of."""
    if name == "fleet_64":
        made = MadeUp(64, prefix="gpu-", first=0)
    else:
        made = MadeUp(8, "h100_hgx_4sw" if name == "node_4_switches" else "h100_hgx")
    return MadeUpSession(with_faults(made), Path("/cases/4711"))


async def take(name: str, story: Story, size: tuple[int, int]) -> str:
    """One screen as SVG."""
    app = LanescopeApp(session_for(name), ascii_only=name.endswith("ascii"), light=name.endswith("light"))
    if name.endswith("no_color"):
        app.ink = Ink(MONO)
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.1)
        await story(pilot, app.session)  # type: ignore[arg-type]
        await pilot.pause(0.1)
        app.look() if app.frozen_at is None else None
        await pilot.pause(0.1)
        return settled(app.export_screenshot(title="lanescope"), name)


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
            f"--window-size={width},{height}", f"--screenshot={svg.with_suffix('.png')}", svg.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    """All pictures, or those named."""
    wanted = sys.argv[1:] or list(STORIES)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    for name in wanted:
        for size in SIZES:
            path = HERE / f"{name}_{size[0]}x{size[1]}.svg"
            path.write_text(asyncio.run(take(name, STORIES[name], size)))
            if chromium:
                to_png(path, chromium)
            print(path.name)
    if not chromium:
        print("no chromium on this machine: no PNG was made")


if __name__ == "__main__":
    main()
