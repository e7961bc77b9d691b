"""Counters of network ports as tools printed them: how far each moved between two moments, or where it stands.

A counter that fell was reset and counts from zero. One that is printed once stands since boot: that says little.
Sources of names: `parsers/infiniband/ethtool.py` and `counters.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..incident.ids import NodeId
from ..parsers.infiniband.counters import PortCounter
from ..parsers.infiniband.ethtool import InterfaceCounter
from .readings import UNKNOWN_NODE, Output, Readings, Witness


@dataclass(frozen=True, slots=True)
class Moved:
    """One counter of one port, or of an interface that the output does not name."""

    node: NodeId
    device: str
    """Empty where the output does not name it."""
    name: str
    count: int
    """What it moved by, else where it stands."""
    in_session: bool
    """Whether it was read twice: `count` is a difference."""
    evidence: tuple[str, ...]


def moved_counts(readings: Readings) -> Mapping[NodeId, tuple[Moved, ...]]:
    """All counters that are not zero, by node."""
    seen: dict[tuple[NodeId, str, str], list[tuple[Output, int]]] = {}
    for output, device, name, count in _counts(readings):
        if output.node != UNKNOWN_NODE:
            seen.setdefault((output.node, device, name), []).append((output, count))
    found: dict[NodeId, list[Moved]] = {}
    for (node, device, name), told in seen.items():
        if moved := _moved(node, device, name, told):
            found.setdefault(node, []).append(moved)
    return {node: tuple(moved) for node, moved in found.items()}


def _moved(node: NodeId, device: str, name: str, told: list[tuple[Output, int]]) -> Moved | None:
    """None where it does not count, and where several interfaces can't be told apart."""
    first, last = told[0], told[-1]
    if len(told) == 1:
        return Moved(node, device, name, last[1], False, (last[0].id,)) if last[1] else None
    if len(told) > 2 or not first[0].moment.is_before(last[0].moment):
        return None
    step = last[1] - first[1] if last[1] >= first[1] else last[1]
    return Moved(node, device, name, step, True, (first[0].id, last[0].id)) if step else None


def _counts(readings: Readings) -> Iterator[tuple[Output, str, str, int]]:
    for told in readings.of(InterfaceCounter):
        if told.reading.lane is None and told.reading.queue is None:
            yield told.output, "", told.reading.name, told.reading.count
    for port in readings.of(PortCounter):
        if port.reading.device and port.reading.count:
            yield port.output, _port(port), port.reading.name, port.reading.count.value


def _port(told: Witness[PortCounter]) -> str:
    port = told.reading.port
    return f"{told.reading.device}" if port in (None, 1) else f"{told.reading.device}/port{port}"
