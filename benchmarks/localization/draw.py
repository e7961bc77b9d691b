"""Draws faults: which part, how it behaves. The same seed draws the same fault for every strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...incident.ids import ComponentId
from ...sim.draws import generator
from ...sim.faults import Counter, Fault
from ...sim.scenario import Scenario
from .cluster import Cluster
from .worlds import WINDOW_S, WORLDS

FAULTS = ("hard", "degraded", "0.5", "0.2", "0.05", "0.02", "lane", "healthy")
"""One fault of each class; the numbers are shares of time that an intermittent one is on. `lane`: an NVLink lane that
only its counters tell."""
PAIRS = ("hard+0.2", "degraded+0.2", "0.2+0.2")
"""Two faults at once, on parts that probes can separate."""

GONE = 0.98
"""Share of its traffic that a part loses to a hard fault."""
DEGRADED = (0.10, 0.50)
DEGRADED_LANE = (0.25, 0.50)
INTERMITTENT = (0.30, 0.98)
LANE_DUTY = 0.05
SHOWS = 0.8
"""Share of the bad trials in which a counter moves, where the fault moves one."""
MOVES: Mapping[str, tuple[str, float]] = {
    "nvlink": ("recovery_errors", 0.7),
    "pcie": ("replays", 0.6),
    "nic": ("symbol_error", 0.7),
    "cable": ("symbol_error", 0.7),
}
"""Counter that faults of a kind of part move, and the share of the faults that move it."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A world with its faults, and which parts have one."""

    scenario: Scenario
    guilty: tuple[ComponentId, ...]


def draw(cluster: Cluster, fault: str, world: str, seed: int) -> Drawn:
    """The cluster with a fault of that class in that world."""
    keys = ("localization", len(cluster.names), fault, world, seed)
    rng = generator(*keys)
    circumstances = WORLDS[world]
    guilty: list[ComponentId] = []
    faults: list[Fault] = []
    for kind in () if fault == "healthy" else fault.split("+"):
        part = _part(cluster, kind, guilty, rng)
        guilty.append(part)
        faults.append(_fault(part, kind, circumstances.burst_windows, rng))
    scenario = Scenario(
        name=f"{fault} in {world}",
        platform=cluster.platform,
        nodes=cluster.names,
        seed=int(rng.integers(2**31)),
        world=circumstances.surroundings,
        wiring=circumstances.wiring,
        faults=tuple(faults),
    )
    return Drawn(scenario, tuple(guilty))


def _part(cluster: Cluster, kind: str, taken: list[ComponentId], rng: np.random.Generator) -> ComponentId:
    """A part of those that some probe crosses, as often as parts of its kind fail.

    Lanes are drawn where a fault shows all the time, or counters show it: no bandwidth resolves another.
    """
    parts = cluster.parts
    weights = parts.rate.copy()
    lanes = np.array([part.kind == "nvlink" for part in parts.components])
    if kind == "lane":
        weights[~lanes] = 0.0
    elif kind not in ("hard", "degraded"):
        weights[lanes] = 0.0
    for other in taken:
        weights[parts.group == parts.group[parts.index[other]]] = 0.0
    return parts.components[int(rng.choice(len(weights), p=weights / weights.sum()))]


def _fault(part: ComponentId, kind: str, burst_windows: float, rng: np.random.Generator) -> Fault:
    counters = _counters(part, kind, rng)
    if kind == "hard":
        return Fault(part, "degraded", slowdown=GONE, counters=counters)
    if kind == "degraded":
        slowdown = rng.uniform(*(DEGRADED_LANE if part.kind == "nvlink" else DEGRADED))
        return Fault(part, "degraded", slowdown=slowdown, counters=counters)
    return Fault(
        part,
        "intermittent",
        duty=LANE_DUTY if kind == "lane" else float(kind),
        burst=WINDOW_S * burst_windows,
        when="load",
        slowdown=rng.uniform(*INTERMITTENT),
        counters=counters,
    )


def _counters(part: ComponentId, kind: str, rng: np.random.Generator) -> dict[str, Counter]:
    """The counter that the fault moves, if it moves one; that of a `lane` always does."""
    name, share = MOVES.get(part.kind, ("", 0.0))
    of_a_nic = part.kind == "pcie" and part.parent.kind == "nic"  # nothing reads the replays of a NIC's link
    moves = not of_a_nic and rng.random() < share
    return {name: Counter(rate=0.0, trials=SHOWS)} if moves or kind == "lane" else {}
