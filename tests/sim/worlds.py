"""Worlds of a scenario's text, for the tests of the network."""

from __future__ import annotations

from pathlib import Path

from lanescope.sim.ledger import NetTransfer
from lanescope.sim.scenario import load_scenario
from lanescope.sim.world import World

BEGAN = 1_000_000_000.0
QUIET = "noise = 0\npath_bias = 0\noutliers = 0\nherrings = 0\nbackground = 0\ntenants = 0\n"
"""Of [world]: everything measures what it should."""
HEALTHY = 393 / 8
"""GB/s of a transfer between two NICs."""


def world_of(folder: Path, faults: str = "", nodes: int = 6, network: str = "", world: str = QUIET) -> World:
    """Nodes of two to a leaf, with three spines unless `network` says otherwise."""
    path = folder / "it.toml"
    network = network or "nodes_per_leaf = 2\nspines = 3\n"
    path.write_text(f'platform = "h100_hgx"\nnodes = {nodes}\n[world]\n{world}[network]\n{network}{faults}')
    return World(load_scenario(path), BEGAN)


def send(
    world: World, source: str, target: str, start: float = 0.0, nonce: int = 0, at: float = 10.0, beside=(), **more
) -> NetTransfer:
    """A transfer of 16 windows of 30 ms after a warm-up of 40 ms, between `sim1/gpu0` and the like."""
    ends = [end for gpu in (source, target) for end in gpu.split("/")]
    starts = (start, start)
    return world.net_transfer(*ends, starts, 0.03, 16, nonce, at=BEGAN + at, warm_s=0.04, beside=beside, **more)


def fault(component: str, kind: str = "degraded", **more: object) -> str:
    """A [[fault]] table."""
    values = {"component": component, "kind": kind, **more}
    return "\n[[fault]]\n" + "\n".join(
        f"{key} = {value if isinstance(value, int | float) or str(value).startswith('{') else repr(value)}"
        for key, value in values.items()
    )
