"""When a fault is on: an alternating process whose state at any time can be computed by any process."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .draws import generator

Edges = npt.NDArray[np.float64]

CYCLES_PER_BLOCK = 64
MOST_BLOCKS = 256
"""Kept drawn."""
MOST_SUMS = 65536
"""Of whole blocks, kept."""


class Block(NamedTuple):
    """Begins and ends of the bursts in one block, seconds from the block's start: for sums, and for looking one up."""

    starts: Edges
    ends: Edges
    listed_starts: list[float]
    listed_ends: list[float]


class OnOff:
    """On for exponential times of mean `burst` seconds, off in between so that it is on for a share `duty` of time.

    Time is cut into blocks of 64 mean cycles. Each block is drawn from its own number alone and starts in the
    stationary state, so the state at any time needs no history. Only the memory across a block's edge is lost.
    """

    __slots__ = ("_block", "_duty", "_keys", "_known", "_off_mean", "_on_mean", "_spell", "_sums")

    def __init__(self, duty: float, burst: float, *keys: object) -> None:
        self._duty = duty
        self._on_mean = burst
        self._off_mean = burst * (1 - duty) / duty
        self._block = CYCLES_PER_BLOCK * (self._on_mean + self._off_mean)
        self._keys = keys
        self._known: dict[int, Block] = {}
        self._sums: dict[int, tuple[float, int]] = {}
        self._spell = (math.inf, -math.inf, False)
        """The one last asked for: transfers come one after the other."""

    def is_on(self, time: float) -> bool:
        """Whether it is on at a time."""
        block = math.floor(time / self._block)
        starts, ends, *_ = self._drawn(block)
        at = time - block * self._block
        return bool(np.any((starts <= at) & (at < ends)))

    def steady(self, since: float, until: float) -> bool | None:
        """Whether it is on, or off, from one time to another; None where it changes."""
        begin, end, on = self._spell
        if not begin <= since <= until <= end:
            begin, end, on = self._spell = self._spell_at(since)
        return on if until <= end else None

    def _spell_at(self, time: float) -> tuple[float, float, bool]:
        """Begin, end and state of the spell around a time, cut at the block's edges."""
        block = math.floor(time / self._block)
        _, _, starts, ends = self._drawn(block)
        offset = block * self._block
        following = bisect_right(ends, time - offset)
        if following < len(starts) and starts[following] <= time - offset:
            return offset + starts[following], offset + ends[following], True
        begin = ends[following - 1] if following else 0.0
        end = starts[following] if following < len(starts) else self._block
        return offset + begin, offset + end, False

    def seconds_on(self, since: float, until: float) -> float:
        """How many of the seconds between two times it is on."""
        return self._sum(self._seconds_within, 0, since, until)

    def count(self, since: float, until: float) -> int:
        """How many bursts begin between two times."""
        return int(self._sum(self._count_within, 1, since, until))

    def shares_on(self, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Share of each window between consecutive `edges` (seconds) during which it is on; 0 of an empty one."""
        since, until = float(edges[0]), float(edges[-1])
        on = self.steady(since, until)
        if on is not None:
            return np.where(np.diff(edges) > 0, float(on), 0.0)
        starts, ends = self._intervals(since, until)
        overlap = np.minimum(ends[:, None], edges[None, 1:]) - np.maximum(starts[:, None], edges[None, :-1])
        seconds, widths = np.maximum(overlap, 0.0).sum(axis=0), np.diff(edges)
        shares: npt.NDArray[np.float64] = np.divide(seconds, widths, out=np.zeros_like(seconds), where=widths > 0)
        return shares

    def bursts(self, since: float, until: float) -> Edges:
        """Times in [since, until) at which a burst begins."""
        starts, _ = self._intervals(since, until)
        return starts[(starts >= since) & (starts < until)]

    def _intervals(self, since: float, until: float) -> tuple[Edges, Edges]:
        blocks = range(math.floor(since / self._block), math.floor(until / self._block) + 1)
        drawn = [(block * self._block, self._drawn(block)) for block in blocks]
        starts = np.concatenate([offset + found.starts for offset, found in drawn])
        ends = np.concatenate([offset + found.ends for offset, found in drawn])
        meets = (ends > since) & (starts < until)
        return starts[meets], ends[meets]

    def _sum(self, within: Callable[[int, float, float], float], place: int, since: float, until: float) -> float:
        """`place`: which of the sums of whole blocks it is."""
        if until <= since:
            return 0.0
        first, last = math.floor(since / self._block), math.floor(until / self._block)
        if first == last:
            return within(first, since, until)
        between = sum(self._whole(block)[place] for block in range(first + 1, last))
        return within(first, since, (first + 1) * self._block) + between + within(last, last * self._block, until)

    def _whole(self, block: int) -> tuple[float, int]:
        """Seconds on, and bursts, in a block."""
        found = self._sums.get(block)
        if found is None:
            if len(self._sums) >= MOST_SUMS:
                self._sums.clear()
            span = block * self._block, (block + 1) * self._block
            found = self._sums[block] = self._seconds_within(block, *span), int(self._count_within(block, *span))
        return found

    def _seconds_within(self, block: int, since: float, until: float) -> float:
        starts, ends, *_ = self._drawn(block)
        offset = block * self._block
        overlap = np.minimum(ends, until - offset) - np.maximum(starts, since - offset)
        return float(np.maximum(overlap, 0.0).sum())

    def _count_within(self, block: int, since: float, until: float) -> float:
        starts = self._drawn(block).starts
        offset = block * self._block
        return float(((starts >= since - offset) & (starts < until - offset)).sum())

    def _drawn(self, block: int) -> Block:
        found = self._known.get(block)
        if found is None:
            if len(self._known) >= MOST_BLOCKS:
                self._known.clear()
            found = self._known[block] = self._draw(block)
        return found

    def _draw(self, block: int) -> Block:
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
        starts, ends = starts[inside], ends[inside]
        return Block(starts, ends, starts.tolist(), ends.tolist())
