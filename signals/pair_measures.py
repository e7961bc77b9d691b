"""Measurements between two nodes, or two GPUs of one node, from whatever measured them: tables, matrices and tests.

Only what was measured alike is compared with each other: same test, same size, same direction of better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from ..incident.ids import ComponentId, NodeId, gpu_id
from ..parsers.bandwidth.nccl_tests import CollectiveRank, CollectiveRun, CollectiveTime
from ..parsers.bandwidth.nvbandwidth import NvbandwidthCell
from ..parsers.bandwidth.p2p_latency_test import PeerMeasure
from ..parsers.table import Table
from .cells import named_node, numbered_part, value_in
from .column_names import Role, measured_column, role_of
from .identity import cached_by_identity
from .readings import UNKNOWN_NODE, Output, Readings, Witness

MOST_PAIRS = 50_000
"""Pairs that are compared with each other."""
_UNTOLD = frozenset({"", "unknown", "?", "-", "n/a", "na", "none"})


@dataclass(frozen=True, slots=True)
class Pair:
    """What was measured between two parts, in either direction."""

    ends: tuple[ComponentId, ComponentId]
    value: float
    """The median where it was measured more than once."""
    told: Mapping[str, str] = field(default_factory=dict)
    """What the table says of the pair besides, by column."""

    @property
    def name(self) -> str:
        """`n1-n2`."""
        return f"{self.ends[0].within}-{self.ends[1].within}"


@dataclass(frozen=True, slots=True)
class Compared:
    """Pairs that were measured alike."""

    what: str
    """`busbw_GBps`, as printed."""
    more_is_better: bool
    pairs: tuple[Pair, ...]
    evidence: tuple[str, ...]
    """Ids of the outputs that the pairs stand in."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """One value before those of one pair are put together."""

    alike: tuple[str, ...]
    what: str
    more_is_better: bool
    ends: tuple[ComponentId, ComponentId]
    value: float
    output: str
    told: tuple[tuple[str, str], ...] = ()


@cached_by_identity(4)
def compared_pairs(readings: Readings) -> tuple[Compared, ...]:
    """All sets of pairs, one for each way of measuring."""
    alike: dict[tuple[object, ...], list[_Cell]] = {}
    for cell in _cells(readings):
        if cell.ends[0] != cell.ends[1] and cell.value > 0:
            alike.setdefault((cell.alike, cell.what, cell.more_is_better, cell.ends[0].kind), []).append(cell)
    return tuple(_put_together(cells[:MOST_PAIRS]) for cells in alike.values())


def _put_together(cells: list[_Cell]) -> Compared:
    values: dict[tuple[ComponentId, ComponentId], list[_Cell]] = {}
    for cell in cells:
        values.setdefault(cell.ends, []).append(cell)
    pairs = tuple(
        Pair(ends, median(cell.value for cell in told), {key: text for cell in told for key, text in cell.told})
        for ends, told in values.items()
    )
    evidence = tuple(dict.fromkeys(cell.output for cell in cells))
    return Compared(cells[0].what, cells[0].more_is_better, pairs, evidence)


def _cells(readings: Readings) -> Iterator[_Cell]:
    for witness in readings.of(Table):
        yield from _listed(witness)
        yield from _in_matrix(witness)
    for peer in readings.of(PeerMeasure):
        told = peer.reading
        if told.what == "bandwidth" and told.p2p and not told.local and told.value is not None:
            ends = _gpus(peer.node, told.here, told.there)
            both = "both directions" if told.bidirectional else "one direction"
            yield _Cell((_place(peer), both, told.by), f"{both}, {told.unit}", True, ends, told.value, peer.id)
    for copy in readings.of(NvbandwidthCell):
        cell = copy.reading
        if cell.row_is == cell.column_is == "GPU" and cell.value is not None and cell.unit == "GB/s":
            ends = _gpus(copy.node, cell.row, cell.column)
            yield _Cell((_place(copy), cell.test), f"{cell.test}, GB/s", True, ends, cell.value, copy.id)
    for output in readings.printed_by("nccl-tests"):
        yield from _run_on_two(output)


def _place(witness: Witness[object]) -> str:
    """Outputs of one node can be compared; of two that nobody named, nothing says that they are one."""
    return witness.id if witness.node == UNKNOWN_NODE else witness.node


def _gpus(node: NodeId, one: int, other: int) -> tuple[ComponentId, ComponentId]:
    return gpu_id(node, min(one, other)), gpu_id(node, max(one, other))


def _listed(witness: Witness[Table]) -> Iterator[_Cell]:
    """A row a pair: two columns name its ends, one holds what was measured."""
    columns = witness.reading.columns
    roles = [role_of(name) for name in columns]
    measured = measured_column(columns)
    ends = _end_columns(roles)
    if measured is None or ends is None:
        return
    value_at, role = measured
    host = roles.index(Role.NODE) if roles.count(Role.NODE) == 1 else None
    conditions = [at for at, one in enumerate(roles) if one is Role.CONDITION]
    others = [at for at, one in enumerate(roles) if one is Role.OTHER]
    for row in witness.reading.rows:
        node = (named_node(row[host]) if host is not None else None) or witness.node
        one, other = (_end(row[at], node, roles[at]) for at in ends)
        value = value_in(row[value_at])
        if one is None or other is None or value is None:
            continue
        told = tuple((columns[at], row[at]) for at in others if row[at].lower() not in _UNTOLD)
        alike = tuple(row[at] for at in conditions)
        yield _Cell(alike, columns[value_at], role is Role.RATE, _sorted(one, other), value, witness.id, told)


def _end_columns(roles: list[Role]) -> tuple[int, int] | None:
    for kind in (Role.NODE, Role.GPU, Role.END):
        found = [at for at, role in enumerate(roles) if role is kind]
        if len(found) == 2:
            return found[0], found[1]
    return None


def _in_matrix(witness: Witness[Table]) -> Iterator[_Cell]:
    """Names in the first row and the first column; what was measured is told by the corner, or by the file's name."""
    (corner, *names), rows = witness.reading.columns, witness.reading.rows
    measured = measured_column((corner, witness.output.where))
    if measured is None or {row[0] for row in rows} != set(names) or len(rows) != len(names):
        return
    what = corner or ("bandwidth" if measured[1] is Role.RATE else "latency")
    for row in rows:
        for name, cell in zip(names, row[1:], strict=True):
            one, other = (_end(end, witness.node, Role.END) for end in (row[0], name))
            value = value_in(cell)
            if one is not None and other is not None and value is not None:
                yield _Cell((witness.id,), what, measured[1] is Role.RATE, _sorted(one, other), value, witness.id)


def _end(cell: str, node: NodeId, role: Role) -> ComponentId | None:
    """A GPU where the column says so, or where the cell is a number or `gpu3`; a node otherwise."""
    gpu = numbered_part(cell, "gpu", "cuda") if role is not Role.NODE else None
    if gpu is not None:
        return gpu_id(node, gpu)
    return None if role is Role.GPU else named_node(cell)


def _sorted(one: ComponentId, other: ComponentId) -> tuple[ComponentId, ComponentId]:
    first, second = sorted((one, other))
    return first, second


def _run_on_two(output: Output) -> Iterator[_Cell]:
    """A collective on exactly two nodes, by its largest message."""
    measured = largest_message(output)
    hosts = sorted({one.host for one in output.readings if isinstance(one, CollectiveRank)})
    nodes = [named_node(host) for host in hosts]
    if measured is None or len(nodes) != 2:
        return
    (one, other), (alike, value) = nodes, measured
    if one is not None and other is not None:
        yield _Cell(alike, f"busbw of {alike[0] or 'a collective'}, GB/s", True, (one, other), value, output.id)


def largest_message(output: Output) -> tuple[tuple[str, ...], float] | None:
    """What ran on how many ranks with which size, and its bus bandwidth in GB/s at the largest size."""
    times = [one for one in output.readings if isinstance(one, CollectiveTime) and one.busbw is not None]
    size = max((one.size for one in times), default=0)
    values = [one.busbw for one in times if one.size == size and one.busbw is not None]
    if not values:
        return None
    test = next((one.test for one in output.readings if isinstance(one, CollectiveRun) and one.test), "")
    ranks = sum(isinstance(one, CollectiveRank) for one in output.readings)
    return (test, str(size), str(ranks)), median(values)
