"""A cell's runs in figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from .cells import Cell
from .runs import Run


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of the table. Seconds are simulated."""

    cell: Cell
    runs: int
    right: int
    exact: int
    wrong: int
    """Runs that named a part which has nothing to do with any fault."""
    seconds: float
    """Until the verdict was known, median."""
    p90: float
    ended: float
    """Until the end, median."""
    launching: float
    """Median seconds of it that went into launching rounds."""
    rounds: float
    probes: float
    one_at_a_time: float
    """Median seconds where one pair of nodes is tested at a time; NaN where nobody does so."""
    deciding_ms: tuple[float, float]
    """Of computing each round: median and longest; NaN for strategies that have nothing to compute."""
    learning_ms: tuple[float, float]


def summary(cell: Cell, runs: Sequence[Run]) -> Summary:
    """The figures of a cell's runs, of which there must be one at least."""
    after = [run.verdict_after for run in runs]
    alone = [run.one_at_a_time for run in runs if run.one_at_a_time is not None]
    return Summary(
        cell=cell,
        runs=len(runs),
        right=sum(run.right for run in runs),
        exact=sum(run.exact for run in runs),
        wrong=sum(run.accused > 0 for run in runs),
        seconds=median(after),
        p90=float(np.percentile(after, 90)),
        ended=median(run.seconds for run in runs),
        launching=median(run.launching for run in runs),
        rounds=median(run.rounds for run in runs),
        probes=median(run.probes for run in runs),
        one_at_a_time=median(alone) if alone else math.nan,
        deciding_ms=_over_runs(run.deciding_ms for run in runs),
        learning_ms=_over_runs(run.learning_ms for run in runs),
    )


def _over_runs(found: Iterable[tuple[float, float] | None]) -> tuple[float, float]:
    """Median of the runs' medians, and the longest of all."""
    known = [times for times in found if times is not None]
    if not known:
        return math.nan, math.nan
    return median(middle for middle, _ in known), max(longest for _, longest in known)
