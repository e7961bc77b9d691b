"""How fast error counters move now, for all parts of a node at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...incident.events import Field
from ...incident.ids import ComponentId
from ...incident.snapshot import NodeView, Series
from ...signals.counters import is_error_counter
from ...signals.rates import moved_columns, rates_of

WINDOW = 10.0
"""Seconds over which a rate on a drawing is taken: long enough that a burst is seen, short enough to be now."""

_columns: dict[int, tuple[tuple[Field, ...], npt.NDArray[np.intp]]] = {}


def error_columns(series: Series) -> npt.NDArray[np.intp]:
    """Positions of error counters in the vectors; kept per schema, which stays the same object from tick to tick."""
    kept = _columns.get(id(series.fields))
    if kept is None or kept[0] is not series.fields:
        found = np.array([at for at, field in enumerate(series.fields) if is_error_counter(field.name)], dtype=np.intp)
        if len(_columns) > 4096:
            _columns.clear()
        kept = _columns[id(series.fields)] = (series.fields, found)
    return kept[1]


def error_rates(view: NodeView, window: float = WINDOW) -> dict[ComponentId, float]:
    """Errors a second of each part of the node whose error counters moved; parts that stand still are left out."""
    rates: dict[ComponentId, float] = {}
    for series in view.series.values():
        moved = moved_columns(series, error_columns(series), window)
        for column, rate in zip(moved, rates_of(series, moved, window).tolist() if moved else (), strict=True):
            if rate > 0:
                part = series.fields[column].component
                rates[part] = rates.get(part, 0.0) + rate
    return rates
