"""From a fabric and the probes that may run on it to hypotheses as arrays, once a search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...incident.ids import ComponentId, NodeId
from ...topology.compiled import Arrays
from ...topology.fabric import Fabric, natural
from ...topology.routes import uplink_between
from ..probe import Aim, Probe, Targets
from .parts import Bools, Floats, Ints, Parts
from .path_table import PathTable, ProbePath
from .sampling import sampled_pairs
from .settings import FAULT_RATES, OTHER_RATE
from .ways import Ways

KEY_SEED = 12345
"""Of the random keys by which equal columns are found."""
SHARED_KINDS = ("numa", "bridge", "leaf", "spine", "uplink")
ALL_OF_IT = 0.999

Keys = npt.NDArray[np.uint64]


def compile_parts(fabric: Fabric, nodes: Sequence[NodeId], probes: Iterable[Probe]) -> Parts:
    """Compile what these probes can see of these nodes."""
    chosen = tuple(probes)
    ways = Ways(fabric)
    within = [_Aimed(probe, targets) for probe in chosen for targets in _within(probe, fabric, nodes)]
    across = [_Aimed(probe, pair) for probe in chosen for pair in _across(probe, ways, nodes)]
    rows = _Rows.of(ways, [*within, *across])
    components = tuple(ways.components[number] for number in rows.numbers)
    kinds = [kind_in(fabric, part) for part in components]
    column, group = rows.classes()
    shares = _share_codes(rows.shares)
    first = np.unique(column, return_index=True)[1]
    index = {component: at for at, component in enumerate(components)}
    maker = _PathMaker(ways, {probe.name: probe for probe in chosen}, index, column, shares, kinds)
    paths = PathTable(maker.make)
    for path in maker.inside(within, rows, rows.shared_paths(kinds)):
        paths.add(path)
    rates = np.array([FAULT_RATES.get(kind, OTHER_RATE) for kind in kinds])
    return Parts(
        components=components,
        index=index,
        rate=rates / rates.sum() if len(rates) else rates,
        kind=_numbered(np.array(kinds)) if kinds else np.array([], dtype=np.int64),
        column=column,
        group=group,
        counted=_counted(fabric, [*within, *across], index),
        twin=_twins(fabric, components, index),
        columns=len(first),
        groups=int(group.max()) + 1 if len(group) else 0,
        column_share=rows.largest_share(column, shares, len(first)),
        column_group=group[first],
        column_shared=rows.always_shared(column, kinds, len(first)),
        shares=tuple(shares.tolist()),
        paths=paths,
        untestable=_untestable(fabric, nodes, index),
        nodes=tuple(nodes),
        ways=ways,
    )


def kind_in(fabric: Fabric, part: ComponentId) -> str:
    """What sort of part, switches of the network told apart: `leaf` where NICs are plugged in, else `spine`."""
    kind = fabric.kind_of(part) or part.kind
    if kind != "netswitch":
        return kind
    return "leaf" if any(other.kind != "node" for other in fabric.graph[part]) else "spine"


@dataclass(frozen=True, slots=True)
class _Aimed:
    probe: Probe
    targets: Targets


@dataclass(frozen=True, slots=True)
class _Rows:
    """All crossings of all sampled paths, flat."""

    numbers: Ints
    """Number, as `Ways` counts, of each part."""
    arrays: tuple[Arrays, ...]
    path: Ints
    part: Ints
    shares: Floats

    @classmethod
    def of(cls, ways: Ways, sample: Sequence[_Aimed]) -> _Rows:
        arrays = tuple(ways.of(aimed.probe, aimed.targets) for aimed in sample)
        path = np.repeat(np.arange(len(arrays)), [len(indices) for indices, _ in arrays]).astype(np.int64)
        met = np.concatenate([indices for indices, _ in arrays] or [np.array([], dtype=np.int64)]).astype(np.int64)
        shares = np.concatenate([share for _, share in arrays] or [np.array([])])
        numbers, first, part = np.unique(met, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return cls(numbers[order], arrays, path, place[part], np.round(shares, 9))

    def classes(self) -> tuple[Ints, Ints]:
        """Column and group of every part: parts are alike when random keys of their paths add up to the same.

        Columns weigh the keys with the share of the traffic, groups only with whether it is all of it.
        """
        keys = np.random.default_rng(KEY_SEED).integers(1, 2**63, len(self.arrays), dtype=np.uint64)[self.path]
        exact = self._added(keys * np.round(self.shares * 1e6).astype(np.uint64))
        coarse = self._added(keys * np.where(self.shares > ALL_OF_IT, np.uint64(2), np.uint64(1)))
        return _numbered(exact), _numbered(coarse)

    def largest_share(self, column: Ints, shares: Floats, columns: int) -> Ints:
        """[columns] code of the largest share a column carries of any path."""
        found = np.full(columns, len(shares), dtype=np.int64)
        np.minimum.at(found, column[self.part], codes_of(self.shares, shares))
        return found

    def always_shared(self, column: Ints, kinds: Sequence[str], columns: int) -> Bools:
        """[columns] whether every path across a column crosses something that others use as well."""
        found = np.ones(columns, dtype=bool)
        np.logical_and.at(found, column[self.part], self.shared_paths(kinds)[self.path])
        return found

    def shared_paths(self, kinds: Sequence[str]) -> Bools:
        """[paths] whether a path crosses something that others use as well."""
        shared_part = np.array([kind in SHARED_KINDS for kind in kinds], dtype=bool)
        found = np.zeros(len(self.arrays), dtype=bool)
        np.logical_or.at(found, self.path, shared_part[self.part])
        return found

    def _added(self, keys: Keys) -> Keys:
        total = np.zeros(len(self.numbers), dtype=np.uint64)
        np.add.at(total, self.part, keys)
        return total


@dataclass(slots=True)
class _PathMaker:
    """Makes the paths of a search; those across nodes when they are first asked for."""

    ways: Ways
    probes: dict[str, Probe]
    index: dict[ComponentId, int]
    column: Ints
    shares: Floats
    kinds: Sequence[str]
    _peers: dict[tuple[str, str, int], int] = field(default_factory=dict)
    _part_of: dict[int, int] = field(default_factory=dict)
    _counted: dict[tuple[str, ComponentId], Ints] = field(default_factory=dict)
    _platforms: dict[NodeId, str] = field(default_factory=dict)

    def make(self, index: int, probe: str, targets: Targets) -> ProbePath | None:
        """The path between two ends across nodes; None for anything else that was not known from the start."""
        found = self.probes.get(probe)
        if found is None or found.aim is not Aim.ACROSS or len(targets) != 2 or targets[0].node == targets[1].node:
            return None
        numbers, shares = self.ways.of(found, targets)
        parts = np.array([self._part(number) for number in numbers.tolist()], dtype=np.int64)
        known = parts >= 0
        parts, codes = parts[known], codes_of(np.round(shares[known], 9), self.shares)
        columns, first = np.unique(self.column[parts], return_index=True)
        is_shared = any(self.kinds[part] in SHARED_KINDS for part in parts.tolist())
        return self._path(index, found, targets, len(parts), (columns, codes[first]), is_shared)

    def inside(self, aimed: Sequence[_Aimed], rows: _Rows, shared: Bools) -> Iterator[ProbePath]:
        """The paths of the first of the sampled trials, which lie within nodes."""
        mine = rows.path < len(aimed)
        columns = int(self.column.max(initial=0)) + 1
        keys, first = np.unique(rows.path[mine] * columns + self.column[rows.part[mine]], return_index=True)
        codes = codes_of(rows.shares[mine], self.shares)[first]
        edges = np.searchsorted(keys, np.arange(len(aimed) + 1) * columns).tolist()
        lengths = np.bincount(rows.path[mine], minlength=len(aimed)).tolist()
        numbers = keys % columns
        for at, each in enumerate(aimed):
            crossed = slice(edges[at], edges[at + 1])
            found = (numbers[crossed], codes[crossed])
            yield self._path(at, each.probe, each.targets, lengths[at], found, bool(shared[at]))

    def _path(
        self, index: int, probe: Probe, targets: Targets, length: int, crossed: tuple[Ints, Ints], is_shared: bool
    ) -> ProbePath:
        node = targets[0].node
        alike = (probe.name, self._platform(node), length)
        return ProbePath(
            index=index,
            probe=probe.name,
            node=node,
            targets=targets,
            seconds=probe.seconds,
            expected=probe.expected(self.ways.fabric, targets),
            columns=crossed[0],
            shares=crossed[1],
            counted=np.concatenate([self._counts(probe, target) for target in targets]),
            peers=self._peers.setdefault(alike, len(self._peers)),
            is_shared=is_shared,
        )

    def _counts(self, probe: Probe, target: ComponentId) -> Ints:
        """Parts of a target whose counters a trial aimed at it reads."""
        found = self._counted.get((probe.name, target))
        if found is None:
            read = [self.index[part] for part in _read(probe, self.ways.fabric, target) if part in self.index]
            found = self._counted[probe.name, target] = np.array(read, dtype=np.int64)
        return found

    def _platform(self, node: NodeId) -> str:
        if node not in self._platforms:
            platform = self.ways.fabric.platform_of(node)
            self._platforms[node] = platform.key if platform else ""
        return self._platforms[node]

    def _part(self, number: int) -> int:
        """The part of a component's number; -1 for one that is none of the hypotheses."""
        found = self._part_of.get(number)
        if found is None:
            found = self._part_of[number] = self.index.get(self.ways.components[number], -1)
        return found


def codes_of(shares: Floats, known: Floats) -> Ints:
    """Share codes: places in `known`, which falls."""
    places: Ints = np.searchsorted(-known, -shares - 1e-12).astype(np.int64)
    return np.minimum(places, len(known) - 1)


def _share_codes(shares: Floats) -> Floats:
    """Shares of traffic by code, largest first; all of it is code 0."""
    falling: Floats = -np.unique(-np.append(shares, 1.0))
    return falling


def _within(probe: Probe, fabric: Fabric, nodes: Sequence[NodeId]) -> Iterator[Targets]:
    if probe.aim is not Aim.ACROSS:
        yield from (targets for node in nodes for targets in probe.targets(fabric, node))


def _across(probe: Probe, ways: Ways, nodes: Sequence[NodeId]) -> Iterator[Targets]:
    if probe.aim is Aim.ACROSS:
        yield from sampled_pairs(ways, ends_of(probe, ways, nodes))


def ends_of(probe: Probe, ways: Ways, nodes: Sequence[NodeId]) -> tuple[ComponentId, ...]:
    """The ends that a probe across nodes can pair: those of which it is told by which NIC they leave and to which leaf.

    Where nobody tells the network, trials at once would share cables unknown to us, and slow each other."""
    found = (target for node in nodes for (target,) in probe.targets(ways.fabric, node))
    outs = ((end, ways.compiled.out(end)) for end in found)
    return tuple(end for end, out in outs if out is not None and out.leaf is not None)


def _counted(fabric: Fabric, sample: Sequence[_Aimed], index: dict[ComponentId, int]) -> Bools:
    """Parts whose counters some trial reads."""
    counted = np.zeros(len(index), dtype=bool)
    asked: set[tuple[str, ComponentId]] = set()
    for aimed in sample:
        for target in aimed.targets:
            if (aimed.probe.name, target) not in asked:
                asked.add((aimed.probe.name, target))
                read = _read(aimed.probe, fabric, target)
                counted[[index[part] for part in read if part in index]] = True
    return counted


def _read(probe: Probe, fabric: Fabric, target: ComponentId) -> Iterator[ComponentId]:
    """Parts of which the counters read at a trial's edges tell: those that have them, and the cable of a NIC."""
    for part in probe.counted(fabric, (target,)):
        yield part
        cable = fabric.cable_of(part) if part.kind == "nic" else None
        if cable is not None:
            yield cable


def _twins(fabric: Fabric, components: Sequence[ComponentId], index: dict[ComponentId, int]) -> Ints:
    twin = np.arange(len(components))
    for at, part in enumerate(components):
        cable = fabric.cable_of(part) if fabric.kind_of(part) == "nic" else None
        if cable in index:
            twin[at], twin[index[cable]] = index[cable], at
    return twin


def _numbered(keys: npt.NDArray[np.generic]) -> Ints:
    """Equal keys -> equal numbers, counted from 0 in order of first appearance."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(len(first))
    return place[inverse]


def _untestable(fabric: Fabric, nodes: Sequence[NodeId], index: dict[ComponentId, int]) -> tuple[ComponentId, ...]:
    """Parts of these nodes, and of the network they are plugged into, that no probe here crosses."""
    parts: list[ComponentId] = []
    for node in nodes:
        for device in (*fabric.gpus(node), *fabric.nics(node)):
            parts += [device, device / "pcie", *fabric.lanes(device)]
        parts += [*fabric.nvswitches(node), *fabric.bridges(node)]
    leaves = {leaf for node in nodes for nic in fabric.nics(node) if (leaf := fabric.leaf_of(nic)) is not None}
    for leaf in leaves if len(nodes) > 1 else ():
        parts += [
            leaf,
            *(part for spine in fabric.uplinks(leaf) for part in (spine, uplink_between(fabric, leaf, spine))),
        ]
    return tuple(sorted({part for part in parts if part not in index}, key=natural))
