"""What is known at one moment: the immutable value that views, reports, rules and probes read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .events import (
    BeliefUpdated,
    CommandEnded,
    Field,
    LogRead,
    NetworkRead,
    NodeState,
    NoteWritten,
    OutputRead,
    PartSwapped,
    RoundEnded,
    RoundPlanned,
    TrialEnded,
    VerdictReached,
)
from .findings import Finding
from .ids import ComponentId, NodeId

Vector = npt.NDArray[np.float64]
FactValue = str | int | float | bool | None

STALE_AFTER = 3.0
"""Seconds without a sample after which a reading is stale (three ticks; transport.md section 6)."""


@dataclass(frozen=True, eq=False)
class Series:
    """The last samples of one hang domain of one node under one schema."""

    schema: str
    fields: tuple[Field, ...]
    first: Vector
    """The first sample of the session: the baseline of differences."""
    first_time: float
    times: tuple[float, ...]
    """Oldest first."""
    samples: tuple[Vector, ...]
    ids: tuple[str, ...]
    """Event id of each sample."""
    resets: int = 0
    """How often the schema changed under way."""

    @cached_property
    def index(self) -> Mapping[tuple[ComponentId, str], int]:
        """Position of each (component, name) in the vectors."""
        return {(column.component, column.name): i for i, column in enumerate(self.fields)}

    def with_index(self, index: Mapping[tuple[ComponentId, str], int]) -> Series:
        """The same with the index of its fields, which all snapshots under one schema share: making it costs most."""
        self.__dict__["index"] = index
        return self

    @property
    def last(self) -> Vector:
        """The newest sample."""
        return self.samples[-1]

    @property
    def last_time(self) -> float:
        """When it was taken."""
        return self.times[-1]

    def value(self, component: ComponentId, name: str) -> float:
        """The newest value; NaN where it is missing."""
        at = self.index.get((component, name))
        return float("nan") if at is None else float(self.last[at])

    def history(self, component: ComponentId, name: str) -> Vector:
        """All values held, oldest first; empty where the field is not in the schema."""
        at = self.index.get((component, name))
        return np.array([] if at is None else [sample[at] for sample in self.samples])


@dataclass(frozen=True)
class HungDomain:
    """A worker that is stuck in a call on the node."""

    domain: str
    since: float
    process_state: str
    wchan: str
    event_id: str = ""
    """Event that told of it last."""


@dataclass(frozen=True)
class NodeView:
    """All that is known of one node."""

    id: NodeId
    state: NodeState = NodeState.IDLE
    reason: str = ""
    code: str = ""
    since: float = 0.0
    last_heard: float = 0.0
    """Time of the newest sample; 0 before the first."""
    facts: Mapping[tuple[ComponentId, str], FactValue] = field(default_factory=dict)
    series: Mapping[str, Series] = field(default_factory=dict)
    """By hang domain: `nvml`, `ib`, `pci`."""
    logs: tuple[tuple[str, LogRead], ...] = ()
    """The last log lines with their event ids, oldest first."""
    hung: tuple[HungDomain, ...] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Hang domain -> why it can't be read."""
    clock_offset: float | None = None
    clock_uncertainty: float | None = None
    event_id: str = ""
    """Event of the last change of state."""
    facts_id: str = ""
    """Event of the last facts read."""

    def fact(self, component: ComponentId, key: str) -> FactValue:
        """One fact; None where it is not known."""
        return self.facts.get((component, key))

    def value(self, component: ComponentId, name: str) -> float:
        """The newest reading of a part, from whichever domain has it; NaN where none has."""
        for series in self.series.values():
            if (component, name) in series.index:
                return series.value(component, name)
        return float("nan")

    def components(self, kind: str) -> list[ComponentId]:
        """The node's parts of one kind known from facts or schemas, in natural order."""
        known = {component for component, _ in self.facts}
        known |= {column.component for series in self.series.values() for column in series.fields}
        return sorted((part for part in known if part.kind == kind), key=_natural)


@dataclass(frozen=True)
class Snapshot:
    """Everything, at one moment."""

    seq: int = 0
    now: float = 0.0
    case: str = ""
    source: str = ""
    opened: float = 0.0
    nodes: Mapping[NodeId, NodeView] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    """Standing ones, worst first, then oldest first."""
    network: NetworkRead | None = None
    """The last that was read of the network between nodes."""
    rounds: tuple[RoundPlanned, ...] = ()
    rounds_ended: tuple[RoundEnded, ...] = ()
    trials: tuple[tuple[str, TrialEnded], ...] = ()
    """All ended trials with their event ids."""
    beliefs: tuple[tuple[str, BeliefUpdated], ...] = ()
    verdict: VerdictReached | None = None
    verdict_id: str = ""
    notes: tuple[tuple[str, NoteWritten | PartSwapped], ...] = ()
    commands: tuple[tuple[str, CommandEnded], ...] = ()
    outputs: tuple[tuple[str, OutputRead], ...] = ()
    """Outputs read in files."""
    bundle: str = ""
    """Path of the last bundle written."""

    @property
    def belief(self) -> BeliefUpdated | None:
        """The newest belief."""
        return self.beliefs[-1][1] if self.beliefs else None

    def findings_of(self, node: NodeId) -> tuple[Finding, ...]:
        """Standing findings on one node's parts, or with victims there."""
        return tuple(
            finding
            for finding in self.findings
            if finding.component.node == node or any(victim.node == node for victim in finding.victims)
        )

    def is_stale(self, node: NodeId) -> bool:
        """True when the node has said nothing for three ticks, or was never heard."""
        return self.now - self.nodes[node].last_heard > STALE_AFTER

    def up(self) -> int:
        """How many nodes are live."""
        return sum(view.state is NodeState.LIVE for view in self.nodes.values())


def same(left: object, right: object) -> bool:
    """Whether two snapshots (or parts of them) say the same: equal values, NaN equal to NaN, arrays by content."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.array_equal(left, right, equal_nan=True)
    if isinstance(left, Series) and isinstance(right, Series):
        return all(same(a, b) for a, b in zip(_parts(left), _parts(right), strict=True))
    if isinstance(left, NodeView | Snapshot) and type(left) is type(right):
        return all(same(a, b) for a, b in zip(_parts(left), _parts(right), strict=True))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return left == right


def _parts(value: Series | NodeView | Snapshot) -> Iterator[object]:
    return (getattr(value, name) for name in value.__dataclass_fields__)


def _natural(component: ComponentId) -> tuple[object, ...]:
    return tuple(int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", component))
