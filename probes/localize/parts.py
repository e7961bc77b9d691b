"""Hypotheses: every part that the probes of the chosen nodes cross, compiled to arrays once.

A *path* is what one trial of one probe crosses. A *column* is how a part stands in all paths: parts of one column look
the same to bandwidth. A *group* is the parts that stand in the same paths, whatever share each carries: the level at
which bandwidth can convict. Parts of one column are told apart by counters alone, and only those that have some.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...incident.ids import ComponentId, NodeId
from ...topology.fabric import Fabric, natural
from ..probe import Probe
from .settings import FAULT_RATES, OTHER_RATE

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


KEY_SEED = 12345
"""Of the random keys by which equal columns are found."""
SHARED_KINDS = ("numa", "bridge")


@dataclass(frozen=True, slots=True)
class ProbePath:
    """One target of one probe."""

    index: int
    probe: str
    node: NodeId
    targets: tuple[ComponentId, ...]
    seconds: float
    expected: float
    """GB/s of a healthy one by the data sheet; NaN where nobody says."""
    columns: Ints
    shares: Ints
    """Share code of each column in this path."""
    counted: Ints
    """Parts whose counters are read."""
    peers: int
    """Paths of the same number should measure the same."""
    is_shared: bool
    """Whether other traffic than ours may cross it: sockets and PCIe bridges serve NICs and jobs as well."""


@dataclass(frozen=True, slots=True)
class Parts:
    """All hypotheses of an investigation as arrays; a part is an index into `components`."""

    components: tuple[ComponentId, ...]
    index: Mapping[ComponentId, int]
    rate: Floats
    """Prior odds of each part against its like; sums to one."""
    kind: Ints
    """Number of every part's kind: parts of one kind are equals."""
    column: Ints
    group: Ints
    counted: Bools
    """Whether some probe reads counters of the part."""
    columns: int
    groups: int
    column_share: Ints
    """Largest share code of each column."""
    column_group: Ints
    column_shared: Bools
    """Columns that only paths cross which others use as well."""
    shares: tuple[float, ...]
    """Share of traffic by share code; code 0 is all of it."""
    paths: tuple[ProbePath, ...]
    by_target: Mapping[tuple[str, tuple[ComponentId, ...]], ProbePath]
    untestable: tuple[ComponentId, ...]
    """Parts of the fabric that no probe here crosses."""

    def members(self, group: int) -> Ints:
        """Parts of a group."""
        return np.flatnonzero(self.group == group)


def compile_parts(fabric: Fabric, nodes: Sequence[NodeId], probes: Iterable[Probe]) -> Parts:
    """Compile what these probes can see of these nodes."""
    crossings = [
        (probe, node, targets, tuple(probe.exercises(fabric, targets)))
        for probe in probes
        for node in nodes
        for targets in probe.targets(fabric, node)
    ]
    components = tuple(dict.fromkeys(crossing.component for *_, path in crossings for crossing in path))
    index = {component: at for at, component in enumerate(components)}
    codes = _share_codes(crossing.share for *_, path in crossings for crossing in path)
    column, group = _classes(len(components), [[(index[c.component], c.share) for c in path] for *_, path in crossings])
    first = {int(number): at for at, number in reversed(list(enumerate(column)))}
    column_share = np.full(len(first), len(codes), dtype=np.int64)
    column_shared = np.ones(len(first), dtype=bool)
    counted = np.zeros(len(components), dtype=bool)
    peers: dict[tuple[str, str, int], int] = {}
    paths = []
    for at, (probe, node, targets, path) in enumerate(crossings):
        known = sorted({(int(column[index[c.component]]), codes[round(c.share, 9)]) for c in path})
        read = [index[part] for part in probe.counted(fabric, targets) if part in index]
        counted[read] = True
        cols, share = (np.array(values, dtype=np.int64) for values in zip(*known, strict=True))
        np.minimum.at(column_share, cols, share)
        is_shared = any(crossing.component.kind in SHARED_KINDS for crossing in path)
        column_shared[cols] &= is_shared
        paths.append(
            ProbePath(
                at, probe.name, node, targets, probe.seconds, probe.expected(fabric, targets), cols, share,
                np.array(read, dtype=np.int64), peers.setdefault(_alike(fabric, probe.name, node, path), len(peers)),
                is_shared,
            )
        )  # fmt: skip
    rates = np.array([FAULT_RATES.get(part.kind, OTHER_RATE) for part in components])
    return Parts(
        components=components,
        index=index,
        rate=rates / rates.sum() if len(rates) else rates,
        kind=_numbered([part.kind for part in components]),
        column=column,
        group=group,
        counted=counted,
        columns=len(first),
        groups=int(group.max()) + 1 if len(group) else 0,
        column_share=column_share,
        column_group=np.array([group[first[number]] for number in range(len(first))], dtype=np.int64),
        column_shared=column_shared,
        shares=tuple(codes),
        paths=tuple(paths),
        by_target={(path.probe, path.targets): path for path in paths},
        untestable=_untestable(fabric, nodes, index),
    )


def _share_codes(shares: Iterable[float]) -> dict[float, int]:
    """Share -> code, largest first."""
    return {
        share: code for code, share in enumerate(sorted({1.0, *(round(share, 9) for share in shares)}, reverse=True))
    }


def _classes(count: int, paths: Sequence[Sequence[tuple[int, float]]]) -> tuple[Ints, Ints]:
    """Column and group of every part: parts are alike when random 64-bit keys of their paths add up to the same.

    Columns weigh the keys with the share of the traffic, groups only with whether it is all of it.
    """
    keys = np.random.default_rng(KEY_SEED).integers(1, 2**63, len(paths), dtype=np.uint64)
    exact, coarse = [0] * count, [0] * count
    for key, path in zip(keys.tolist(), paths, strict=True):
        for part, share in path:
            exact[part] += key * round(share * 1e6)
            coarse[part] += key * (2 if share > 0.999 else 1)
    return _numbered(exact), _numbered(coarse)


def _numbered(keys: Sequence[Hashable]) -> Ints:
    """Equal keys -> equal numbers, counted from 0 in order of first appearance."""
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def _alike(fabric: Fabric, probe: str, node: NodeId, path: Sequence[object]) -> tuple[str, str, int]:
    """What paths that should measure the same have in common."""
    platform = fabric.platform_of(node)
    return probe, platform.key if platform else "", len(path)


def _untestable(fabric: Fabric, nodes: Sequence[NodeId], index: Mapping[ComponentId, int]) -> tuple[ComponentId, ...]:
    parts: list[ComponentId] = []
    for node in nodes:
        for device in (*fabric.gpus(node), *fabric.nics(node)):
            parts += [device, device / "pcie", *fabric.lanes(device)]
        parts += [*fabric.nvswitches(node), *fabric.bridges(node)]
    return tuple(sorted({part for part in parts if part not in index}, key=natural))
