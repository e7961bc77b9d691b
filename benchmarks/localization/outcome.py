"""What a strategy says in the end, and whether it is right."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from ...incident.ids import ComponentId


@dataclass(frozen=True, slots=True)
class Named:
    """A part that a strategy accuses, with those that no probe separates from it."""

    component: ComponentId
    alternatives: frozenset[ComponentId] = frozenset()

    def covers(self, part: ComponentId) -> bool:
        """Whether a part is among them."""
        return part == self.component or part in self.alternatives


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one search. Seconds are simulated probing seconds."""

    named: tuple[Named, ...]
    healthy: bool
    """Whether it calls everything healthy; with nothing named either it leaves the matter undecided."""
    named_after: float
    """Until the last part was named; NaN where none was."""
    seconds: float
    """Until the end."""
    launching: float
    """How many of these went into launching rounds."""
    rounds: int
    probes: int
    one_at_a_time: float = math.nan
    """Seconds that the same trials take where only one pair of nodes is tested at a time; NaN where nobody does so."""
    deciding: tuple[float, ...] = ()
    """Seconds of computing to choose each round."""
    learning: tuple[float, ...] = ()
    """Seconds of computing to take in each round."""

    def accused(self, guilty: Collection[ComponentId]) -> int:
        """How many of the named have nothing to do with any fault."""
        return sum(not any(named.covers(part) for part in guilty) for named in self.named)

    def found(self, guilty: Collection[ComponentId]) -> int:
        """How many faults are named, or stand among what no probe separates from a named one."""
        return sum(any(named.covers(part) for named in self.named) for part in guilty)

    def is_right(self, guilty: Collection[ComponentId]) -> bool:
        """Every fault named and nothing else; all called healthy where there is none."""
        if not guilty:
            return self.healthy and not self.named
        return self.found(guilty) == len(guilty) and not self.accused(guilty)

    def is_exact(self, guilty: Collection[ComponentId]) -> bool:
        """Right, and each named by itself."""
        return self.is_right(guilty) and {named.component for named in self.named} == set(guilty)
