"""What every path is expected to measure: its peers' median, its own lasting difference taken into account.

A path that is always three per cent slow looks exactly like a dead lane, so a small lasting difference of one path
is its baseline. What all paths of one GPU share is not: that may be the fault. The difference is shrunk by how often
the path was measured, and a large one is never a baseline.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...incident.ids import ComponentId
from .likelihood import NAT
from .parts import Floats, Ints, Parts, ProbePath

LEAST_SPREAD, MOST_SPREAD = 0.01, 0.03
"""Standard deviation of the lasting differences of paths that is assumed at least, and at most."""
CAP = 4.0
"""Differences above so many spreads are less and less taken for baselines, above twice as many not at all."""
POLISHES = 6
FEW = 4
"""With fewer paths measured than this, the data sheet speaks for the peers."""
ALL_SLOW = 0.16
"""Log bandwidth by which all peers of a lone node must stay behind the data sheet for it to be believed instead."""
FEW_THROUGH = 3
"""With fewer paths measured through an end than this, what it shares with them can't be told from their own."""


@dataclass(frozen=True, slots=True)
class Baselines:
    """What each path is expected to measure."""

    expected: Mapping[int, int] = field(default_factory=dict)
    """Log GB/s in micro-units, by index of the path; only those that were measured."""
    spread: float = LEAST_SPREAD
    """Standard deviation of the paths' lasting differences, learnt."""


def learn_baselines(
    parts: Parts, medians: Mapping[int, tuple[float, int]], noise: float, burst: float, suspected: Collection[int]
) -> Baselines:
    """`medians`: path -> median log GB/s of all its windows, and in how many trials it was measured.

    `suspected`: paths across what is believed in most; they don't say what is usual."""
    families: dict[int, list[ProbePath]] = {}
    for path in medians:
        families.setdefault(parts.paths[path].peers, []).append(parts.paths[path])
    expected: dict[int, int] = {}
    spreads = [LEAST_SPREAD]
    trial_noise = noise * np.sqrt(burst / 16)
    for family in families.values():
        measured = np.array([medians[path.index][0] for path in family])
        trials = np.array([medians[path.index][1] for path in family])
        centre = _centre(family, measured, suspected)
        own = _own_differences(family, measured - centre)
        spread = _spread(own, trials, trial_noise)
        spreads.append(spread)
        trust = trials * spread**2 / (trials * spread**2 + trial_noise**2)
        levels = np.round((centre + trust * _believable(own, spread)) * NAT).astype(np.int64)
        expected.update(zip((path.index for path in family), levels.tolist(), strict=True))
    return Baselines(expected, max(spreads))


def _centre(family: Sequence[ProbePath], measured: Floats, suspected: Collection[int]) -> float:
    """What peers measure: their median, or the data sheet where they are few, or where it says that all are slow."""
    by_sheet = family[0].expected
    told = math.log(by_sheet) if by_sheet > 0 else math.nan
    if len(family) < FEW and not math.isnan(told):
        return told
    innocent = [at for at, path in enumerate(family) if path.index not in suspected]
    usual = float(np.median(measured[innocent] if len(innocent) >= FEW else measured))
    return told if told - usual > ALL_SLOW and _on_one_node(family) else usual


def _on_one_node(family: Sequence[ProbePath]) -> bool:
    """Whether what all of them share may be at fault, and no other node tells what is usual."""
    return len({end.node for path in family for end in path.targets}) == 1


def _own_differences(family: Sequence[ProbePath], differences: Floats) -> Floats:
    """What is left of each path's difference without what its ends share with their other paths (a median polish)."""
    if not all(len(path.targets) == 2 for path in family):
        return differences.copy()
    numbers: dict[ComponentId, int] = {}
    ends = np.array([[numbers.setdefault(end, len(numbers)) for end in path.targets] for path in family])
    through = ends.T.ravel()
    effect = _medians(through, np.tile(differences, 2)) / 2
    for _ in range(POLISHES):
        left = differences - effect[ends].sum(axis=1)
        effect = effect + _medians(through, np.tile(left, 2)) / 2
    few = np.bincount(through) < FEW_THROUGH
    return np.where(few[ends].any(axis=1), 0.0, differences - effect[ends].sum(axis=1))


def _medians(groups: Ints, values: Floats) -> Floats:
    """Median of the values of each group, by its number."""
    order = np.lexsort((values, groups))
    ranked, counts = values[order], np.bincount(groups)
    start = np.cumsum(counts) - counts
    middle: Floats = (ranked[start + (counts - 1) // 2] + ranked[start + counts // 2]) / 2
    return middle


def _spread(own: Floats, trials: Ints, trial_noise: float) -> float:
    measured = 1.4826 * float(np.median(np.abs(own)))
    sampling = trial_noise**2 / float(np.mean(trials))
    return float(np.clip(np.sqrt(max(0.0, measured**2 - sampling)), LEAST_SPREAD, MOST_SPREAD))


def _believable(difference: Floats, spread: float) -> Floats:
    """The part of each difference that may be a baseline: all of a small one, nothing of a large one."""
    believed: Floats = difference * np.clip(2.0 - np.abs(difference) / (CAP * spread), 0.0, 1.0)
    return believed
