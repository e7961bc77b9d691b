"""All error counters of the fleet or of one node, worst first, without one object a counter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...incident.ids import ComponentId, NodeId
from ...incident.snapshot import Series, Snapshot
from ...signals.counters import plain_name
from ...signals.rates import per_second, window_start
from ..theme import Mark
from .error_rates import WINDOW, error_columns
from .fleet_view import matches
from .words import label

TRACE = 60


@dataclass(frozen=True)
class CounterRow:
    """One line of the table, made when it comes into view."""

    mark: Mark
    node: NodeId
    where: str
    counter: str
    total: float
    per_second: float
    steps: tuple[float, ...]


@dataclass(frozen=True)
class CounterTable:
    """Where each row is found: series and column, in the order of the table."""

    series: tuple[tuple[NodeId, Series], ...]
    owners: npt.NDArray[np.intp]
    """Of each row: position in `series` ..."""
    columns: npt.NDArray[np.intp]
    """... and column in its vectors."""
    moving: int
    """How many of the first rows move."""
    known: int
    """Error counters in all, before the filter."""

    def __len__(self) -> int:
        return len(self.columns)

    def part(self, number: int) -> tuple[NodeId, ComponentId]:
        """Whose counter a row is."""
        node, series = self.series[int(self.owners[number])]
        return node, series.fields[int(self.columns[number])].component

    def row(self, number: int) -> CounterRow:
        """One line with its rate and its last minute."""
        column = int(self.columns[number])
        node, series = self.series[int(self.owners[number])]
        field = series.fields[column]
        values = np.array([sample[column] for sample in series.samples[-TRACE - 1 :]])
        speed = per_second(series, field.component, field.name, WINDOW)
        steps = np.maximum(np.diff(values), 0.0)
        mark = Mark.WARN if speed > 0 else Mark.UNKNOWN if values[-1] != values[-1] else Mark.OK
        return CounterRow(
            mark,
            node,
            label(field.component),
            plain_name(field.name),
            float(values[-1]),
            speed,
            tuple(float(s) for s in steps),
        )


def counter_table(
    snapshot: Snapshot, nodes: Iterable[NodeId] | None = None, pattern: str = "", moving_only: bool = False
) -> CounterTable:
    """Counters that move now first, the fastest on top; then those that ever counted; then the rest.

    `pattern` keeps rows whose node, part or counter holds it (`!` before it: those that don't).
    """
    chosen = list(snapshot.nodes) if nodes is None else list(nodes)
    series = tuple((node, one) for node in chosen for one in snapshot.nodes[node].series.values())
    known = sum(len(error_columns(one)) for _, one in series)
    parts = [_ranked(at, node, one, pattern) for at, (node, one) in enumerate(series)]
    if not parts:
        return CounterTable((), np.array([], dtype=np.intp), np.array([], dtype=np.intp), 0, 0)
    owners, columns, speeds, totals = (np.concatenate(piece) for piece in zip(*parts, strict=True))
    order = np.lexsort((columns, owners, -totals, -speeds))
    if moving_only:
        order = order[speeds[order] > 0]
    return CounterTable(series, owners[order], columns[order], int((speeds > 0).sum()), known)


def _ranked(at: int, node: NodeId, series: Series, pattern: str) -> tuple[npt.NDArray[np.float64 | np.intp], ...]:
    """Of the counters of one series: owner, column, rise over the window, total."""
    columns = error_columns(series)
    if pattern:
        columns = _matching(node, series, columns, pattern)
    return (np.full(len(columns), at, dtype=np.intp), columns, *_speeds(series, columns))


def _speeds(series: Series, columns: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Rise over the window and newest value of each column; what is missing sorts last."""
    last = series.last[columns]
    before = series.samples[window_start(series.times, WINDOW)][columns]
    rise = np.where(last >= before, last - before, last)
    return np.where(np.isnan(rise), 0.0, rise), np.where(np.isnan(last), -1.0, last)


def _matching(node: NodeId, series: Series, columns: npt.NDArray[np.intp], pattern: str) -> npt.NDArray[np.intp]:
    def text(column: int) -> str:
        field = series.fields[column]
        return f"{node} {label(field.component)} {_part(field.component)} {field.name} {plain_name(field.name)}"

    return np.array([column for column in columns.tolist() if matches(text(column), pattern)], dtype=np.intp)


def _part(component: ComponentId) -> str:
    return component.within
