"""Halving: a collective operation of all, then of both halves, and on with the worse one (naive group testing).

Every step is tried up to three times until something is bad.
"""

from __future__ import annotations

import numpy as np

from ..arena import Arena
from ..outcome import Outcome
from .ending import ended, examined
from .units import Unit, nodes_of, units
from .votes import BAD_BELOW

TRIES = 3
SMALLEST = 2
"""Units left where halving ends: one alone has nobody to talk to."""
PARTNERS = 3


def bisection(arena: Arena, rng: np.random.Generator) -> Outcome:
    """Halves down to two units, then sweeps their nodes."""
    every = units(arena.cluster)
    left = [every[at] for at in rng.permutation(len(every))]
    if _worst_of(arena, [left]) is None:
        return ended(arena, None, healthy=True)
    while len(left) > SMALLEST:
        halves = [left[: len(left) // 2], left[len(left) // 2 :]]
        worst = _worst_of(arena, halves)
        if worst is None:
            return ended(arena, None, healthy=False)
        left = halves[worst]
    accused = nodes_of(left)
    others = [node for node in nodes_of(every) if node not in accused]
    sound = [others[at] for at in rng.permutation(len(others))[:PARTNERS]]
    return examined(arena, accused, sound)


def _worst_of(arena: Arena, groups: list[list[Unit]]) -> int | None:
    """The group that does worst as soon as one does badly; None where none does in all tries."""
    for _ in range(TRIES):
        averages = arena.together([[gpu for unit in group for gpu in unit] for group in groups])
        if min(averages) < BAD_BELOW:
            return int(np.argmin(averages))
    return None
