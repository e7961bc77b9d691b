"""What a node's kernel log says, as bursts: the same thing about the same part, told again within a minute, is one.

Times are on the operator's clock: the node's own stamp corrected by the measured offset, with the uncertainty of that
measurement. Where no offset was measured, the order within the node still holds and the order between nodes is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import TypeAlias

from ..incident.events import LogRead
from ..incident.ids import ComponentId, NodeId
from ..incident.snapshot import NodeView
from ..parsers.logs.kernel_log import OffBus, read_messages
from ..parsers.logs.log_stamp import split_stamp
from ..parsers.logs.nic_events import NicLink
from ..parsers.logs.pcie_events import PcieContained, PcieError, PcieLimited
from ..parsers.logs.sxid import SXid
from ..parsers.logs.xid import Xid
from .bus import Bus, bus_of

Told: TypeAlias = Xid | SXid | OffBus | PcieError | PcieContained | PcieLimited | NicLink
"""The readings that speak of a part by its bus address, and that rules judge."""

BURST_GAP = 60.0
"""Seconds without the same line after which it begins anew."""
IDS_KEPT = 8
"""Event ids a burst keeps: its first ones and its last."""


@dataclass(frozen=True, slots=True)
class Burst:
    """One kind of reading about one part, once or many times within a short while."""

    node: NodeId
    component: ComponentId
    """The part the line names; the bare bus address where nothing known sits there."""
    reading: Told
    """The first of them."""
    first: float
    last: float
    uncertainty: float
    """Seconds, against other nodes; infinite where the node's clock was not measured."""
    count: int
    ids: tuple[str, ...]

    @property
    def xid(self) -> int:
        """The Xid's number; 0 where it is something else."""
        return self.reading.code if isinstance(self.reading, Xid) else 0


@dataclass(frozen=True)
class _Window:
    """The log lines a node holds, compared by their ends: lines are only ever added below and dropped above."""

    key: tuple[int, int, int]
    node: NodeId
    offset: float | None
    uncertainty: float | None
    bus: Bus
    lines: tuple[tuple[str, LogRead], ...] = field(compare=False)


def bursts_of(view: NodeView) -> tuple[Burst, ...]:
    """The bursts in a node's log, by their first line."""
    if not view.logs:
        return ()
    lines = view.logs
    key = (id(lines[0][1]), id(lines[-1][1]), len(lines))
    return _bursts(_Window(key, view.id, view.clock_offset, view.clock_uncertainty, bus_of(view.facts), lines))


@lru_cache(maxsize=1024)
def _bursts(window: _Window) -> tuple[Burst, ...]:
    messages = ((at, _message(line.text)) for at, (_, line) in enumerate(window.lines))
    open_: dict[tuple[object, ...], Burst] = {}
    done: list[Burst] = []
    for at, reading in read_messages(messages):
        if not isinstance(reading, Told) or (isinstance(reading, SXid) and reading.continues):
            continue
        one = _single(window, at, reading)
        key = (one.component, _kind(reading))
        before = open_.get(key)
        if before is not None and one.first - before.last <= BURST_GAP:
            open_[key] = _joined(before, one)
        else:
            if before is not None:
                done.append(before)
            open_[key] = one
    return tuple(sorted([*done, *open_.values()], key=lambda burst: burst.first))


@lru_cache(maxsize=32768)
def _message(text: str) -> str:
    return split_stamp(text)[1]


def _single(window: _Window, at: int, reading: Told) -> Burst:
    id_, line = window.lines[at]
    time = line.time if line.node_time is None else line.node_time - (window.offset or 0.0)
    measured = line.node_time is not None and window.offset is not None and window.uncertainty is not None
    return Burst(
        node=window.node,
        component=_part(window, reading),
        reading=reading,
        first=time,
        last=time,
        uncertainty=window.uncertainty if measured and window.uncertainty is not None else inf,
        count=1,
        ids=(id_,),
    )


def _joined(burst: Burst, one: Burst) -> Burst:
    ids = (*burst.ids, *one.ids) if len(burst.ids) < IDS_KEPT else (*burst.ids[:-1], *one.ids)
    return Burst(
        burst.node,
        burst.component,
        burst.reading,
        min(burst.first, one.first),
        max(burst.last, one.last),
        burst.uncertainty,
        burst.count + 1,
        ids,
    )


def _part(window: _Window, reading: Told) -> ComponentId:
    """The part a reading is about: the lane or the switch port where the line names a link."""
    part = window.bus.part_at(window.node, reading.pci)
    if isinstance(reading, SXid) and reading.link is not None:
        return window.bus.lanes.get((reading.pci, reading.link)) or part / f"port{reading.link}"
    if isinstance(reading, Xid) and reading.link is not None and part.kind == "gpu":
        return part / f"nvlink{reading.link}"
    return part


def _kind(reading: Told) -> tuple[object, ...]:
    """What makes two readings about one part the same kind."""
    code = reading.code if isinstance(reading, Xid | SXid) else None
    return type(reading), code, getattr(reading, "severity", None), getattr(reading, "up", None)
