"""Noisy binary search (Burnashev, Zigangirov): one trial at a time, each the one whose answer tells most.

A trial is bad or not, by its average and a threshold. A fault makes the trials that cross it bad with an unknown
chance, one of a few; healthy ones are bad now and then. Of use where only one pair may be disturbed: it takes few
trials and many rounds.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import numpy.typing as npt

from ..arena import Arena
from ..cluster import Cluster, Shot
from ..outcome import Outcome
from ..schedules import catalogue, node_pairs
from .ending import ended
from .votes import BAD_BELOW, named

BUDGET = 3600.0
CHANCES = np.array([0.98, 0.5, 0.2, 0.05, 0.02])
"""Chances that a fault makes a trial bad."""
CHANCE_HEALTHY = 2e-3
NO_FAULT = 0.5
ACCUSE, ACQUIT = 0.99, 0.95
PAIRINGS = 24
"""Rounds of pairs of nodes whose trials are candidates, of those of a sweep."""

Floats = npt.NDArray[np.float64]


def noisy_binary_search(arena: Arena, rng: np.random.Generator) -> Outcome:
    """Greedy by information until a class of parts is sure enough, or nothing is."""
    search = _Search(arena.cluster)
    while arena.seconds < BUDGET:
        at = search.most_telling(rng)
        (average,) = arena.averages([search.shots[at]])
        search.learn(at, average < BAD_BELOW)
        if search.classes.max() >= ACCUSE:
            return ended(arena, named(arena.cluster, int(search.classes.argmax())), healthy=False)
        if search.no_fault >= ACQUIT:
            return ended(arena, None, healthy=True)
    return ended(arena, None, healthy=False)


class _Search:
    """What is believed of every class of parts, and what each trial would tell."""

    def __init__(self, cluster: Cluster) -> None:
        rounds = [*catalogue(cluster, cluster.nodes), *islice(node_pairs(cluster), PAIRINGS)]
        self.shots: list[Shot] = list(dict.fromkeys(shot for shots in rounds for shot in shots))
        self._columns = [cluster.columns(shot) for shot in self.shots]
        self._flat = np.concatenate(self._columns)
        self._starts = np.cumsum([0, *(len(columns) for columns in self._columns[:-1])])
        prior = np.bincount(cluster.parts.column, cluster.parts.rate, cluster.parts.columns)
        prior[np.setdiff1d(np.arange(len(prior)), self._flat)] = 0.0  # what no trial crosses is not searched
        prior /= prior.sum()
        self._belief: Floats = np.outer(prior, np.full(len(CHANCES), 1 / len(CHANCES))) * (1 - NO_FAULT)
        self.no_fault = NO_FAULT

    @property
    def classes(self) -> Floats:
        """Probability of every class."""
        total: Floats = self._belief.sum(axis=1)
        return total

    def most_telling(self, rng: np.random.Generator) -> int:
        """The trial with the most expected information; of equals any."""
        crossed = self._crossing(self.classes)
        bad = self._crossing(self._belief @ CHANCES) + (1 - crossed) * CHANCE_HEALTHY
        within = self._crossing(self._belief @ _entropy(CHANCES)) + (1 - crossed) * _entropy(np.array(CHANCE_HEALTHY))
        gains = _entropy(bad) - within
        best = np.flatnonzero(gains >= gains.max() * (1 - 1e-9))
        return int(rng.choice(best))

    def learn(self, at: int, is_bad: bool) -> None:
        """Take in one trial."""
        healthy = CHANCE_HEALTHY if is_bad else 1 - CHANCE_HEALTHY
        ratios = np.ones_like(self._belief)
        ratios[self._columns[at]] = (CHANCES if is_bad else 1 - CHANCES) / healthy
        self._belief *= ratios
        total = float(self._belief.sum()) + self.no_fault
        self._belief /= total
        self.no_fault /= total

    def _crossing(self, weights: Floats) -> Floats:
        """Sum over the classes that each trial crosses."""
        total: Floats = np.add.reduceat(weights[self._flat], self._starts)
        return np.clip(total, 0.0, 1.0)


def _entropy(chance: Floats) -> Floats:
    """Nats of a coin."""
    safe = np.clip(chance, 1e-12, 1 - 1e-12)
    found: Floats = -(safe * np.log(safe) + (1 - safe) * np.log1p(-safe))
    return found
