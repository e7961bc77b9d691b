"""Counting bad trials by the parts they cross: what test suites conclude from averages and a threshold."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..cluster import Cluster, Shot
from ..outcome import Named

BAD_BELOW = 0.85
"""Share of the expected bandwidth below which a trial is bad."""
LEAST_VOTES = 2
"""Bad trials below which nobody is accused."""
MANY = 0.5
"""Share of the most votes from which a part's hit ratio counts."""


class Votes:
    """How many trials crossed each class of parts, and how many of these were bad."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.bad = np.zeros(cluster.parts.columns)
        self.crossed = np.zeros(cluster.parts.columns)
        self._prior = np.bincount(cluster.parts.column, cluster.parts.rate, cluster.parts.columns)

    def add(self, shots: Iterable[Shot], averages: Iterable[float]) -> None:
        """Take in trials with their averages, as shares of what was expected."""
        for shot, average in zip(shots, averages, strict=True):
            columns = self.cluster.columns(shot)
            self.crossed[columns] += 1
            self.bad[columns] += average < BAD_BELOW

    def winner(self) -> Named | None:
        """The parts most of whose trials were bad, of those with many bad ones; None where there are too few.

        Of several, those with more bad trials, then those that fail more often.
        """
        most = self.bad.max(initial=0.0)
        if most < LEAST_VOTES:
            return None
        many = self.bad >= max(LEAST_VOTES, MANY * most)
        ratios = np.where(many, self.bad / np.maximum(self.crossed, 1), -1.0)
        best = np.flatnonzero(ratios >= ratios.max() - 1e-9)
        return named(self.cluster, int(best[np.lexsort((self._prior[best], self.bad[best]))[-1]]))


def named(cluster: Cluster, column: int) -> Named:
    """The likeliest part of a class, with all that no probe separates from it."""
    parts = cluster.parts
    members = np.flatnonzero(parts.column == column)
    first = int(members[parts.rate[members].argmax()])
    alike = parts.members(int(parts.group[first]))
    return Named(parts.components[first], frozenset(parts.components[at] for at in alike.tolist()))
