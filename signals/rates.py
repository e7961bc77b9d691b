"""Differences of counters over time: a standing total is not a rate.

A falling value is a reset (driver reload, counter cleared) and counts from zero. NaN is missing and stays missing: a
counter without two readings in the window has no increase, rather than one of zero. A change of schema starts a new
`Series`, so no difference ever spans it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..incident.ids import ComponentId
from ..incident.snapshot import Series, Vector

NAN = float("nan")

QUIET = 5.0
"""Seconds without a move that end a burst."""


@dataclass(frozen=True, slots=True)
class Rise:
    """How one counter moved within a window."""

    total: float
    """By how much, resets taken into account."""
    seconds: float
    """Between the first and the last reading of the window that were not missing."""
    steps: int
    """Readings at which it had moved."""
    bursts: int
    """Runs of such readings with quiet between them: a storm of a thousand errors in two seconds is one."""
    resets: int
    first_move: float
    """Time of the first reading that had moved; 0 where it stood still."""
    last_move: float
    """Time of the last reading that had moved; 0 where it stood still."""
    at: tuple[int, ...]
    """Positions in the series of the readings that show the rise: before its first move and at its last one."""


def increase(series: Series, component: ComponentId, name: str, window: float | None = None) -> float:
    """By how much a counter rose in the last `window` seconds (all that is held without one); NaN where unknown."""
    at = series.index.get((component, name))
    rise = None if at is None else rise_of(series, at, window)
    return NAN if rise is None else rise.total


def per_second(series: Series, component: ComponentId, name: str, window: float | None = None) -> float:
    """The mean rate of a counter over the last `window` seconds; NaN where unknown."""
    at = series.index.get((component, name))
    rise = None if at is None else rise_of(series, at, window)
    return NAN if rise is None or rise.seconds <= 0 else rise.total / rise.seconds


def rise_of(series: Series, column: int, window: float | None = None) -> Rise | None:
    """How the counter in one column of the vectors moved; None with fewer than two readings in the window."""
    start = window_start(series.times, window)
    values = np.array([sample[column] for sample in series.samples[start:]])
    seen = np.flatnonzero(~np.isnan(values))
    if len(seen) < 2:
        return None
    values = values[seen]
    steps = np.diff(values)
    falls = steps < 0
    steps = np.where(falls, values[1:], steps)
    moved = np.flatnonzero(steps > 0)
    times = [series.times[start + int(i)] for i in seen]
    return Rise(
        total=float(steps.sum()),
        seconds=times[-1] - times[0],
        steps=len(moved),
        bursts=_bursts([times[int(i) + 1] for i in moved]),
        resets=int(falls.sum()),
        first_move=times[int(moved[0]) + 1] if len(moved) else 0.0,
        last_move=times[int(moved[-1]) + 1] if len(moved) else 0.0,
        at=(start + int(seen[moved[0]]), start + int(seen[moved[-1] + 1])) if len(moved) else (),
    )


def rates_of(series: Series, columns: Sequence[int], window: float | None = None) -> Vector:
    """The mean rate of each of some counters: what `rise_of` says, for many at once; NaN where unknown."""
    start = window_start(series.times, window)
    seconds = series.times[-1] - series.times[start]
    if seconds <= 0:
        return np.full(len(columns), NAN)
    readings = np.array([sample[list(columns)] for sample in series.samples[start:]])
    steps = np.diff(readings, axis=0)
    rates: Vector = np.where(steps < 0, readings[1:], steps).sum(axis=0) / seconds
    for at in np.flatnonzero(np.isnan(readings).any(axis=0)):
        rise = rise_of(series, columns[int(at)], window)
        rates[at] = NAN if rise is None or rise.seconds <= 0 else rise.total / rise.seconds
    return rates


def moved_columns(series: Series, columns: npt.NDArray[np.intp], window: float | None = None) -> list[int]:
    """Which of the columns read differently at the two ends of the window, or are missing at one end only.

    This is the cheap question asked of thousands of counters a tick; the few it names are looked at with `rise_of`. A
    counter that was reset and came back to exactly its old value within the window is not seen.
    """
    start = window_start(series.times, window)
    before, after = series.samples[start][columns], series.last[columns]
    differs = (before != after) & ~(np.isnan(before) & np.isnan(after))
    return [int(column) for column in columns[differs]]


def rough_rises(series: Series, columns: npt.NDArray[np.intp], window: float | None = None) -> Vector:
    """How far each counter rose by the ends of the window alone: NaN where either is missing, a fall counts from zero.

    Good enough for a yardstick over many equal parts; `rise_of` is exact for one.
    """
    start = window_start(series.times, window)
    before, after = series.samples[start][columns], series.last[columns]
    return np.where(after < before, after, after - before)


def latest_step(series: Series) -> Vector:
    """Per column: newest value minus the one before it, NaN where either is missing or there is only one sample."""
    if len(series.samples) < 2:
        return np.full(len(series.fields), NAN)
    return series.samples[-1] - series.samples[-2]


def window_start(times: Sequence[float], window: float | None) -> int:
    """Position of the first sample that lies within `window` seconds of the newest."""
    return 0 if window is None else min(bisect_left(times, times[-1] - window), len(times) - 1)


def _bursts(moves: Sequence[float]) -> int:
    return sum(later - earlier > QUIET for earlier, later in pairwise(moves)) + 1 if moves else 0
