"""Every trial once, then votes: the pairwise tests of cluster suites, all pairs of nodes by the circle method.

Suites without rounds test one pair of nodes at a time; the verdict is the same, and what it takes is told beside.
"""

from __future__ import annotations

import math

import numpy as np

from ..arena import Arena
from ..outcome import Outcome
from ..schedules import catalogue, node_pairs
from .ending import ended
from .votes import Votes


def sweep(arena: Arena, rng: np.random.Generator) -> Outcome:
    """Full catalogue within all nodes, then all pairs of nodes."""
    votes = Votes(arena.cluster)
    for shots in catalogue(arena.cluster, arena.cluster.nodes):
        votes.add(shots, arena.averages(shots))
    alone = arena.seconds
    for shots in node_pairs(arena.cluster):
        before = arena.seconds
        votes.add(shots, arena.averages(shots))
        pairs = {frozenset(target.node for target in targets) for _, targets in shots}
        alone += (arena.seconds - before) * len(pairs)
    winner = votes.winner()
    return ended(arena, winner, winner is None, alone if arena.cluster.across is not None else math.nan)
