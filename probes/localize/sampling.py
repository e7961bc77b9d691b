"""Pairs of ends across nodes by which parts are told apart: all of them of a few ends, a covering sample of many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from ...incident.ids import ComponentId
from .ways import Ways

ALL_PAIRS_UP_TO = 64
"""Ends of which every pair is looked at."""
MATCHINGS = 4
"""Random matchings of many ends."""
PARTNERS = 2
"""Leaves that every leaf is paired with over every spine."""
SEED = 977

Pair = tuple[ComponentId, ComponentId]


def sampled_pairs(ways: Ways, ends: Sequence[ComponentId]) -> Iterator[Pair]:
    """Ordered pairs of ends on different nodes. Every end is in one, every leaf reaches every spine in some."""
    if len(ends) <= ALL_PAIRS_UP_TO:
        every = ((one, other) for one in ends for other in ends if one.node != other.node)
        yield from (pair for pair in every if may_pair(ways, *pair))
        return
    rng = np.random.default_rng(SEED)
    below = _below(ways, ends)
    groups = [group for group in below.values() if len(group) > 1]
    for _ in range(MATCHINGS):
        for group in (ends, *groups):
            order = rng.permutation(len(group))
            pairs = ((group[one], group[other]) for one, other in zip(order, np.roll(order, 1), strict=True))
            yield from _fit(ways, pairs)
    yield from _fit(ways, _over_every_spine(ways, below, rng))


def may_pair(ways: Ways, source: ComponentId, target: ComponentId) -> bool:
    """Whether it is told which cables a transfer takes: below one leaf, by a told spine, or by all at once.

    Trials whose cables are unknown may share one, and slow each other for no fault."""
    out, into = ways.compiled.out(source), ways.compiled.out(target)
    if out is None or into is None or out.leaf is None or into.leaf is None:
        return False
    return out.leaf == into.leaf or into.spine is not None or ways.fabric.spreads(out.leaf)


def _fit(ways: Ways, pairs: Iterator[Pair]) -> Iterator[Pair]:
    return (pair for pair in pairs if pair[0].node != pair[1].node and may_pair(ways, *pair))


def _below(ways: Ways, ends: Sequence[ComponentId]) -> dict[ComponentId | None, list[ComponentId]]:
    """Ends by the leaf they leave by."""
    below: dict[ComponentId | None, list[ComponentId]] = defaultdict(list)
    for end in ends:
        out = ways.compiled.out(end)
        below[out.leaf if out is not None else None].append(end)
    return below


def _over_every_spine(
    ways: Ways, below: dict[ComponentId | None, list[ComponentId]], rng: np.random.Generator
) -> Iterator[Pair]:
    """From every leaf to a few others, to a destination behind each spine that traffic is told to take."""
    leaves = list(below)
    for leaf, ends in below.items():
        others = [leaves[int(at)] for at in rng.permutation(len(leaves))[: PARTNERS + 1]]
        for other in others:
            if other == leaf:
                continue
            for end in _one_a_spine(ways, below[other]):
                yield ends[int(rng.integers(len(ends)))], end
                yield end, ends[int(rng.integers(len(ends)))]


def _one_a_spine(ways: Ways, ends: Sequence[ComponentId]) -> Iterator[ComponentId]:
    """The first end behind each spine."""
    seen: set[ComponentId | None] = set()
    for end in ends:
        out = ways.compiled.out(end)
        spine = out.spine if out is not None else None
        if spine not in seen:
            seen.add(spine)
            yield end
