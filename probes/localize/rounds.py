"""Candidate rounds: sets of trials that share no exclusive part, by construction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...incident.ids import ComponentId, NodeId
from ...topology.fabric import Fabric
from .parts import Parts, ProbePath

MATCHINGS = 2
"""Fresh random matchings a node and decision, beside the factors."""

NodeRound = tuple[ProbePath, ...]


def pair_rounds(parts: Parts, probe: str, gpus: Sequence[ComponentId], rng: np.random.Generator) -> Iterator[NodeRound]:
    """Disjoint pairs of a node's GPUs: all factors of the circle method in both directions, and random matchings."""
    pairings = [*circle(len(gpus)), *(_matching(len(gpus), rng) for _ in range(MATCHINGS))]
    for pairing in pairings:
        for turned in (False, True):
            chosen = [(gpus[b], gpus[a]) if turned else (gpus[a], gpus[b]) for a, b in pairing]
            found = tuple(path for pair in chosen if (path := parts.by_target.get((probe, pair))) is not None)
            if found:
                yield found


def single_rounds(parts: Parts, fabric: Fabric, probe: str, gpus: Sequence[ComponentId]) -> Iterator[NodeRound]:
    """Host copies to a node's GPUs, one GPU at a time below a root port: copies through one link would halve."""
    below: dict[object, list[ComponentId]] = {}
    for gpu in gpus:
        chain = fabric.chain(gpu)
        below.setdefault(chain[-1] if chain else gpu, []).append(gpu)
    for turn in range(max(map(len, below.values()), default=0)):
        chosen = [sharing[turn % len(sharing)] for sharing in below.values()]
        found = tuple(path for gpu in chosen if (path := parts.by_target.get((probe, (gpu,)))) is not None)
        if found:
            yield found


def circle(count: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """All rounds of the circle method: every pair of `count` players meets once; with an odd count one sits out."""
    seats: list[int | None] = [*range(count), *([None] if count % 2 else [])]
    for _ in range(len(seats) - 1):
        pairs = zip(seats[: len(seats) // 2], reversed(seats), strict=False)
        yield tuple((a, b) for a, b in pairs if a is not None and b is not None)
        seats = [seats[0], *seats[2:], seats[1]]


def _matching(count: int, rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    order = [int(number) for number in rng.permutation(count)]
    return tuple(zip(order[::2], order[1::2], strict=False))


def rounds_of(
    parts: Parts, fabric: Fabric, probe: str, node: NodeId, usable: Sequence[ComponentId], rng: np.random.Generator
) -> list[NodeRound]:
    """All candidate rounds of one probe on one node, over its usable GPUs."""
    lengths = {len(path.targets) for path in parts.paths if path.probe == probe and path.node == node}
    if lengths == {2}:
        return list(pair_rounds(parts, probe, usable, rng))
    return list(single_rounds(parts, fabric, probe, usable))
