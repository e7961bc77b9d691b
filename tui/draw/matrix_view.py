"""Measurements as a matrix: GPU by GPU of one node, or node by node; the worst window of each pair against expected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from ...incident.ids import ComponentId, NodeId
from ...topology.fabric import Fabric
from .matrix_cell import LOW_BELOW, Cell
from .matrix_reading import Ends, reading_of_matrix
from .measurements import Measurements, Pair, Told
from .words import label

if TYPE_CHECKING:
    from ...probes.probe import Probe

ENOUGH_EQUALS = 6
"""Pairs whose middle stands for what is expected, where nobody has measured the platform."""


@dataclass(frozen=True)
class Matrix:
    """Rows are sources, columns destinations."""

    title: str
    probe: str
    unit: str
    expected: float
    """Of most pairs; NaN where not known."""
    is_by_equals: bool
    """Compared with the middle of the pairs, for nobody has measured this platform."""
    low_below: float
    """Share of expected below which a pair is pointed out."""
    names: tuple[str, ...]
    cells: Mapping[tuple[int, int], Cell]
    hosts: tuple[Cell | None, ...] = ()
    """From host memory to each GPU; empty where that was not measured."""
    host_low_below: float = 1.0
    """Share of expected below which a copy from host memory is pointed out."""
    reading: tuple[str, ...] = ()
    is_network: bool = False
    """Node by node."""

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.names) * (len(self.names) - 1)

    @property
    def measured(self) -> int:
        """How many were measured."""
        return sum(not cell.is_silent for cell in self.cells.values())


def node_matrix(measurements: Measurements, fabric: Fabric, node: NodeId) -> Matrix:
    """GPU by GPU of one node."""
    told = measurements.within(node)
    name = _most_measured(told) or "p2p"
    gpus = fabric.gpus(node)
    at = {gpu: number for number, gpu in enumerate(gpus)}
    mine = {pair: one for (probe, pair), one in told.items() if probe == name and pair[0] in at and pair[1] in at}
    cells, expected, by_equals = _cells(mine, fabric, name)
    placed, below = pointed_out({(at[source], at[end]): cell for (source, end), cell in cells.items()})
    names = tuple(label(gpu) for gpu in gpus)
    return Matrix(
        f"{node}: {_title(name)}",
        name,
        unit_of(name),
        expected,
        by_equals,
        below,
        names,
        placed,
        *_hosts(measurements, fabric, node, gpus),
        reading_of_matrix(placed, names, Ends("GPU", "its lanes"), below),
    )


def network_matrix(measurements: Measurements, fabric: Fabric, nodes: Iterable[NodeId]) -> Matrix:
    """Node by node: the worst pair of ends of two nodes stands for them."""
    name = _most_measured(measurements.across) or "net_pair"
    mine = {pair: one for (probe, pair), one in measurements.across.items() if probe == name}
    ends, expected, by_equals = _cells(mine, fabric, name)
    measured = {end.node for pair in mine for end in pair}
    rows = [node for node in nodes if node in measured] if mine else list(nodes)
    at = {node: number for number, node in enumerate(rows)}
    cells: dict[tuple[int, int], Cell] = {}
    for (source, end), cell in ends.items():
        if source.node in at and end.node in at:
            key = (at[source.node], at[end.node])
            cells[key] = _worse(cells[key], cell) if key in cells else cell
    names = tuple(str(node) for node in rows)
    placed, below = pointed_out(cells)
    reading = reading_of_matrix(placed, names, Ends("node", "its NICs and cables"), below)
    title = f"between nodes: {_title(name)}"
    return Matrix(
        title, name, unit_of(name), expected, by_equals, below, names, placed, reading=reading, is_network=True
    )


def _most_measured(told: Mapping[tuple[str, Pair], Told]) -> str:
    """The bandwidth probe with the most pairs; else any; empty without any."""
    counts: dict[str, int] = {}
    for probe, _ in told:
        counts[probe] = counts.get(probe, 0) + 1
    return max(counts, key=lambda name: (unit_of(name) == "GB/s", counts[name]), default="")


def _cells(mine: Mapping[Pair, Told], fabric: Fabric, name: str) -> tuple[dict[Pair, Cell], float, bool]:
    """Cells by pair, what is expected of most, and whether that is only the middle of the pairs."""
    expected = {pair: expected_of(fabric, name, pair) for pair in mine}
    known = [value for value in expected.values() if value == value]
    by_equals = False
    if not known and len(mine) >= ENOUGH_EQUALS and unit_of(name) == "GB/s":
        middle = _middle([one.worst for one in mine.values()])
        expected, known, by_equals = dict.fromkeys(mine, middle), [middle], middle == middle
    cells = {pair: _cell(one, expected[pair]) for pair, one in mine.items()}
    return cells, _middle(known), by_equals


Placed = TypeVar("Placed")


def pointed_out(cells: Mapping[Placed, Cell]) -> tuple[dict[Placed, Cell], float]:
    """The cells with the low ones marked, and the share below which they are low.

    The worst of many windows is low everywhere where others use the paths too: a pair is pointed out when it is low
    against the middle pair as well. Of a few pairs none is the middle.
    """
    shares = [cell.share for cell in cells.values() if cell.share == cell.share]
    middle = median(shares) if len(shares) >= ENOUGH_EQUALS else 1.0
    below = LOW_BELOW * min(1.0, middle)
    return {at: replace(cell, is_low=cell.share < below or cell.is_wrong) for at, cell in cells.items()}, below


def _middle(values: Iterable[float]) -> float:
    known = [value for value in values if value == value]
    return median(known) if known else math.nan


def _cell(told: Told, expected: float) -> Cell:
    share = told.worst / expected if expected > 0 else math.nan
    return Cell(share, told.worst, told.trials, told.failed == told.trials, told.wrong > 0)


def _worse(one: Cell, other: Cell) -> Cell:
    """Two pairs of ends between the same nodes as one cell."""
    first = other if one.worst != one.worst or other.share < one.share else one
    return Cell(
        first.share,
        first.worst,
        one.trials + other.trials,
        one.is_silent and other.is_silent,
        one.is_wrong or other.is_wrong,
    )


def _hosts(
    measurements: Measurements, fabric: Fabric, node: NodeId, gpus: tuple[ComponentId, ...]
) -> tuple[tuple[Cell | None, ...], float]:
    told = {gpu: one for (probe, gpu), one in measurements.from_host(node).items() if probe == "h2d"}
    if not told:
        return (), LOW_BELOW
    cells, below = pointed_out({gpu: _cell(one, expected_of(fabric, "h2d", (gpu,))) for gpu, one in told.items()})
    return tuple(cells.get(gpu) for gpu in gpus), below


@lru_cache(256)
def _probe(name: str) -> Probe | None:
    """The probe of a name; None for one that this version lacks. Loaded late: the first frame needs no probes."""
    from ...probes.catalogue import CATALOGUE

    return CATALOGUE.get(name.partition("@")[0])


def _title(name: str) -> str:
    probe = _probe(name)
    return probe.title if probe is not None else name


def unit_of(name: str) -> str:
    """`GB/s`, `us` or `check`; a probe that this version lacks is taken to measure bandwidth."""
    probe = _probe(name)
    return str(probe.measure) if probe is not None else "GB/s"


def expected_of(fabric: Fabric, name: str, targets: tuple[ComponentId, ...]) -> float:
    """What healthy parts measure, GB/s; NaN where nobody knows, and for what is no bandwidth."""
    probe = _probe(name)
    if probe is None or str(probe.measure) != "GB/s":
        return math.nan
    return probe.expected(fabric, targets)
