"""Candidate rounds across nodes: random matchings of ends, below one leaf and over the spines.

Every end is in one trial at most, and where forwarding is told no two trials share an uplink in one direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...incident.ids import ComponentId
from ...topology.fabric import Fabric
from ...topology.routes import uplink_between
from ..probe import Probe
from .compile import ends_of
from .parts import Bools, Ints, Parts
from .tables import padded

OF_A_KIND = 2
"""Fresh matchings a decision below leaves, and as many over spines."""
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Matching:
    """Trials between pairs of ends."""

    source: Ints
    target: Ints
    """Numbers of ends."""
    columns: Ints
    """[pairs, longest] columns each crosses, padded with the number of columns."""


class NetworkRounds:
    """The ends of one probe across nodes, what lies between them, and matchings of them."""

    def __init__(self, parts: Parts, probe: Probe) -> None:
        self.probe = probe
        self._parts = parts
        self._ways = parts.ways
        fabric = parts.ways.fabric
        outs = {end: self._ways.compiled.out(end) for end in ends_of(probe, self._ways, parts.nodes)}
        known = {end: out for end, out in outs.items() if out is not None}
        self.ends: tuple[ComponentId, ...] = tuple(known)
        """Those of which it is told by which NIC they leave."""
        number = {node: at for at, node in enumerate(parts.nodes)}
        self._nodes = np.array([number[end.node] for end in self.ends], dtype=np.int64)
        leaves = [out.leaf for out in known.values()]
        self._leaves = tuple(dict.fromkeys(leaf for leaf in leaves if leaf is not None))
        spines = tuple(dict.fromkeys(out.spine for out in known.values() if out.spine is not None))
        place = {leaf: at for at, leaf in enumerate(self._leaves)}
        behind = {spine: at for at, spine in enumerate(spines)}
        self._leaf = np.array([place.get(leaf, NOWHERE) if leaf else NOWHERE for leaf in leaves], dtype=np.int64)
        self._spine = np.array([behind[out.spine] if out.spine else NOWHERE for out in known.values()], dtype=np.int64)
        self._out = padded([self._columns_of(out.arrays[0].tolist()) for out in known.values()], self._parts.columns)
        self._leaf_column = self._columns(self._leaves)
        self._spine_column = self._columns(spines)
        self._uplink_column = np.array([self._columns(self._uplinks(fabric, leaf, spines)) for leaf in self._leaves])
        self._spreads = np.array([fabric.spreads(leaf) for leaf in self._leaves], dtype=bool)
        self._between: dict[tuple[int, int], list[int]] = {}

    def matchings(self, usable: Bools, rng: np.random.Generator) -> list[Matching]:
        """Fresh candidates over the usable ends."""
        below = [np.flatnonzero((self._leaf == leaf) & usable) for leaf in range(len(self._leaves))]
        below = [ends for ends in below if len(ends)]
        found = [self._below_leaves(below, rng) for _ in range(OF_A_KIND)]
        found += [self._over_spines(below, rng) for _ in range(OF_A_KIND)]
        return [matching for matching in found if len(matching.source)]

    def targets(self, matching: Matching, kept: Ints) -> tuple[tuple[ComponentId, ...], ...]:
        """The ends of some of a matching's trials."""
        pairs = zip(matching.source[kept].tolist(), matching.target[kept].tolist(), strict=True)
        return tuple((self.ends[source], self.ends[target]) for source, target in pairs)

    def crossed(self, usable: Bools) -> Ints:
        """Columns that trials between usable ends cross."""
        ends = np.flatnonzero(usable)
        if not len(ends):
            return ends
        leaves = np.unique(self._leaf[ends])
        here = leaves[leaves != NOWHERE]
        network = [self._leaf_column[here], self._uplink_column[here].ravel(), self._spine_column]
        beside = [
            (int(here[at - 1]), int(leaf)) for at, leaf in enumerate(here) if len(here) > 1 and self._spreads[leaf]
        ]
        between = [self._untold(one, other) for one, other in beside]
        return np.unique(np.concatenate([self._out[ends].ravel(), *network, *map(np.array, between)]).astype(np.int64))

    def _below_leaves(self, below: Sequence[Ints], rng: np.random.Generator) -> Matching:
        halves = [_halves(rng.permutation(ends)) for ends in below]
        return self._matching([one for one, _ in halves], [other for _, other in halves])

    def _over_spines(self, below: Sequence[Ints], rng: np.random.Generator) -> Matching:
        """Leaves two by two, the ends below one with the ends below the other."""
        order = rng.permutation(len(below))
        sources, targets = [], []
        for one, other in zip(order[::2], order[1::2], strict=False):
            mine, others = rng.permutation(below[one]), rng.permutation(below[other])
            count = min(len(mine), len(others))
            sources.append(mine[:count])
            targets.append(others[:count])
        return self._matching(sources, targets)

    def _matching(self, sources: Sequence[Ints], targets: Sequence[Ints]) -> Matching:
        none = np.array([], dtype=np.int64)
        source, target = np.concatenate([none, *sources]), np.concatenate([none, *targets])
        fits = (self._nodes[source] != self._nodes[target]) & self._told(source, target)
        source, target = source[fits], target[fits]
        kept = self._alone_on_uplinks(source, target)
        source, target = source[kept], target[kept]
        columns = np.concatenate([self._out[source], self._out[target], self._core(source, target)], axis=1)
        return Matching(source, target, _each_once(columns, self._parts.columns))

    def _told(self, source: Ints, target: Ints) -> Bools:
        """Whether it is told which cables each transfer takes."""
        here, there = self._leaf[source], self._leaf[target]
        told: Bools = (here == there) | (self._spine[target] != NOWHERE) | self._spreads[here]
        return told

    def _alone_on_uplinks(self, source: Ints, target: Ints) -> Bools:
        """The first of those that would share an uplink in one direction."""
        kept = np.ones(len(source), dtype=bool)
        told = (self._spine[target] != NOWHERE) & (self._leaf[source] != self._leaf[target])
        for leaf in (self._leaf[source], self._leaf[target]):
            key = np.where(told, leaf * (len(self._spine_column) + 1) + self._spine[target], -1 - np.arange(len(leaf)))
            first = np.zeros(len(leaf), dtype=bool)
            first[np.unique(key, return_index=True)[1]] = True
            kept &= first
        return kept

    def _core(self, source: Ints, target: Ints) -> Ints:
        """[pairs, longest] columns of the network between the leaves, theirs included."""
        here, there, spine = self._leaf[source], self._leaf[target], self._spine[target]
        told = (spine != NOWHERE) & (here != there) & (here != NOWHERE) & (there != NOWHERE)
        if not told.any():
            return self._spread(here, there)
        uplinks = self._uplink_column
        by_tables = np.stack(
            [self._leaf_column[here], self._leaf_column[there], self._spine_column[spine], uplinks[here, spine],
             uplinks[there, spine]], axis=1,
        )  # fmt: skip
        if told.all():
            return by_tables
        pad = self._parts.columns
        spread = self._spread(here, there)
        return np.concatenate([np.where(told[:, None], pad, spread), np.where(told[:, None], by_tables, pad)], axis=1)

    def _spread(self, here: Ints, there: Ints) -> Ints:
        """[pairs, longest] columns between leaves when every spine may be taken; each two leaves are looked up once."""
        pairs, which = np.unique(np.stack([here, there], axis=1), axis=0, return_inverse=True)
        return padded([self._untold(one, other) for one, other in pairs.tolist()], self._parts.columns)[which]

    def _untold(self, here: int, there: int) -> list[int]:
        """Columns between two leaves when every spine may be taken."""
        found = self._between.get((here, there))
        if found is None:
            one, other = (self._leaves[at] if at != NOWHERE else None for at in (here, there))
            arrays = self._ways.compiled.between(one, other)
            found = self._columns_of([number for indices, _ in arrays for number in indices.tolist()])
            self._between[here, there] = found
        return found

    def _uplinks(self, fabric: Fabric, leaf: ComponentId, spines: Sequence[ComponentId]) -> list[ComponentId | None]:
        return [uplink_between(fabric, leaf, spine) if fabric.graph.has_edge(leaf, spine) else None for spine in spines]

    def _columns(self, components: Sequence[ComponentId | None]) -> Ints:
        """The column of each; the padding for what is no hypothesis."""
        index = self._parts.index
        at = [index.get(part, NOWHERE) if part is not None else NOWHERE for part in components]
        return np.array([self._parts.column[part] if part != NOWHERE else self._parts.columns for part in at], np.int64)

    def _columns_of(self, numbers: Sequence[int]) -> list[int]:
        components = [self._ways.components[number] for number in numbers]
        return sorted(set(self._columns(components).tolist()) - {self._parts.columns})


def _halves(order: Ints) -> tuple[Ints, Ints]:
    half = len(order) // 2
    return order[:half], order[half : 2 * half]


def _each_once(columns: Ints, pad: int) -> Ints:
    """Rows sorted, what is in them twice replaced by the padding."""
    ranked = np.sort(columns, axis=1)
    again = np.zeros(ranked.shape, dtype=bool)
    again[:, 1:] = ranked[:, 1:] == ranked[:, :-1]
    return np.where(again, pad, ranked)
