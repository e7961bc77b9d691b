"""The engine's inference on rounds that it doesn't choose: the whole catalogue, and nodes in random pairs, in cycles.

What is left of the difference to the product's engine is the choice of the rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ..arena import Arena
from ..outcome import Outcome
from ..schedules import Round, catalogue, random_pairs
from .engine import Search

BUDGET = 900.0
PAIRINGS = 4
"""Rounds between nodes in every cycle."""


def fixed(arena: Arena, rng: np.random.Generator) -> Outcome:
    """Cycles until the engine would stop."""
    rounds = _cycles(arena, rng)
    return Search(arena, BUDGET, lambda plan: next(rounds), int(rng.integers(2**31))).run()


def _cycles(arena: Arena, rng: np.random.Generator) -> Iterator[Round]:
    within, across = catalogue(arena.cluster, arena.cluster.nodes), random_pairs(arena.cluster, rng)
    while True:
        cycle = [*within, *islice(across, PAIRINGS)]
        yield from (cycle[at] for at in rng.permutation(len(cycle)))
