"""What every path is expected to measure: its peers' median, its own lasting difference taken into account.

A path that is always three per cent slow looks exactly like a dead lane, so a small lasting difference of one path
is its baseline. What all paths of one GPU share is not: that may be the fault. The difference is shrunk by how often
the path was measured, and a large one is never a baseline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from ...incident.ids import ComponentId
from .parts import Parts, ProbePath

LEAST_SPREAD, MOST_SPREAD = 0.01, 0.03
"""Standard deviation of the lasting differences of paths that is assumed at least, and at most."""
CAP = 4.0
"""Differences above so many spreads are less and less taken for baselines, above twice as many not at all."""
POLISHES = 6
FEW = 4
"""With fewer paths measured than this, the data sheet speaks for the peers."""


@dataclass(frozen=True, slots=True)
class Baselines:
    """Log of the GB/s that each path is expected to measure."""

    expected: Mapping[int, float] = field(default_factory=dict)
    """By index of the path; only those that were measured."""
    spread: float = LEAST_SPREAD
    """Standard deviation of the paths' lasting differences, learnt."""


def learn_baselines(parts: Parts, medians: Mapping[int, tuple[float, int]], noise: float, burst: float) -> Baselines:
    """`medians`: path -> median log GB/s of all its windows, and in how many trials it was measured."""
    families: dict[int, list[int]] = {}
    for path in medians:
        families.setdefault(parts.paths[path].peers, []).append(path)
    expected: dict[int, float] = {}
    spreads = [LEAST_SPREAD]
    for family in families.values():
        centre = _centre([parts.paths[path] for path in family], medians)
        differences = {path: medians[path][0] - centre for path in family}
        own = _own_differences(parts, differences)
        trial_noise = noise * np.sqrt(burst / 16)
        spread = _spread(own, {path: medians[path][1] for path in family}, trial_noise)
        spreads.append(spread)
        for path in family:
            trust = medians[path][1] * spread**2 / (medians[path][1] * spread**2 + trial_noise**2)
            expected[path] = centre + trust * _believable(own[path], spread)
    return Baselines(expected, max(spreads))


def _centre(family: list[ProbePath], medians: Mapping[int, tuple[float, int]]) -> float:
    """What peers measure: their median, or the data sheet where they are few."""
    measured = float(np.median([medians[path.index][0] for path in family]))
    by_sheet = family[0].expected
    return measured if len(family) >= FEW or not by_sheet > 0 else float(np.log(by_sheet))


def _own_differences(parts: Parts, differences: Mapping[int, float]) -> dict[int, float]:
    """What is left of each path's difference without what its ends share with their other paths (a median polish)."""
    through: dict[ComponentId, list[int]] = {}
    for path in differences:
        for end in parts.paths[path].targets:
            through.setdefault(end, []).append(path)
    pairs = all(len(parts.paths[path].targets) > 1 for path in differences)
    if not pairs:
        return dict(differences)
    effect = {end: median(differences[path] for path in paths) / 2 for end, paths in through.items()}
    for _ in range(POLISHES):
        for end, paths in through.items():
            effect[end] += median(
                differences[path] - sum(effect[other] for other in parts.paths[path].targets) for path in paths
            )
    few = {end for end, paths in through.items() if len(paths) < 3}
    return {
        path: 0.0
        if few.intersection(parts.paths[path].targets)
        else difference - sum(effect[end] for end in parts.paths[path].targets)
        for path, difference in differences.items()
    }


def _spread(own: Mapping[int, float], trials: Mapping[int, int], trial_noise: float) -> float:
    values = np.array([own[path] for path in own])
    measured = 1.4826 * float(np.median(np.abs(values)))
    sampling = trial_noise**2 / float(np.mean([trials[path] for path in own]))
    return float(np.clip(np.sqrt(max(0.0, measured**2 - sampling)), LEAST_SPREAD, MOST_SPREAD))


def _believable(difference: float, spread: float) -> float:
    """The part of a difference that may be a baseline: all of a small one, nothing of a large one."""
    ratio = abs(difference) / (CAP * spread)
    return difference * float(np.clip(2.0 - ratio, 0.0, 1.0))
