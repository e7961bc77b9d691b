"""The log lines of all nodes on one clock, and who moved first.

Between two nodes the order is known only where the gap is wider than both clocks' uncertainty; within a node always.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isinf

from ..incident.snapshot import Snapshot
from .logs import Burst, bursts_of


@dataclass(frozen=True, slots=True)
class FirstMover:
    """The earliest of some bursts, and how sure that is."""

    burst: Burst
    rivals: tuple[Burst, ...]
    """Bursts of other nodes that may have come first: the clocks are too poor to tell."""

    @property
    def is_certain(self) -> bool:
        """True when no clock error could put another one first."""
        return not self.rivals


def timeline(snapshot: Snapshot) -> tuple[Burst, ...]:
    """All bursts of all nodes by their first line."""
    everything = [burst for view in snapshot.nodes.values() for burst in bursts_of(view)]
    return tuple(sorted(everything, key=lambda burst: burst.first))


def first_mover(bursts: Sequence[Burst]) -> FirstMover | None:
    """Who moved first among `bursts`; None of none."""
    if not bursts:
        return None
    first = min(bursts, key=lambda burst: burst.first)
    return FirstMover(first, tuple(burst for burst in bursts if burst is not first and not is_before(first, burst)))


def is_before(one: Burst, other: Burst) -> bool:
    """Whether `one` came first for certain."""
    return other.first - one.first > order_error(one, other)


def order_error(one: Burst, other: Burst) -> float:
    """By how many seconds the order of two bursts may be wrong; 0 within a node."""
    return 0.0 if one.node == other.node else one.uncertainty + other.uncertainty


def unmeasured(bursts: Iterable[Burst]) -> bool:
    """Whether any of the clocks was never measured."""
    return any(isinf(burst.uncertainty) for burst in bursts)
