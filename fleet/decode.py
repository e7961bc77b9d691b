"""Frames of a collector to events. What can't be read is counted and passed over; a node can't make this raise."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from ..incident.events import (
    ClockMeasured,
    DomainFailed,
    DomainHung,
    DomainResumed,
    Event,
    FactsRead,
    Field,
    LogRead,
    SampleTaken,
    SchemaDeclared,
)
from ..incident.ids import ComponentId, NodeId
from ..parsers.pcie import sysfs
from .facts import facts_of_output, read_facts
from .stream import one_line

MOST_FIELDS = 50_000
"""Elements of a vector; the widest node known has 2 000."""
MOST_NAME = 200
BACKLOG = 60.0
"""Seconds that a sample may be late and still keep the node's own stamp."""

_READ_TEXT: Mapping[str, Callable[[str], float]] = {
    "port_state": sysfs.port_state,
    "phys_state": sysfs.phys_state,
    "rate_gbps": sysfs.rate_gbps,
    "speed_gts": sysfs.speed_gts,
    "current_width": sysfs.link_width,
    "aer_correctable": sysfs.aer_total,
    "aer_nonfatal": sysfs.aer_total,
    "aer_fatal": sysfs.aer_total,
}

Vector = npt.NDArray[np.float64]


class Malformed(Exception):
    """A line that is no frame."""


UNREADABLE = (Malformed, ValueError, TypeError, LookupError, AttributeError, OverflowError)
"""All that a line of another shape than expected can cause."""


def read_value(name: str, value: object) -> float:
    """A reading as a number; NaN for a missing one and for a text that says nothing that can be used."""
    match value:
        case bool() | None:
            return math.nan
        case int() | float():
            return float(value) if name != "current_width" else sysfs.link_width(str(value))
        case str():
            return _READ_TEXT.get(name, sysfs.number)(value)
        case _:
            return math.nan


def apply_delta(raw: list[Any], changes: list[Any]) -> list[int]:
    """Apply `[gap, change, ...]` to a vector in place; the positions that changed. Raises Malformed."""
    if len(changes) % 2:
        raise Malformed("a change without its gap")
    gaps = changes[::2]
    if not set(map(type, gaps)) <= {int} or min(gaps, default=0) < 0:
        raise Malformed("a gap that is no distance")
    positions = list(accumulate(gaps))
    if positions and positions[-1] >= len(raw):
        raise Malformed("a change past the end")
    for position, change in zip(positions, changes[1::2], strict=True):
        if type(change) is int and type(raw[position]) is int:
            raw[position] += change
        elif isinstance(change, list) and len(change) == 1:
            raw[position] = change[0]
        else:
            raise Malformed("a change that does not fit what it changes")
    return positions


@dataclass(slots=True)
class _Stream:
    """The vectors of one hang domain."""

    schema: str
    """As the collector calls it."""
    id: str
    """As the events call it."""
    names: list[str]
    scales: Vector
    raw: list[Any] | None = None
    values: Vector = field(default_factory=lambda: np.empty(0))
    widths: frozenset[int] = field(init=False)
    """Positions of the readings of which a number needs reading too."""

    def __post_init__(self) -> None:
        self.widths = frozenset(at for at, name in enumerate(self.names) if name == "current_width")

    def take(self, kind: str, content: list[Any]) -> Vector:
        """The vector after a frame, read-only. Raises Malformed."""
        if kind == "K":
            if len(content) != len(self.names):
                raise Malformed("a key frame of another length than its schema")
            self.raw = content
            self.values = np.array([read_value(*pair) for pair in zip(self.names, content, strict=True)])
        elif kind == "D" and self.raw is not None:
            self.values = self.values.copy()
            raw, self.raw = self.raw, None  # void until the whole difference fitted
            self._read(raw, apply_delta(raw, content))
            self.raw = raw
        else:
            raise Malformed("a difference without a key frame before it")
        scaled: Vector = self.values * self.scales
        scaled.flags.writeable = False
        return scaled

    def _read(self, raw: list[Any], positions: list[int]) -> None:
        """Read what changed: all at once where it is numbers and nothing else, which it nearly always is."""
        changed = [raw[position] for position in positions]
        if set(map(type, changed)) <= {int, float} and self.widths.isdisjoint(positions):
            self.values[positions] = changed
            return
        for position, value in zip(positions, changed, strict=True):
            self.values[position] = read_value(self.names[position], value)


class Schemas:
    """The schemas a node has declared. One that comes again, of a collector started anew, is the same: its series goes
    on."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, tuple[Field, ...]]] = {}
        self._count = 0

    def name(self, domain: str, fields: tuple[Field, ...]) -> tuple[str, bool]:
        """The id of a schema, unique within the node, and whether it is a new one."""
        known = self._last.get(domain)
        if known is not None and known[1] == fields:
            return known[0], False
        self._count += 1
        self._last[domain] = (f"{domain}-{self._count}", fields)
        return self._last[domain][0], True


class Decoder:
    """One collector's frames, decoded in order."""

    def __init__(self, node: NodeId, now: Callable[[], float] = time.time, schemas: Schemas | None = None) -> None:
        self._node = node
        self._schemas = schemas or Schemas()
        self._now = now
        self._streams: dict[str, _Stream] = {}
        self._failed: dict[str, str] = {}
        self._hung: set[str] = set()
        self._asked: dict[str, tuple[float, float]] = {}
        self._offset: float | None = None
        self._uncertainty = math.inf
        self.greeting: Mapping[str, Any] | None = None
        self.samples = 0
        self.junk = 0
        self.last_junk = ""
        self.goodbye: str | None = None
        self.wants_key = False
        """A difference did not fit: the link asks for a key frame."""

    def feed(self, line: bytes) -> list[Event]:
        """The events of one line; none for a line that is not understood, which is counted."""
        try:
            frame = orjson.loads(line)
            if not isinstance(frame, list) or not frame:
                raise Malformed("no frame")
            return self._frame(frame[0], frame[1:])
        except UNREADABLE as error:
            if self.greeting is not None and isinstance(error, Malformed) and line.startswith(b'["T"'):
                self.wants_key = True
            self.junk += 1
            self.last_junk = one_line(line[:800].decode("utf-8", "replace"))
            return []

    def ask_clock(self, token: str) -> None:
        """Note that a `k token` goes out now."""
        self._asked = {token: (self._now(), time.monotonic()), **dict(list(self._asked.items())[:7])}

    def forget(self) -> list[Event]:
        """The collector ended: hung workers are hung no more, and its streams are void."""
        resumed: list[Event] = [DomainResumed(time=self._now(), node=self._node, domain=one) for one in self._hung]
        self._hung.clear()
        self._streams.clear()
        return resumed

    def _frame(self, kind: object, rest: list[Any]) -> list[Event]:
        if kind == "H":
            self.greeting = rest[0] if isinstance(rest[0], dict) else {}
            return []
        if self.greeting is None:
            raise Malformed("before the greeting")
        readers: Mapping[object, Callable[..., list[Event]]] = {
            "S": self._schema,
            "T": self._sample,
            "F": self._facts,
            "O": self._output,
            "L": self._log,
            "X": self._stuck,
            "R": self._resumed,
            "E": self._error,
            "C": self._clock,
            "Q": self._quit,
        }
        if kind not in readers:
            raise Malformed("no frame we know")
        return readers[kind](*rest)

    def _schema(self, domain: str, schema: str, groups: list[Any], scales: dict[str, Any]) -> list[Event]:
        fields = tuple(Field(self._component(part), _name(name)) for part, names in groups for name in names)
        if len(fields) > MOST_FIELDS:
            raise Malformed("too many fields")
        factors = [float(scales.get(column.name, 1.0)) for column in fields]
        names = [column.name for column in fields]
        id_, is_new = self._schemas.name(_name(domain), fields)
        self._streams[domain] = _Stream(_name(schema), id_, names, np.array(factors, dtype=np.float64))
        events = self._well_again(domain)
        if is_new:
            events.append(SchemaDeclared(time=self._now(), node=self._node, domain=domain, schema=id_, fields=fields))
        return events

    def _sample(self, domain: str, schema: str, stamp: float, kind: str, content: list[Any]) -> list[Event]:
        stream = self._streams.get(domain)
        if stream is None or stream.schema != schema or not isinstance(content, list):
            raise Malformed("a sample without its schema")
        values = stream.take(kind, content)
        self.samples += 1
        return [SampleTaken(self._moment(float(stamp)), self._node, domain, stream.id, values)]

    def _facts(self, source: str, triples: list[Any]) -> list[Event]:
        facts = read_facts(self._node, triples)
        return [FactsRead(time=self._now(), node=self._node, source=_name(source), facts=facts)] if facts else []

    def _output(self, command: str, text: str) -> list[Event]:
        facts = facts_of_output(self._node, _name(command), str(text))
        return [FactsRead(time=self._now(), node=self._node, source=command, facts=facts)] if facts else []

    def _log(self, source: str, text: str, stamp: float | None) -> list[Event]:
        node_time = float(stamp) if stamp is not None and math.isfinite(stamp) else None
        event = LogRead(time=self._now(), node=self._node, source=_name(source), text=str(text), node_time=node_time)
        return [event]

    def _stuck(self, domain: str, seconds: float, state: str, wchan: str) -> list[Event]:
        self._hung.add(_name(domain))
        event = DomainHung(
            time=self._now(),
            node=self._node,
            domain=domain,
            seconds=float(seconds),
            process_state=one_line(str(state), 8),
            wchan=one_line(str(wchan), 100),
        )
        return [event]

    def _resumed(self, domain: str) -> list[Event]:
        self._hung.discard(domain)
        return [DomainResumed(time=self._now(), node=self._node, domain=_name(domain))]

    def _well_again(self, domain: str) -> list[Event]:
        """A domain that could not be read declares a schema: it can."""
        if self._failed.pop(domain, None) is None:
            return []
        return [DomainResumed(time=self._now(), node=self._node, domain=domain)]

    def _error(self, domain: str, what: str, text: str) -> list[Event]:
        reason = one_line(str(text) if what == "unreadable" else f"{what}: {text}", 500)
        self._hung.discard(domain)
        if self._failed.get(_name(domain)) == reason:
            return []
        self._failed[domain] = reason
        return [DomainFailed(time=self._now(), node=self._node, domain=domain, reason=reason)]

    def _clock(self, token: str, node_time: float) -> list[Event]:
        """Offset and uncertainty of one round trip; told when it is better than what is known, or contradicts it."""
        asked = self._asked.pop(_name(token), None)
        if asked is None:
            raise Malformed("an answer to no question")
        wall, mono = asked
        trip = time.monotonic() - mono
        offset, uncertainty = float(node_time) - (wall + trip / 2), trip / 2
        if not math.isfinite(offset):
            raise Malformed("a clock that shows no time")
        contradicts = self._offset is None or abs(offset - self._offset) > self._uncertainty + uncertainty
        if not contradicts and uncertainty >= self._uncertainty / 2:
            return []
        self._offset, self._uncertainty = offset, uncertainty
        return [ClockMeasured(time=self._now(), node=self._node, offset=offset, uncertainty=uncertainty)]

    def _quit(self, reason: str) -> list[Event]:
        self.goodbye = one_line(str(reason))
        return []

    def _moment(self, stamp: float) -> float:
        """A node's stamp on our clock; the time of arrival where the node's clock is not known, or is nonsense."""
        arrival = self._now()
        if self._offset is None:
            return arrival
        moment = stamp - self._offset
        return min(moment, arrival) if arrival - BACKLOG < moment < arrival + 1.0 else arrival

    def _component(self, part: object) -> ComponentId:
        return component_id(self._node, part)


def component_id(node: NodeId, part: object) -> ComponentId:
    """The id of a part as a node names it; the empty name is the node itself. Raises Malformed for anything odd."""
    if part == "":
        return node
    return node / _name(part)


def _name(value: object) -> str:
    if not isinstance(value, str) or not value or len(value) > MOST_NAME or not value.isprintable():
        raise Malformed("no name")
    return value
