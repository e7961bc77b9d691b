"""Which of several equals says otherwise: the few against most, or a difference where there is no majority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)
P = TypeVar("P", bound=Hashable)

FEWEST = 3
"""Equals below which nobody is the odd one out."""


@dataclass(frozen=True, slots=True)
class Difference(Generic[P, V]):
    """What equals that don't agree say."""

    said: Mapping[P, V]
    usual: V | None
    """What more than half of at least FEWEST say; None where nobody can be called odd."""

    @property
    def odd(self) -> tuple[P, ...]:
        """Those that say otherwise than most; empty where there is no such majority."""
        return () if self.usual is None else tuple(part for part, value in self.said.items() if value != self.usual)

    @property
    def usual_ones(self) -> tuple[P, ...]:
        """Those that say what most say."""
        return () if self.usual is None else tuple(part for part, value in self.said.items() if value == self.usual)


def difference(said: Mapping[P, V]) -> Difference[P, V] | None:
    """None where all say the same."""
    counts = Counter(said.values())
    if len(counts) < 2:
        return None
    value, most = counts.most_common(1)[0]
    has_majority = len(said) >= FEWEST and 2 * most > len(said)
    return Difference(dict(said), value if has_majority else None)
