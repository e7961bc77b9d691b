"""Before any trial: which parts the allowed probes can tell apart, which only in groups, and what would split these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...incident.ids import ComponentId, NodeId
from ...topology.fabric import Fabric
from ..probe import Aim, Probe
from .baselines import Baselines
from .compile import compile_parts, kind_in
from .likelihood import tables
from .parts import Parts
from .posterior import resolved
from .settings import MODES, Settings
from .words import next_test

Make = tuple[tuple[str, int], ...]
"""How many parts of which kind, kinds by name."""

TARGETS_LOOKED_AT = 64
"""Of a probe that only people start, to see what it crosses."""


@dataclass(frozen=True, slots=True)
class KindCount:
    """How the parts of one kind can be told apart."""

    kind: str
    parts: int
    alone: int
    """By bandwidth alone."""
    by_counters: int
    """Bandwidth sees their group; only their own counters tell them apart."""
    in_groups: tuple[tuple[int, int], ...]
    """(size of the group, parts that stand in such): nothing tells them from the rest of it."""
    untestable: int
    """No trial crosses them."""


@dataclass(frozen=True, slots=True)
class GroupSort:
    """Groups of one make, of parts that no bandwidth tells apart."""

    make: Make
    counted: int
    """Members that have counters of their own."""
    count: int
    """How many such groups there are on a node."""
    example: tuple[ComponentId, ...]
    """The members of one."""
    tests: tuple[str, ...]
    """Swaps and readings that would split it, in words."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Nodes whose parts are told apart in the same way."""

    nodes: tuple[NodeId, ...]
    """Empty for the parts between nodes."""
    kinds: tuple[KindCount, ...]
    """Of each node."""
    groups: tuple[GroupSort, ...]


@dataclass(frozen=True, slots=True)
class Faint:
    """Faults of a kind of part that bandwidth can't show, at the noise that is expected."""

    kind: str
    share: float
    """Of a transfer's bytes, what one part carries at most."""
    duty: float
    """Faults that come and go are not seen where they are on for at most this share of the time; 0: all are seen."""
    drop: float
    """Lasting faults are not seen where the part loses at most this share of its traffic; 0: all are seen."""
    counted: bool
    """Whether all of them have counters, which may still show it."""


@dataclass(frozen=True, slots=True)
class Separability:
    """What some probes can tell apart of some nodes."""

    alike: tuple[Alike, ...]
    faint: tuple[Faint, ...]


@dataclass(frozen=True, slots=True)
class Gain:
    """What one probe of the catalogue adds to the others that may run."""

    probe: str
    title: str
    allowed: bool
    """Whether it may run now; otherwise this is what it would add."""
    searches: bool
    """Whether a search starts it; the others only people do."""
    reached: Make
    """Parts that only it crosses."""
    alone: Make
    """Parts that are told apart by bandwidth alone only with it."""
    crosses: tuple[str, ...]
    """Kinds of parts on its way."""


def separability(fabric: Fabric, parts: Parts, nodes: Sequence[NodeId], settings: Settings) -> Separability:
    """What can be told apart of these compiled parts; nodes that are alike stand together."""
    groups, untestable = _by_place(fabric, parts, nodes)
    places: dict[object, list[NodeId]] = {}
    for node in nodes:
        places.setdefault(_pattern(fabric, parts, groups[node], untestable[node]), []).append(node)
    found = [
        _alike(fabric, parts, tuple(same), groups[same[0]], untestable[same[0]])
        for same in places.values()
        if groups[same[0]] or untestable[same[0]]
    ]
    if groups[None] or untestable[None]:
        found.append(_alike(fabric, parts, (), groups[None], untestable[None]))
    return Separability(tuple(found), tuple(_faint(fabric, parts, settings)))


def gains(
    fabric: Fabric, nodes: Sequence[NodeId], allowed: Mapping[str, Probe], catalogue: Mapping[str, Probe]
) -> tuple[Gain, ...]:
    """What every probe of the catalogue that can be aimed at these nodes adds, or would add if it were allowed."""
    searching = {name: probe for name, probe in allowed.items() if probe.searches}
    whole = compile_parts(fabric, nodes, searching.values())
    found = []
    for name, probe in catalogue.items():
        if not _can_aim(fabric, nodes, probe):
            continue
        reached: Make = ()
        alone: Make = ()
        if probe.searches:
            others = {other: one for other, one in searching.items() if other != name}
            without = compile_parts(fabric, nodes, others.values()) if name in searching else whole
            with_it = whole if name in searching else compile_parts(fabric, nodes, [*others.values(), probe])
            reached = _make(fabric, set(with_it.components) - set(without.components))
            alone = _make(fabric, _told_alone(with_it) - _told_alone(without))
        crosses = _crossed(fabric, nodes, probe)
        found.append(Gain(name, probe.title, name in allowed, probe.searches, reached, alone, crosses))
    return tuple(found)


def splitters(
    fabric: Fabric,
    nodes: Sequence[NodeId],
    example: Sequence[ComponentId],
    allowed: Mapping[str, Probe],
    catalogue: Mapping[str, Probe],
) -> tuple[str, ...]:
    """Names of the probes that are not allowed now and would tell members of a group apart."""
    concerned = tuple(dict.fromkeys(part.node for part in example if part.node in nodes))
    beside = (*concerned, *(node for node in nodes if node not in concerned))[: len(concerned) + 1]
    searching = [probe for probe in allowed.values() if probe.searches]
    found = []
    for name, probe in catalogue.items():
        if name in allowed or not probe.searches or not _can_aim(fabric, beside, probe):
            continue
        parts = compile_parts(fabric, beside, [*searching, probe])
        known = [int(parts.group[parts.index[part]]) for part in example if part in parts.index]
        if len(set(known)) > 1:
            found.append(name)
    return tuple(found)


Group = tuple[ComponentId, ...]
Place = NodeId | None


def _by_place(
    fabric: Fabric, parts: Parts, nodes: Sequence[NodeId]
) -> tuple[dict[Place, list[Group]], dict[Place, list[ComponentId]]]:
    """Groups and untestable parts, node by node; None holds what lies between nodes."""
    known = set(nodes)
    groups: dict[Place, list[Group]] = {node: [] for node in (*nodes, None)}
    untestable: dict[Place, list[ComponentId]] = {node: [] for node in (*nodes, None)}
    for members in _groups(parts):
        at = {part.node for part in members}
        (place,) = at if len(at) == 1 else (None,)
        groups[place if place in known else None].append(members)
    for part in parts.untestable:
        untestable[part.node if part.node in known else None].append(part)
    return groups, untestable


def _groups(parts: Parts) -> Iterator[Group]:
    order = np.argsort(parts.group, kind="stable")
    cuts = np.flatnonzero(np.diff(parts.group[order])) + 1
    for members in np.split(order, cuts):
        if len(members):
            yield tuple(parts.components[at] for at in members)


def _pattern(fabric: Fabric, parts: Parts, groups: Sequence[Group], untestable: Sequence[ComponentId]) -> object:
    """The same for nodes whose parts are told apart in the same way."""
    makes = Counter((_make(fabric, group), _counted(parts, group)) for group in groups)
    return frozenset(makes.items()), _make(fabric, untestable)


def _alike(
    fabric: Fabric,
    parts: Parts,
    nodes: tuple[NodeId, ...],
    groups: Sequence[Group],
    untestable: Sequence[ComponentId],
) -> Alike:
    return Alike(nodes, tuple(_kinds(fabric, parts, groups, untestable)), tuple(_sorts(fabric, parts, groups)))


def _kinds(
    fabric: Fabric, parts: Parts, groups: Sequence[Group], untestable: Sequence[ComponentId]
) -> Iterator[KindCount]:
    alone: Counter[str] = Counter()
    by_counters: Counter[str] = Counter()
    grouped: dict[str, Counter[int]] = {}
    missing = Counter(kind_in(fabric, part) for part in untestable)
    for group in groups:
        for part in group:
            kind = kind_in(fabric, part)
            if len(group) == 1:
                alone[kind] += 1
            elif parts.counted[parts.index[part]]:
                by_counters[kind] += 1
            else:
                grouped.setdefault(kind, Counter())[len(group)] += 1
    for kind in dict.fromkeys([*alone, *by_counters, *grouped, *missing]):
        sizes = grouped.get(kind, Counter())
        total = alone[kind] + by_counters[kind] + sizes.total() + missing[kind]
        yield KindCount(kind, total, alone[kind], by_counters[kind], tuple(sorted(sizes.items())), missing[kind])


def _sorts(fabric: Fabric, parts: Parts, groups: Sequence[Group]) -> Iterator[GroupSort]:
    sorts: dict[tuple[Make, int], list[Group]] = {}
    for group in groups:
        if len(group) > 1:
            sorts.setdefault((_make(fabric, group), _counted(parts, group)), []).append(group)
    for (make, counted), same in sorted(sorts.items(), key=lambda item: -len(item[1]) * len(item[1][0])):
        first_of_kind = {kind_in(fabric, part): part for part in reversed(same[0])}
        tests = tuple(dict.fromkeys(next_test(kind, first_of_kind[kind]) for kind, _ in make))
        yield GroupSort(make, counted, len(same), same[0], tests)


def _make(fabric: Fabric, parts: Iterable[ComponentId]) -> Make:
    return tuple(sorted(Counter(kind_in(fabric, part) for part in parts).items()))


def _counted(parts: Parts, group: Group) -> int:
    return sum(bool(parts.counted[parts.index[part]]) for part in group)


def _told_alone(parts: Parts) -> set[ComponentId]:
    return {group[0] for group in _groups(parts) if len(group) == 1}


def _can_aim(fabric: Fabric, nodes: Sequence[NodeId], probe: Probe) -> bool:
    """Whether a probe has a target among these nodes; one across nodes needs an end on two of them."""
    ends = sum(bool(probe.targets(fabric, node)) for node in nodes)
    return ends >= (2 if probe.aim is Aim.ACROSS else 1)


def _crossed(fabric: Fabric, nodes: Sequence[NodeId], probe: Probe) -> tuple[str, ...]:
    """Kinds on the way of its first targets. A probe across nodes is looked at between ends of two of them."""
    targets = [target for node in nodes[:2] for target in probe.targets(fabric, node)[:TARGETS_LOOKED_AT]]
    if probe.aim is Aim.ACROSS:
        ends = [target[0] for target in targets]
        targets = [(ends[0], other) for other in ends if other.node != ends[0].node] if ends else []
    kinds = (kind_in(fabric, crossing.component) for target in targets for crossing in probe.exercises(fabric, target))
    return tuple(dict.fromkeys(kinds))


def _faint(fabric: Fabric, parts: Parts, settings: Settings) -> Iterator[Faint]:
    """Kinds of parts with faults that drown in noise, in others' traffic, or in what paths differ by anyhow."""
    if not len(parts.components):
        return
    seen = resolved(
        parts, tables(settings.noise, settings.outliers, parts.shares), Baselines().spread, settings.drained
    )
    own = seen[:, : len(MODES)]
    lasting = np.array([mode.duty >= 1.0 for mode in MODES])
    kinds: dict[str, list[int]] = {}
    for at, part in enumerate(parts.components):
        kinds.setdefault(kind_in(fabric, part), []).append(at)
    for kind, members in kinds.items():
        columns = np.unique(parts.column[members])
        hidden = ~own[columns].all(axis=0)
        if hidden.any():
            duty = max((mode.duty for mode in np.array(MODES)[hidden & ~lasting]), default=0.0)
            drop = max((mode.high for mode in np.array(MODES)[hidden & lasting]), default=0.0)
            share = max(parts.shares[code] for code in parts.column_share[columns].tolist())
            yield Faint(kind, share, duty, drop, bool(parts.counted[members].all()))
