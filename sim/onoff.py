"""When a fault is on: an alternating process whose state at any time can be computed by any process."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .draws import generator

Edges = npt.NDArray[np.float64]

CYCLES_PER_BLOCK = 64


class OnOff:
    """On for exponential times of mean `burst` seconds, off in between so that it is on for a share `duty` of time.

    Time is cut into blocks of 64 mean cycles. Each block is drawn from its own number alone and starts in the
    stationary state, so the state at any time needs no history. Only the memory across a block's edge is lost.
    """

    def __init__(self, duty: float, burst: float, *keys: object) -> None:
        self._duty = duty
        self._on_mean = burst
        self._off_mean = burst * (1 - duty) / duty
        self._block = CYCLES_PER_BLOCK * (self._on_mean + self._off_mean)
        self._keys = keys
        self._edges_of = lru_cache(maxsize=256)(self._draw)
        self._seconds_of = lru_cache(maxsize=65536)(lambda block: self._seconds_within(block, *self._span(block)))
        self._count_of = lru_cache(maxsize=65536)(lambda block: self._count_within(block, *self._span(block)))

    def is_on(self, time: float) -> bool:
        """Whether it is on at a time."""
        block = math.floor(time / self._block)
        starts, ends = self._edges_of(block)
        at = time - block * self._block
        return bool(np.any((starts <= at) & (at < ends)))

    def seconds_on(self, since: float, until: float) -> float:
        """How many of the seconds between two times it is on."""
        return self._sum(self._seconds_within, self._seconds_of, since, until)

    def count(self, since: float, until: float) -> int:
        """How many bursts begin between two times."""
        return int(self._sum(self._count_within, self._count_of, since, until))

    def shares_on(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Share of each window between consecutive `edges` (seconds) during which it is on; 0 of an empty one."""
        starts, ends = self._intervals(float(edges[0]), float(edges[-1]))
        if not len(starts):
            return np.zeros(len(edges) - 1)
        overlap = np.minimum(ends[:, None], edges[None, 1:]) - np.maximum(starts[:, None], edges[None, :-1])
        on, widths = np.maximum(overlap, 0.0).sum(axis=0), np.diff(edges)
        shares: npt.NDArray[np.float64] = np.divide(on, widths, out=np.zeros_like(on), where=widths > 0)
        return shares

    def bursts(self, since: float, until: float) -> Edges:
        """Times in [since, until) at which a burst begins."""
        starts, _ = self._intervals(since, until)
        return starts[(starts >= since) & (starts < until)]

    def _intervals(self, since: float, until: float) -> tuple[Edges, Edges]:
        blocks = range(math.floor(since / self._block), math.floor(until / self._block) + 1)
        drawn = [(block * self._block, *self._edges_of(block)) for block in blocks]
        starts = np.concatenate([offset + begin for offset, begin, _ in drawn])
        ends = np.concatenate([offset + end for offset, _, end in drawn])
        meets = (ends > since) & (starts < until)
        return starts[meets], ends[meets]

    def _sum(
        self, within: Callable[[int, float, float], float], whole: Callable[[int], float], since: float, until: float
    ) -> float:
        if until <= since:
            return 0.0
        first, last = math.floor(since / self._block), math.floor(until / self._block)
        if first == last:
            return within(first, since, until)
        between = sum(whole(block) for block in range(first + 1, last))
        return within(first, since, (first + 1) * self._block) + between + within(last, last * self._block, until)

    def _seconds_within(self, block: int, since: float, until: float) -> float:
        starts, ends = self._edges_of(block)
        offset = block * self._block
        overlap = np.minimum(ends, until - offset) - np.maximum(starts, since - offset)
        return float(np.maximum(overlap, 0.0).sum())

    def _count_within(self, block: int, since: float, until: float) -> float:
        starts, _ = self._edges_of(block)
        offset = block * self._block
        return float(((starts >= since - offset) & (starts < until - offset)).sum())

    def _span(self, block: int) -> tuple[float, float]:
        return block * self._block, (block + 1) * self._block

    def _draw(self, block: int) -> tuple[Edges, Edges]:
        """Begins and ends of the block's bursts, seconds from the block's start."""
        rng = generator("onoff", *self._keys, block)
        on_first = rng.random() < self._duty
        count = 3 * CYCLES_PER_BLOCK
        on = rng.exponential(self._on_mean, count)
        off = rng.exponential(self._off_mean, count)
        if on_first:
            starts = np.concatenate([[0.0], np.cumsum(on[:-1] + off[:-1])])
        else:
            starts = np.cumsum(off) + np.concatenate([[0.0], np.cumsum(on[:-1])])
        ends = np.minimum(starts + on, self._block)
        inside = starts < self._block
        return starts[inside], ends[inside]
