"""Error counters of NVLinks at two points in time: which moved, by how much, and how many of their equals stood still.

Read from `nvidia-smi nvlink -e`, `dcgmi nvlink -e`, and from sweeps in tables with columns for GPU, link and counters.
A standing value says nothing about now and is no move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import sqrt
from statistics import median

from ..incident.ids import ComponentId, NodeId, gpu_id, lane_id
from ..parsers.dcgm.nvlink import NvlinkErrors
from ..parsers.nvidia_smi.nvlink import LinkErrors
from ..parsers.table import Table
from ..parsers.value import integer_of
from .cells import named_node, numbered_part
from .column_names import Role, moment_of, role_of, words_of
from .identity import cached_by_identity
from .readings import UNKNOWN_NODE, Moment, Output, Readings, Witness

DEVIATIONS = 5.0
"""Robust standard deviations above its equals at which a counter stands out, as for streamed counters."""
MAD_TO_DEVIATION = 1.4826
FEW = 16
"""Equals among which one that stands out would shift the yardstick."""
A_FEW = 5
"""CRC and bit errors up to which a rise is ordinary: "0 to a few per day" (counters.toml)."""
_TELLS = frozenset({"recovery", "recoveries", "replay", "replays", "overrun", "malformed", "discards"})
"""Words of counters of which any rise is worth a look (counters.toml: normal is 0)."""
_ERRORS = frozenset({"error", "errors", "crc"})
_CORRECTED = frozenset({"fec", "plr", "raw"})
"""Words of counters that rise on every healthy NVLink 5."""


@dataclass(frozen=True, slots=True)
class LinkMove:
    """One counter of one link at the first and the last point in time."""

    link: ComponentId
    counter: str
    """Lower case with underscores, as printed otherwise."""
    before: int
    after: int
    seconds: float | None
    """Between the two; None where only their order is known."""
    between: str
    """`between t0 and t1`, `in 21 min`."""
    evidence: tuple[str, ...]

    @property
    def step(self) -> int:
        """By how much it rose; a fall is a reset and counts from zero."""
        return self.after - self.before if self.after >= self.before else self.after

    @property
    def is_recovery(self) -> bool:
        """Whether the link trained itself anew each time."""
        return bool({"recovery", "recoveries"} & set(words_of(self.counter)))


@dataclass(frozen=True, slots=True)
class StandingOut:
    """The counters of one link that moved while its equals did not, the gravest first."""

    link: ComponentId
    moves: tuple[LinkMove, ...]
    still: int
    """Other links that were read at the same two points and stood still."""
    equals: int
    """Other links that were read at the same two points."""


@dataclass(frozen=True, slots=True)
class _Value:
    link: ComponentId
    counter: str
    value: int
    moment: Moment
    id: str


@cached_by_identity(4)
def links_standing_out(readings: Readings) -> tuple[StandingOut, ...]:
    """Links whose error counters rose well above those of their equals, in the order they are named."""
    moves = list(_moves(_values(readings)))
    found: dict[ComponentId, list[LinkMove]] = {}
    by_counter: dict[str, list[LinkMove]] = {}
    for move in moves:
        by_counter.setdefault(move.counter, []).append(move)
    for equal in by_counter.values():
        usual = _usual(sorted(move.step for move in equal))
        for move in equal:
            if move.step > max(usual, _ordinary(move.counter)):
                found.setdefault(move.link, []).append(move)
    read = {move.link for move in moves}
    still = read - {move.link for move in moves if move.step}
    return tuple(
        StandingOut(link, tuple(sorted(told, key=_gravity)), len(still - {link}), len(read) - 1)
        for link, told in sorted(found.items())
    )


def _usual(steps: list[int]) -> float:
    """Up to where equals rise; of few, the highest is left out of its own yardstick."""
    others = steps[:-1] if len(steps) < FEW else steps
    if not others:
        return 0.0
    middle = median(others)
    spread = MAD_TO_DEVIATION * median(abs(step - middle) for step in others)
    return middle + DEVIATIONS * max(spread, sqrt(middle))


def _gravity(move: LinkMove) -> tuple[bool, bool, int]:
    """Recoveries that failed, then the total of recoveries, then what moved most."""
    words = words_of(move.counter)
    return "failed" not in words, not (move.is_recovery and "total" in words), -move.step


def _ordinary(counter: str) -> int:
    return 0 if _TELLS & set(words_of(counter)) else A_FEW


def _counts_errors(counter: str) -> bool:
    words = set(words_of(counter))
    return bool(words & (_TELLS | _ERRORS)) and not words & _CORRECTED


def _moves(values: Iterable[_Value]) -> Iterator[LinkMove]:
    told: dict[tuple[ComponentId, str], list[_Value]] = {}
    for value in values:
        told.setdefault((value.link, value.counter), []).append(value)
    for (link, counter), said in told.items():
        first, last = _ends(said)
        if first is None or last is None or (link.node == UNKNOWN_NODE and not last.moment.label):
            continue
        seconds = None
        if first.moment.time is not None and last.moment.time is not None:
            seconds = abs(last.moment.time - first.moment.time) or None
        between = f"between {first.moment.label or 'the first'} and {last.moment.label or 'the last reading'}"
        between = f"in {seconds / 60:.0f} min" if seconds is not None and seconds >= 60 else between
        yield LinkMove(
            link, counter, first.value, last.value, seconds, between, tuple(dict.fromkeys((first.id, last.id)))
        )


def _ends(said: list[_Value]) -> tuple[_Value | None, _Value | None]:
    """The first and the last reading; None where nothing tells which came first."""
    first = last = said[0]
    for one in said[1:]:
        if one.moment.is_before(first.moment):
            first = one
        if last.moment.is_before(one.moment):
            last = one
    return (first, last) if first.moment.is_before(last.moment) else (None, None)


def _values(readings: Readings) -> Iterator[_Value]:
    for smi in readings.of(LinkErrors):
        yield from _value(smi.node, smi.reading.gpu, smi.reading.link, smi.reading.name, smi.reading.count.value, smi)
    for dcgm in readings.of(NvlinkErrors):
        told = dcgm.reading
        yield from _value(dcgm.node, told.gpu, told.link, told.name, told.count.value, dcgm)
    for table in readings.of(Table):
        yield from _in_table(table)


def _value(node: NodeId, gpu: int, link: int, name: str, value: int, told: Witness[object]) -> Iterator[_Value]:
    counter = "_".join(words_of(name))
    if _counts_errors(counter):
        yield _Value(lane_id(gpu_id(node, gpu), link), counter, value, told.output.moment, told.id)


def _in_table(witness: Witness[Table]) -> Iterator[_Value]:
    """A row a link, a column a counter, or one for each point in time: `recovery_t0`, `recovery_t1`."""
    columns = witness.reading.columns
    roles = [role_of(name) for name in columns]
    if roles.count(Role.GPU) != 1 or roles.count(Role.LINK) != 1 or roles.count(Role.NODE) > 1:
        return
    gpu_at, link_at = roles.index(Role.GPU), roles.index(Role.LINK)
    node_at = roles.index(Role.NODE) if Role.NODE in roles else None
    counters = [(at, *_counter(name, witness.output)) for at, name in enumerate(columns) if roles[at] is Role.OTHER]
    counters = [one for one in counters if _counts_errors(one[1])]
    for row in witness.reading.rows:
        node = (named_node(row[node_at]) if node_at is not None else None) or witness.node
        gpu, link = numbered_part(row[gpu_at], "gpu"), numbered_part(row[link_at], "link", "nvlink")
        if gpu is None or link is None:
            continue
        for at, counter, moment in counters:
            value = integer_of(row[at])
            if value is not None and value >= 0:
                yield _Value(lane_id(gpu_id(node, gpu), link), counter, value, moment, witness.id)


def _counter(column: str, output: Output) -> tuple[str, Moment]:
    told = moment_of(column)
    return (told.stem, Moment(f"t{told.order}")) if told else ("_".join(words_of(column)), output.moment)
