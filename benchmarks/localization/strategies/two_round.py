"""Two rounds of a collective operation in pairs: neighbours first, then every suspect with one that did well.

A unit that did badly both times is accused, and the parts of its node are told apart by a sweep of that node. The
logic of the node check that DLRover runs before a job.
"""

from __future__ import annotations

import numpy as np

from ..arena import Arena
from ..outcome import Outcome
from .ending import ended, examined
from .units import Unit, nodes_of, units
from .votes import BAD_BELOW

PARTNERS = 2


def two_round(arena: Arena, rng: np.random.Generator) -> Outcome:
    """Accuses by two bad rounds."""
    every = units(arena.cluster)
    neighbours = [(at, at + 1) for at in range(0, len(every) - 1, 2)]
    did_well = _did_well(arena, every, neighbours) | _sitting_out(every, neighbours)
    if len(did_well) == len(every):
        return ended(arena, None, healthy=True)
    order = sorted(range(len(every)), key=lambda at: at in did_well)
    mixed = [(order[at], order[-1 - at]) for at in range(len(every) // 2)]
    did_well |= _did_well(arena, every, mixed)
    suspects = [every[at] for at in range(len(every)) if at not in did_well]
    if not suspects:
        return ended(arena, None, healthy=True)
    partners = nodes_of(every[at] for at in order[-PARTNERS:])
    accused = nodes_of(suspects)
    return examined(arena, accused, [node for node in partners if node not in accused])


def _did_well(arena: Arena, every: list[Unit], pairs: list[tuple[int, int]]) -> set[int]:
    averages = arena.together([every[one] + every[other] for one, other in pairs])
    return {at for pair, average in zip(pairs, averages, strict=True) if average >= BAD_BELOW for at in pair}


def _sitting_out(every: list[Unit], pairs: list[tuple[int, int]]) -> set[int]:
    return set(range(len(every))) - {at for pair in pairs for at in pair}
