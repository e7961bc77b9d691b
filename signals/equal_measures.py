"""One measurement a node, or a GPU: which lie well below those that were measured alike, by median and MAD."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from ..incident.ids import ComponentId, gpu_id
from ..parsers.bandwidth.gpu_burn import BurnWindow
from ..parsers.bandwidth.nccl_tests import CollectiveRank
from ..parsers.table import Table
from .cells import named_node, numbered_part, value_in
from .column_names import Role, measured_column, role_of
from .identity import cached_by_identity
from .pair_measures import largest_message
from .readings import Readings, Witness
from .slow_pairs import DEVIATIONS, LEAST, MAD_TO_DEVIATION

FEWEST = 5
"""Equal parts below which there is no yardstick: with four, two slow ones would be the median's half."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What one part reached."""

    part: ComponentId
    value: float
    id: str


@dataclass(frozen=True, slots=True)
class Equals:
    """Parts that were measured alike."""

    what: str
    more_is_better: bool
    measures: tuple[Measure, ...]
    """One for each part."""

    @property
    def typical(self) -> float:
        """Their median."""
        return median(one.value for one in self.measures)

    @property
    def slow(self) -> tuple[Measure, ...]:
        """Those well below the median; none where it is not known what is usual."""
        if len(self.measures) < FEWEST:
            return ()
        typical, better = self.typical, 1 if self.more_is_better else -1
        spread = MAD_TO_DEVIATION * median(abs(one.value - typical) for one in self.measures)
        margin = max(LEAST * typical, DEVIATIONS * spread)
        return tuple(one for one in self.measures if better * (typical - one.value) > margin)


@cached_by_identity(4)
def equals_measured(readings: Readings) -> tuple[Equals, ...]:
    """All sets of equal parts."""
    return tuple(_all_equals(readings))


def _all_equals(readings: Readings) -> Iterator[Equals]:
    for witness in readings.of(Table):
        yield from _in_table(witness)
    yield from _collectives(readings)
    for output in readings.printed_by("gpu-burn"):
        windows = [one for one in output.readings if isinstance(one, BurnWindow) and one.gflops > 0 and not one.died]
        last = {one.gpu: one for one in windows}
        measures = tuple(Measure(gpu_id(output.node, gpu), one.gflops, output.id) for gpu, one in last.items())
        yield Equals("Gflop/s in gpu-burn", True, measures)


def _in_table(witness: Witness[Table]) -> Iterator[Equals]:
    """A row a node, or a GPU, with one measurement."""
    columns = witness.reading.columns
    roles = [role_of(name) for name in columns]
    measured = measured_column(columns)
    nodes, gpus = roles.count(Role.NODE), roles.count(Role.GPU)
    if measured is None or nodes > 1 or gpus > 1 or not nodes + gpus or Role.LINK in roles or Role.END in roles:
        return
    conditions = [at for at, role in enumerate(roles) if role is Role.CONDITION]
    alike: dict[tuple[str, ...], dict[ComponentId, list[float]]] = {}
    for row in witness.reading.rows:
        part, value = _part(row, roles, witness), value_in(row[measured[0]])
        if part is not None and value is not None and value > 0:
            alike.setdefault(tuple(row[at] for at in conditions), {}).setdefault(part, []).append(value)
    for told in alike.values():
        measures = tuple(Measure(part, median(values), witness.id) for part, values in told.items())
        yield Equals(columns[measured[0]], measured[1] is Role.RATE, measures)


def _part(row: tuple[str, ...], roles: list[Role], witness: Witness[Table]) -> ComponentId | None:
    node = named_node(row[roles.index(Role.NODE)]) if Role.NODE in roles else witness.node
    if node is None or Role.GPU not in roles:
        return node
    gpu = numbered_part(row[roles.index(Role.GPU)], "gpu")
    return gpu_id(node, gpu) if gpu is not None else None


def _collectives(readings: Readings) -> Iterator[Equals]:
    """The same collective on one node at a time."""
    alike: dict[tuple[str, ...], list[Measure]] = {}
    for output in readings.printed_by("nccl-tests"):
        hosts = {one.host for one in output.readings if isinstance(one, CollectiveRank)}
        node = named_node(next(iter(hosts))) if len(hosts) == 1 else None
        measured = largest_message(output)
        if node is not None and measured is not None:
            alike.setdefault(measured[0], []).append(Measure(node, measured[1], output.id))
    for told, measures in alike.items():
        latest = {one.part: one for one in measures}
        yield Equals(f"busbw of {told[0] or 'a collective'}, GB/s", True, tuple(latest.values()))
