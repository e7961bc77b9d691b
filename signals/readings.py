"""What tools printed, as readings that rules can ask for: whose they are, from when, and the event they stand on.

The readings come from files that somebody handed in, and from commands that ran on live nodes; rules don't care which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from ..incident.ids import NodeId

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
UNKNOWN_NODE = NodeId("unknown")
"""Whose outputs nobody said; never taken for one node with others of that name in different places."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When an output was printed, as far as anybody says."""

    label: str = ""
    """`t0`, `t1`, ... of a handed-in point in time; empty where there is only one."""
    time: float | None = None
    """Seconds since the epoch on the node's clock."""

    def is_before(self, other: Moment) -> bool | None:
        """Whether it came first; None where neither times nor labels tell."""
        if self.time is not None and other.time is not None and self.time != other.time:
            return self.time < other.time
        if self.label and other.label and self.label != other.label:
            return _number(self.label) < _number(other.label)
        return None


@dataclass(frozen=True, slots=True)
class Output:
    """One tool's output on one node."""

    id: str
    """Of the event that says it was read: what findings name as evidence."""
    node: NodeId
    tool: str
    """As `parsers/` calls it: `nvidia-smi topo -m`."""
    where: str
    """File and line, or the command on a live node: for people."""
    moment: Moment = Moment()
    readings: tuple[object, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Witness(Generic[T_co]):
    """One reading and the output that it stands in."""

    reading: T_co
    output: Output

    @property
    def node(self) -> NodeId:
        """Whose reading it is."""
        return self.output.node

    @property
    def id(self) -> str:
        """The event it stands on."""
        return self.output.id


@dataclass(frozen=True)
class Readings:
    """All outputs that were read, in the order of their reading."""

    outputs: tuple[Output, ...] = ()

    def of(self, kind: type[T], node: NodeId | None = None) -> tuple[Witness[T], ...]:
        """All readings of one kind, of one node or of all."""
        found = self._by_kind.get(kind, ())
        return tuple(one for one in found if node is None or one.node == node)

    def printed_by(self, tool: str, node: NodeId | None = None) -> tuple[Output, ...]:
        """Outputs of one tool: that something is absent from them is only known where they were read."""
        return tuple(one for one in self.outputs if one.tool == tool and (node is None or one.node == node))

    @cached_property
    def nodes(self) -> tuple[NodeId, ...]:
        """Nodes that any output is of."""
        return tuple(dict.fromkeys(output.node for output in self.outputs))

    @cached_property
    def _by_kind(self) -> Mapping[type, tuple[Witness[Any], ...]]:
        found: dict[type, list[Witness[Any]]] = {}
        for output in self.outputs:
            for reading in output.readings:
                found.setdefault(type(reading), []).append(Witness(reading, output))
        return {kind: tuple(told) for kind, told in found.items()}

    def with_outputs(self, outputs: Iterable[Output]) -> Readings:
        """These and more."""
        return Readings((*self.outputs, *outputs))


NOTHING_READ = Readings()


def by_node(told: Iterable[Witness[T]]) -> Mapping[NodeId, tuple[Witness[T], ...]]:
    """Readings of one kind, node by node."""
    found: dict[NodeId, list[Witness[T]]] = {}
    for one in told:
        found.setdefault(one.node, []).append(one)
    return {node: tuple(said) for node, said in found.items()}


def in_order(told: Iterable[Witness[T]]) -> Iterator[Witness[T]]:
    """Readings by their moments; those that nothing tells apart keep their order."""
    yield from sorted(told, key=lambda one: (_number(one.output.moment.label), one.output.moment.time or 0.0))


def _number(label: str) -> int:
    digits = "".join(character for character in label if character.isdigit())
    return int(digits) if digits else -1
