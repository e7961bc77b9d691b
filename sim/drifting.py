"""An on/off process that is not the same for long: the share of time it is on changes every so many seconds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from .draws import uniform
from .onoff import Edges, OnOff

FACTORS = (1.0, 2.0, 1.0, 0.5)
"""By which the duty differs from one spell to the next, over and over."""
MOST_DUTY = 0.95


class Drifting:
    """As `OnOff`; every `spell` seconds its duty goes on to the next of `FACTORS`, from a drawn one on.

    Each factor has a process of its own; a spell's edge may cut a burst short.
    """

    def __init__(self, duty: float, burst: float, spell: float, *keys: object) -> None:
        self._spell = spell
        self._first = int(uniform("drift", *keys) * len(FACTORS))
        processes = {
            factor: OnOff(min(duty * factor, max(duty, MOST_DUTY)), burst, *keys, factor) for factor in set(FACTORS)
        }
        self._processes = [processes[factor] for factor in FACTORS]
        self._seconds_of = lru_cache(maxsize=65536)(lambda spell: self._of(spell).seconds_on(*self._span(spell)))
        self._count_of = lru_cache(maxsize=65536)(lambda spell: self._of(spell).count(*self._span(spell)))

    def is_on(self, time: float) -> bool:
        """Whether it is on at a time."""
        return self._of(math.floor(time / self._spell)).is_on(time)

    def steady(self, since: float, until: float) -> bool | None:
        """Whether it is on, or off, from one time to another; None where it changes, or may."""
        found = {self._of(spell).steady(begin, end) for spell, begin, end in self._spells(since, until)}
        return found.pop() if len(found) == 1 else None

    def seconds_on(self, since: float, until: float) -> float:
        """How many of the seconds between two times it is on."""
        return self._sum(OnOff.seconds_on, self._seconds_of, since, until)

    def count(self, since: float, until: float) -> int:
        """How many bursts begin between two times."""
        return int(self._sum(OnOff.count, self._count_of, since, until))

    def shares_on(self, edges: Edges) -> Edges:
        """Share of each window between consecutive `edges` (seconds) during which it is on; 0 of an empty one."""
        on, widths = np.zeros(len(edges) - 1), np.diff(edges)
        for spell, begin, end in self._spells(float(edges[0]), float(edges[-1])):
            clipped = np.clip(edges, begin, end)
            on += self._of(spell).shares_on(clipped) * np.diff(clipped)
        shares: Edges = np.divide(on, widths, out=np.zeros_like(on), where=widths > 0)
        return shares

    def bursts(self, since: float, until: float) -> Edges:
        """Times in [since, until) at which a burst begins."""
        found = [self._of(spell).bursts(begin, end) for spell, begin, end in self._spells(since, until)]
        return np.concatenate(found) if found else np.zeros(0)

    def _of(self, spell: int) -> OnOff:
        return self._processes[(spell + self._first) % len(self._processes)]

    def _span(self, spell: int) -> tuple[float, float]:
        return spell * self._spell, (spell + 1) * self._spell

    def _spells(self, since: float, until: float) -> Iterator[tuple[int, float, float]]:
        """Number and part of each spell between two times."""
        for spell in range(math.floor(since / self._spell), math.floor(until / self._spell) + 1):
            begin, end = self._span(spell)
            yield spell, max(begin, since), min(end, until)

    def _sum(
        self,
        within: Callable[[OnOff, float, float], float],
        whole: Callable[[int], float],
        since: float,
        until: float,
    ) -> float:
        if until <= since:
            return 0.0
        return sum(
            whole(spell) if (begin, end) == self._span(spell) else within(self._of(spell), begin, end)
            for spell, begin, end in self._spells(since, until)
        )
