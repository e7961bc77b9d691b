"""The fold: the only place where state changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from .events import (
    BeliefUpdated,
    BundleWritten,
    ClockMeasured,
    CommandEnded,
    DomainFailed,
    DomainHung,
    DomainResumed,
    Entry,
    Event,
    FactsRead,
    Field,
    FindingCleared,
    FindingRaised,
    LogRead,
    NetworkRead,
    NodeStateChanged,
    NoteWritten,
    OutputRead,
    PartSwapped,
    RoundEnded,
    RoundPlanned,
    SampleTaken,
    SchemaDeclared,
    SessionOpened,
    TrialEnded,
    VerdictReached,
)
from .findings import Finding, Severity
from .ids import ComponentId, NodeId
from .snapshot import HungDomain, NodeView, Series, Snapshot, Vector

HISTORY = 120
"""Samples kept per node and hang domain: two minutes at 1 Hz. Older ones are in the recording."""
LOG_LINES = 500
"""Log lines kept per node; older ones are in the journal."""

_WORST_FIRST = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass
class _Ring:
    """The samples of one hang domain while they are being gathered."""

    schema: str
    fields: tuple[Field, ...]
    resets: int = 0
    first: Vector | None = None
    first_time: float = 0.0
    times: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    samples: deque[Vector] = field(default_factory=lambda: deque(maxlen=HISTORY))
    ids: deque[str] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _index: Mapping[tuple[ComponentId, str], int] = field(default_factory=dict)

    def take(self, id_: str, sample: SampleTaken) -> None:
        if self.first is None:
            self.first, self.first_time = sample.values, sample.time
        self.times.append(sample.time)
        self.samples.append(sample.values)
        self.ids.append(id_)

    def series(self) -> Series | None:
        if self.first is None:
            return None
        series = Series(
            self.schema,
            self.fields,
            self.first,
            self.first_time,
            tuple(self.times),
            tuple(self.samples),
            tuple(self.ids),
            self.resets,
        )
        self._index = self._index or series.index
        return series.with_index(self._index)


class Incident:
    """One incident as a fold over its events."""

    def __init__(self) -> None:
        self._head = Snapshot()
        self._nodes: dict[NodeId, NodeView] = {}
        self._rings: dict[NodeId, dict[str, _Ring]] = {}
        self._logs: dict[NodeId, deque[tuple[str, LogRead]]] = {}
        self._findings: dict[str, Finding] = {}
        self._trials: list[tuple[str, TrialEnded]] = []
        self._commands: list[tuple[str, CommandEnded]] = []
        self._outputs: list[tuple[str, OutputRead]] = []

    def apply(self, entry: Entry) -> None:
        """Take an entry into account. Pure but for `self`; no I/O, no clock: an event brings its own time."""
        self._head = replace(self._head, seq=entry.seq, now=max(self._head.now, entry.event.time))
        self._apply_event(entry.id, entry.event)

    def snapshot(self) -> Snapshot:
        """The immutable value of now; unchanged parts are shared with the one before."""
        return replace(
            self._head,
            nodes={node: self._view(node) for node in self._nodes},
            findings=tuple(sorted(self._findings.values(), key=lambda finding: _WORST_FIRST[finding.severity])),
            trials=tuple(self._trials),
            commands=tuple(self._commands),
            outputs=tuple(self._outputs),
        )

    def _apply_event(self, id_: str, event: Event) -> None:  # noqa: C901 (one arm an event is the clearest form)
        match event:
            case SampleTaken():
                self._take_sample(id_, event)
            case NodeStateChanged():
                self._change(
                    event.node,
                    state=event.state,
                    reason=event.reason,
                    code=event.code,
                    since=event.time,
                    event_id=id_,
                )
            case FactsRead():
                known = {(fact.component, fact.key): fact.value for fact in event.facts}
                self._change(event.node, facts={**self._node(event.node).facts, **known}, facts_id=id_)
            case SchemaDeclared():
                rings = self._rings.setdefault(event.node, {})
                before = rings.get(event.domain)
                rings[event.domain] = _Ring(event.schema, event.fields, before.resets + 1 if before else 0)
                self._node(event.node)
            case LogRead():
                self._logs.setdefault(event.node, deque(maxlen=LOG_LINES)).append((id_, event))
                self._node(event.node)
            case DomainHung() | DomainResumed() | DomainFailed():
                self._change_domain(id_, event)
            case ClockMeasured():
                self._change(event.node, clock_offset=event.offset, clock_uncertainty=event.uncertainty)
            case CommandEnded():
                self._commands.append((id_, event))
            case OutputRead():
                self._outputs.append((id_, event))
            case FindingRaised():
                self._findings[event.finding.key] = event.finding
            case FindingCleared():
                self._findings.pop(event.key, None)
            case TrialEnded():
                self._trials.append((id_, event))
            case NetworkRead():
                self._head = replace(self._head, network=event)
            case RoundPlanned():
                self._head = replace(self._head, rounds=(*self._head.rounds, event), verdict=None, verdict_id="")
            case RoundEnded():
                self._head = replace(self._head, rounds_ended=(*self._head.rounds_ended, event))
            case BeliefUpdated():
                self._head = replace(self._head, beliefs=(*self._head.beliefs, (id_, event)))
            case VerdictReached():
                self._head = replace(self._head, verdict=event, verdict_id=id_)
            case NoteWritten() | PartSwapped():
                self._head = replace(self._head, notes=(*self._head.notes, (id_, event)))
            case BundleWritten():
                self._head = replace(self._head, bundle=event.path)
            case SessionOpened():
                self._head = replace(self._head, case=event.case, source=event.source, opened=event.time)
                for node in event.hosts:
                    self._node(node)
            case _:
                pass

    def _node(self, node: NodeId) -> NodeView:
        if node not in self._nodes:
            self._nodes[node] = NodeView(node)
        return self._nodes[node]

    def _change(self, node: NodeId, **changes: object) -> None:
        self._nodes[node] = replace(self._node(node), **changes)  # type: ignore[arg-type]

    def _take_sample(self, id_: str, event: SampleTaken) -> None:
        ring = self._rings.get(event.node, {}).get(event.domain)
        if ring is None or ring.schema != event.schema:
            return
        ring.take(id_, event)
        self._change(event.node, last_heard=max(self._node(event.node).last_heard, event.time))

    def _change_domain(self, id_: str, event: DomainHung | DomainResumed | DomainFailed) -> None:
        view = self._node(event.node)
        others = tuple(hung for hung in view.hung if hung.domain != event.domain)
        match event:
            case DomainHung():
                hung = HungDomain(event.domain, event.time - event.seconds, event.process_state, event.wchan, id_)
                self._change(event.node, hung=(*others, hung))
            case DomainResumed():
                readable = {domain: why for domain, why in view.unreadable.items() if domain != event.domain}
                self._change(event.node, hung=others, unreadable=readable)
            case DomainFailed():
                self._change(event.node, hung=others, unreadable={**view.unreadable, event.domain: event.reason})

    def _view(self, node: NodeId) -> NodeView:
        series = {
            domain: series
            for domain, ring in self._rings.get(node, {}).items()
            if (series := ring.series()) is not None
        }
        return replace(self._nodes[node], series=series, logs=tuple(self._logs.get(node, ())))


def last_logs(view: NodeView, count: int) -> tuple[tuple[str, LogRead], ...]:
    """The newest `count` log lines of a node, newest first."""
    return tuple(islice(reversed(view.logs), count))
