"""Which nodes explain the slow pairs: whoever is fast with anyone is acquitted, and what remains is intersected.

Source: causes.md, "Node against network": pair each suspect with nodes known to be good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from statistics import median

from ..incident.ids import ComponentId
from .identity import cached_by_identity
from .pair_measures import Compared, Pair

LEAST = 0.07
"""Share by which slow lies below fast at least: where Azure's node checks fail a part against its fleet."""
DEVIATIONS = 5.0
"""Robust standard deviations of the fast below their median at which something is slow."""
MAD_TO_DEVIATION = 1.4826
MOST_TOLD = 64
"""Words of a table about slow pairs that are held against the fast ones."""
FEWEST_FAST = 2
"""Fast values below which there is no yardstick."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column of a table and a value in it that slow pairs have."""

    column: str
    value: str
    fast: tuple[Pair, ...]
    """Fast pairs that have it as well: it can't be what makes a pair slow."""

    @property
    def splits(self) -> bool:
        """Whether every slow pair has it and no fast one, so that it explains them as well as any node does."""
        return not self.fast


@dataclass(frozen=True, slots=True)
class Reckoning:
    """What one set of pairs says of its nodes."""

    compared: Compared
    typical: float
    """The median of the fast pairs."""
    fast: tuple[Pair, ...]
    slow: tuple[Pair, ...]
    acquitted: frozenset[ComponentId]
    """Fast with someone."""
    convicted: Mapping[ComponentId, tuple[Pair, ...]]
    """Slow with parts that are fast with others, and fast with nobody."""
    unsplit: tuple[Pair, ...]
    """Neither end is fast with anyone, nor convicted: either may be at fault, or both."""
    between: tuple[Pair, ...]
    """Both ends are fast with others: what lies between them is slow, or comes and goes."""
    attributes: tuple[Attribute, ...]

    @property
    def best_partner(self) -> ComponentId | None:
        """The part to pair a suspect with: fast, and slow with nobody where there is such a one."""
        clear = self.acquitted - {end for pair in self.slow for end in pair.ends} or self.acquitted
        best = sorted(self.fast, key=lambda pair: pair.value, reverse=self.compared.more_is_better)
        return next((end for pair in best for end in pair.ends if end in clear), None)

    def pairs_of(self, part: ComponentId) -> tuple[Pair, ...]:
        """All pairs with the part at one end."""
        return tuple(pair for pair in self.compared.pairs if part in pair.ends)


@cached_by_identity(64)
def reckon(compared: Compared) -> Reckoning | None:
    """What follows from the pairs; None where they are all alike, or nothing parts fast from slow."""
    speeds = [_speed(pair, compared) for pair in compared.pairs]
    limit = slow_limit(speeds)
    if limit is None:
        return None
    fast = tuple(pair for pair, speed in zip(compared.pairs, speeds, strict=True) if speed > limit)
    slow = tuple(pair for pair, speed in zip(compared.pairs, speeds, strict=True) if speed <= limit)
    acquitted = frozenset(end for pair in fast for end in pair.ends)
    convicted: dict[ComponentId, list[Pair]] = {}
    for pair in slow:
        open_ends = [end for end in pair.ends if end not in acquitted]
        if len(open_ends) == 1:
            convicted.setdefault(open_ends[0], []).append(pair)
    return Reckoning(
        compared=compared,
        typical=median(pair.value for pair in fast),
        fast=fast,
        slow=slow,
        acquitted=acquitted,
        convicted={part: tuple(pairs) for part, pairs in convicted.items()},
        unsplit=tuple(pair for pair in slow if not any(end in acquitted or end in convicted for end in pair.ends)),
        between=tuple(pair for pair in slow if acquitted.issuperset(pair.ends)),
        attributes=tuple(_attributes(fast, slow)),
    )


def slow_limit(speeds: Sequence[float]) -> float | None:
    """The speed at and below which something is slow: there is a gap, and what is above it lies close together."""
    ordered = sorted(speeds)
    gaps = [(log(after / before), at) for at, (before, after) in enumerate(pairwise(ordered), start=1)]
    widest, at = max(gaps, default=(0.0, 0))
    fast = ordered[at:]
    if widest < -log(1 - LEAST) or len(fast) < FEWEST_FAST:
        return None
    centre = median(fast)
    spread = MAD_TO_DEVIATION * median(abs(speed - centre) for speed in fast)
    limit = centre - max(LEAST * centre, DEVIATIONS * spread)
    return limit if ordered[at - 1] <= limit else None


def _speed(pair: Pair, compared: Compared) -> float:
    return pair.value if compared.more_is_better else 1 / pair.value


def _attributes(fast: Sequence[Pair], slow: Sequence[Pair]) -> Iterator[Attribute]:
    """What slow pairs have in common by the table, or could be thought to be slow for."""
    told = {(column, value) for pair in slow for column, value in pair.told.items()}
    for column, value in sorted(told)[:MOST_TOLD]:
        having = tuple(pair for pair in fast if pair.told.get(column) == value)
        if having or (all(pair.told.get(column) == value for pair in slow) and len(slow) > 1):
            yield Attribute(column, value, having)
