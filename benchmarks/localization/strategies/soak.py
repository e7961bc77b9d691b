"""Half an hour of everything over and over, then an exact binomial test of every class of parts.

Stronger than what is shipped: burn-in tests run as long, and leave the reading to people.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from statistics import median

import numpy as np
import numpy.typing as npt

from ..arena import Arena
from ..cluster import Shot
from ..intervals import tail
from ..outcome import Outcome
from ..schedules import catalogue, node_pairs
from .ending import ended
from .votes import BAD_BELOW, Votes, named

SOAK_SECONDS = 1800.0
ERROR = 0.05
"""Chance of accusing anybody on healthy nodes, by Bonferroni over all classes of parts."""
LEAST_RATE = 1e-3
"""Share of healthy trials taken to be bad at least."""

Floats = npt.NDArray[np.float64]


def soak(arena: Arena, rng: np.random.Generator) -> Outcome:
    """Everything for half an hour, then the class with the least likely count, where it is unlikely enough."""
    votes, trials = Votes(arena.cluster), _Trials()
    rounds = [*catalogue(arena.cluster, arena.cluster.nodes), *node_pairs(arena.cluster)]
    for shots in itertools.cycle(rounds):
        averages = arena.averages(shots)
        votes.add(shots, averages)
        trials.add(shots, averages)
        if arena.seconds >= SOAK_SECONDS:
            break
    counts = zip(votes.bad, votes.crossed, trials.usual(votes), strict=True)
    logs = np.array([tail(int(bad), int(crossed), usual) for bad, crossed, usual in counts])
    if logs.min() > math.log(ERROR / len(logs)):
        return ended(arena, None, healthy=True)
    least = np.flatnonzero(logs <= logs.min() + 1e-9)
    ratios = votes.bad / np.maximum(votes.crossed, 1)
    return ended(arena, named(arena.cluster, int(least[ratios[least].argmax()])), healthy=False)


class _Trials:
    """How often each trial ran, and how often it was bad."""

    def __init__(self) -> None:
        self._ran: Counter[Shot] = Counter()
        self._bad: Counter[Shot] = Counter()

    def add(self, shots: Iterable[Shot], averages: Iterable[float]) -> None:
        """Take in trials with their averages."""
        for shot, average in zip(shots, averages, strict=True):
            self._ran[shot] += 1
            self._bad[shot] += average < BAD_BELOW

    def usual(self, votes: Votes) -> Floats:
        """Share of bad trials to be expected of each class: of every probe, what its median target shows."""
        shares: dict[str, list[float]] = {}
        for shot, ran in self._ran.items():
            shares.setdefault(shot[0], []).append(self._bad[shot] / ran)
        usual = {probe: max(LEAST_RATE, median(found)) for probe, found in shares.items()}
        expected = np.zeros_like(votes.crossed)
        for shot, ran in self._ran.items():
            expected[votes.cluster.columns(shot)] += ran * usual[shot[0]]
        found: Floats = expected / np.maximum(votes.crossed, 1)
        return found
