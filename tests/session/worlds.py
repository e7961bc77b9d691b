"""Worlds for the session's tests."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from lanescope.session.investigation import probeable
from lanescope.session.session import Session
from lanescope.sim.scenario import load_scenario
from lanescope.sim.world import World


def small_world(name: str = "healthy", seed: int = 1, speed: float | None = None) -> World:
    """A shipped scenario as a world; `speed`: how much faster probes run."""
    scenario = load_scenario(Path(str(files("lanescope.sim.scenarios") / f"{name}.toml")))
    changes = {"seed": seed} if speed is None else {"seed": seed, "speed": speed}
    return World(replace(scenario, **changes))


async def ready(session: Session) -> None:
    """Wait until every node can be probed."""
    await session.until(lambda seen: bool(seen.nodes) and len(probeable(seen, seen.nodes)) == len(seen.nodes), 30)
