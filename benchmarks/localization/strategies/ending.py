"""How strategies of today's practice end: with what they name, and the bill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from ....incident.ids import NodeId
from ..arena import Arena
from ..outcome import Named, Outcome
from ..schedules import between, catalogue
from .votes import Votes


def ended(arena: Arena, named: Named | None, healthy: bool, one_at_a_time: float = math.nan) -> Outcome:
    """The outcome at this moment of the arena."""
    return Outcome(
        named=() if named is None else (named,),
        healthy=healthy,
        named_after=math.nan if named is None else arena.seconds,
        seconds=arena.seconds,
        launching=arena.launching,
        rounds=arena.rounds,
        probes=arena.probes,
        one_at_a_time=one_at_a_time,
    )


def examined(arena: Arena, suspects: Sequence[NodeId], sound: Sequence[NodeId]) -> Outcome:
    """Every trial within the suspected nodes once, and each of them with every sound one; the votes name the part."""
    votes = Votes(arena.cluster)
    for shots in catalogue(arena.cluster, suspects):
        votes.add(shots, arena.averages(shots))
    for suspect, other in product(suspects, sound) if arena.cluster.across is not None else ():
        shots = between(arena.cluster, suspect, other)
        votes.add(shots, arena.averages(shots))
    return ended(arena, votes.winner(), healthy=False)
