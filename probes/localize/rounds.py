"""Candidate rounds within nodes: sets of trials that share no exclusive part, by construction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...incident.ids import ComponentId, NodeId
from ...topology.fabric import Fabric
from .parts import Floats, Ints, Parts
from .tables import padded

MATCHINGS = 4
"""Random matchings beside the factors of the circle method, so that partners vary."""
SEED = 271
NO_PATH = -1


@dataclass(frozen=True, slots=True)
class NodeRounds:
    """All candidates of one probe on several nodes of equal shape."""

    probe: str
    nodes: tuple[NodeId, ...]
    paths: Ints
    """[nodes, rounds, trials] index of each path; NO_PATH where a round is shorter than the longest."""

    def best(self, worth: Floats, rng: np.random.Generator) -> Ints:
        """Paths of the best round of every node, flat; chance decides between equals.

        `worth` by path, with a 0 at the end, where NO_PATH points."""
        rounds = worth[self.paths].sum(axis=-1)
        ranked = rounds * (1 + 1e-9 * rng.random(rounds.shape))
        chosen: Ints = self.paths[np.arange(len(self.nodes)), ranked.argmax(axis=1)].ravel()
        return chosen[np.flatnonzero(chosen != NO_PATH)]


def rounds_of(parts: Parts, fabric: Fabric, probe: str, nodes: Sequence[NodeId]) -> tuple[NodeRounds, ...]:
    """All candidate rounds of one probe, nodes with rounds of one shape together."""
    by_shape: dict[tuple[int, int], list[tuple[NodeId, Ints]]] = {}
    for node in nodes:
        candidates = [found for found in _of_node(parts, fabric, probe, node) if found]
        if candidates:
            paths = padded(candidates, NO_PATH)
            by_shape.setdefault((paths.shape[0], paths.shape[1]), []).append((node, paths))
    return tuple(
        NodeRounds(probe, tuple(node for node, _ in same), np.stack([paths for _, paths in same]))
        for same in by_shape.values()
    )


def circle(count: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """All rounds of the circle method: every pair of `count` players meets once; with an odd count one sits out."""
    seats: list[int | None] = [*range(count), *([None] if count % 2 else [])]
    for _ in range(len(seats) - 1):
        pairs = zip(seats[: len(seats) // 2], reversed(seats), strict=False)
        yield tuple((a, b) for a, b in pairs if a is not None and b is not None)
        seats = [seats[0], *seats[2:], seats[1]]


def _of_node(parts: Parts, fabric: Fabric, probe: str, node: NodeId) -> Iterator[list[int]]:
    gpus = fabric.gpus(node)
    if any(parts.find(probe, (gpus[0], other)) for other in gpus[1:]):
        return _pairs(parts, probe, gpus)
    return _singles(parts, fabric, probe, gpus)


def _pairs(parts: Parts, probe: str, gpus: Sequence[ComponentId]) -> Iterator[list[int]]:
    """Disjoint pairs of a node's GPUs: all factors of the circle method in both directions, and random matchings."""
    rng = np.random.default_rng(SEED)
    pairings = [*circle(len(gpus)), *(_matching(len(gpus), rng) for _ in range(MATCHINGS))]
    for pairing in pairings:
        for turned in (False, True):
            chosen = [(gpus[b], gpus[a]) if turned else (gpus[a], gpus[b]) for a, b in pairing]
            yield _known(parts, probe, chosen)


def _singles(parts: Parts, fabric: Fabric, probe: str, gpus: Sequence[ComponentId]) -> Iterator[list[int]]:
    """Trials of one GPU each, one at a time below a root port: copies through one link would halve."""
    below: dict[object, list[ComponentId]] = {}
    for gpu in gpus:
        chain = fabric.chain(gpu)
        below.setdefault(chain[-1] if chain else gpu, []).append(gpu)
    for turn in range(max(map(len, below.values()), default=0)):
        yield _known(parts, probe, [(sharing[turn % len(sharing)],) for sharing in below.values()])


def _known(parts: Parts, probe: str, targets: Iterable[tuple[ComponentId, ...]]) -> list[int]:
    return [path.index for each in targets if (path := parts.find(probe, each)) is not None]


def _matching(count: int, rng: np.random.Generator) -> tuple[tuple[int, int], ...]:
    order = [int(number) for number in rng.permutation(count)]
    return tuple(zip(order[::2], order[1::2], strict=False))
