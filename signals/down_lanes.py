"""NVLinks that ought to be up and are down, with what the log says about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..incident.ids import ComponentId
from ..incident.snapshot import NodeView
from .bus import bus_of
from .columns import by_name
from .logs import Burst


@dataclass(frozen=True, slots=True)
class DownLanes:
    """The lanes of one node that are wired, or were up, and are down."""

    lanes: tuple[ComponentId, ...]
    up: Mapping[ComponentId, int]
    """How many lanes of each GPU are up."""
    readings: tuple[str, ...]
    """Ids of the sample and the facts that show it."""
    told: tuple[Burst, ...]
    """Log lines about these lanes."""

    def evidence(self, lanes: Sequence[ComponentId]) -> tuple[str, ...]:
        """Ids of what shows that these of the lanes are down."""
        wanted = set(lanes)
        return (*self.readings, *(id_ for burst in self.told if burst.component in wanted for id_ in burst.ids))


def down_lanes(view: NodeView, bursts: Sequence[Burst], gone: Sequence[ComponentId]) -> DownLanes | None:
    """The lanes of a node that ought to be up and are down; None where all are up. GPUs off the bus are left out."""
    series = view.series.get("nvml")
    column = by_name(series.fields).get("state") if series else None
    if series is None or column is None:
        return None
    states = series.last[column.at]
    if not (states == 0).any():
        return None
    wired = bus_of(view.facts).wired
    was_up = series.first[column.at] == 1
    down: list[ComponentId] = []
    up: dict[ComponentId, int] = {}
    for lane, state, before in zip(column.components, states, was_up, strict=True):
        gpu = lane.parent
        if gpu in gone:
            continue
        up[gpu] = up.get(gpu, 0) + int(state == 1)
        if state == 0 and (before or lane in wired):
            down.append(lane)
    if not down:
        return None
    readings = tuple(id_ for id_ in (series.ids[-1], view.facts_id) if id_)
    return DownLanes(tuple(down), up, readings, tuple(burst for burst in bursts if burst.component in down))
