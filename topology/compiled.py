"""Paths as arrays, for those who ask for many: the belief over a whole fleet.

What `paths.path` says, in numbers: every end's own part of the way is worked out once, every pair of leaves too, and a
path is these put together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..incident.ids import ComponentId, host_id
from .fabric import Fabric
from .paths import by_nvlink, is_switched, path, striped, switch_shares
from .routes import Leg, leave, switches_between, up_from, uplink_between

Indices: TypeAlias = npt.NDArray[np.int32]
Shares: TypeAlias = npt.NDArray[np.float64]
Arrays: TypeAlias = tuple[Indices, Shares]

MOST_PAIRS = 1 << 16
"""Pairs kept that fit into no scheme."""


@dataclass(frozen=True, slots=True)
class Out:
    """An end's way to its leaf, where it is one."""

    leaf: ComponentId | None
    spine: ComponentId | None
    """By which spine traffic to it goes, where that is told."""
    arrays: Arrays


@dataclass(frozen=True, slots=True)
class _Inside:
    """A GPU's part of a way over NVSwitches: itself, its host, its lanes; and what it sends through which switch."""

    indices: Indices
    shares: Shares
    switches: tuple[ComponentId, ...]
    switch_indices: Indices
    switch_shares: Shares
    host: ComponentId


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf with its uplinks, and the spines these lead to: leaves that look up alike share what is above them."""

    above: tuple[tuple[ComponentId, int], ...]
    """Spines by name with the number of cables to each."""
    arrays: Arrays
    spines: Arrays


class CompiledFabric:
    """Paths of one fabric as arrays; components are numbered as they are first met."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.components: list[ComponentId] = []
        """By number. Grows as paths are asked for; what is in it stays."""
        self._numbers: dict[ComponentId, int] = {}
        self._domains: dict[ComponentId, str] = {}
        self._outs: dict[ComponentId, Out | None] = {}
        self._insides: dict[ComponentId, _Inside | None] = {}
        self._switches = frozenset(fabric.netswitches)
        self._leaves: dict[ComponentId, _Leaf] = {}
        self._cores: dict[tuple[ComponentId | None, ComponentId | None, ComponentId | None], Arrays] = {}
        self._pairs: dict[tuple[ComponentId, ComponentId], Arrays] = {}

    def number(self, component: ComponentId) -> int:
        """The number of a component."""
        found = self._numbers.get(component)
        if found is None:
            found = self._numbers[component] = len(self.components)
            self.components.append(component)
        return found

    def path(self, src: ComponentId, dst: ComponentId) -> Arrays:
        """Numbers of the components a transfer crosses, and the share of it each carries."""
        if src != dst:
            if self._domain(src) == self._domain(dst):
                one, other = self._inside(src), self._inside(dst)
                if one is not None and other is not None and one.switches == other.switches:
                    return self._over_nvswitches(one, other)
            elif (out := self.out(src)) is not None and (into := self.out(dst)) is not None:
                return _joined((out.arrays, *self.between(out.leaf, into.leaf, into.spine), into.arrays))
        return self._pair(src, dst)

    def _over_nvswitches(self, one: _Inside, other: _Inside) -> Arrays:
        """Both GPUs' own parts, and each switch with the larger of their shares through it."""
        mine = slice(1, None) if one.host == other.host else slice(None)
        switches = (one.switch_indices, np.maximum(one.switch_shares, other.switch_shares))
        return _joined(((one.indices[mine], one.shares[mine]), (other.indices, other.shares), switches))

    def _pair(self, src: ComponentId, dst: ComponentId) -> Arrays:
        """Whatever else `paths` says of a pair."""
        found = self._pairs.get((src, dst))
        if found is None:
            if len(self._pairs) >= MOST_PAIRS:
                self._pairs.clear()
            crossings = path(self.fabric, src, dst)
            found = self._pairs[src, dst] = self._arrays((part.component, part.share) for part in crossings)
        return found

    def _domain(self, end: ComponentId) -> str:
        """The NVLink domain an end is in."""
        found = self._domains.get(end)
        if found is None:
            found = self._domains[end] = self.fabric.domain_of(end.node) or str(end.node)
        return found

    def _inside(self, end: ComponentId) -> _Inside | None:
        """None for an end that is no GPU on NVSwitches, and for GPUs that are wired to each other besides."""
        if end not in self._insides:
            self._insides[end] = self._half(end) if self._goes_by_switches(end) else None
        return self._insides[end]

    def _goes_by_switches(self, end: ComponentId) -> bool:
        if end.kind != "gpu" or not is_switched(self.fabric, end) or not by_nvlink(self.fabric, end, end):
            return False
        return all(part.kind == "nvswitch" for part in self.fabric.lane_counts(end))

    def _half(self, gpu: ComponentId) -> _Inside:
        host = host_id(gpu.node)
        lanes = striped(self.fabric.lanes(gpu))
        rows = [(host, 1.0), (gpu, 1.0), *((lane.component, lane.share) for lane in lanes)]
        switches = switch_shares(self.fabric, gpu)
        return _Inside(*self._arrays(rows), tuple(switches), *self._arrays(switches.items()), host)

    def out(self, end: ComponentId) -> Out | None:
        """An end's way to its leaf; None where it isn't told by which NIC it leaves, or there is none."""
        if end not in self._outs:
            legs = leave(self.fabric, end) if end.kind != "hbm" else ()
            told = len(legs) == 1 and (legs[0].leaf is None or legs[0].leaf in self._switches)
            self._outs[end] = self._leaving(legs[0]) if told else None
        return self._outs[end]

    def _leaving(self, leg: Leg) -> Out:
        return Out(leg.leaf, self.fabric.spine_to(leg.nic), self._arrays((part, 1.0) for part in leg.parts))

    def between(
        self, here: ComponentId | None, there: ComponentId | None, via: ComponentId | None = None
    ) -> tuple[Arrays, ...]:
        """From leaf to leaf: put together where both have the same cables to the same spines; `via`: the told spine."""
        if here is not None and there is not None and here != there and via is None:
            one, other = self._leaf(here), self._leaf(there)
            if one.above and one.above == other.above:
                return (one.arrays, one.spines, other.arrays)
        return (self._core(here, there, via),)

    def _leaf(self, leaf: ComponentId) -> _Leaf:
        found = self._leaves.get(leaf)
        if found is None:
            cables = up_from(self.fabric, leaf)
            total = sum(cables.values())
            uplinks = [(uplink_between(self.fabric, leaf, spine), count / total) for spine, count in cables.items()]
            spines = [(spine, count / total) for spine, count in cables.items()]
            arrays = self._arrays([(leaf, 1.0), *uplinks])
            found = self._leaves[leaf] = _Leaf(tuple(sorted(cables.items())), arrays, self._arrays(spines))
        return found

    def _core(self, here: ComponentId | None, there: ComponentId | None, via: ComponentId | None) -> Arrays:
        found = self._cores.get((here, there, via))
        if found is None:
            if len(self._cores) >= MOST_PAIRS:
                self._cores.clear()
            between = switches_between(self.fabric, here, there, via)
            found = self._cores[here, there, via] = self._arrays((part, share) for part, share, _ in between)
        return found

    def _arrays(self, rows: Iterable[tuple[ComponentId, float]]) -> Arrays:
        numbered = [(self.number(part), share) for part, share in rows]
        return np.array([at for at, _ in numbered], dtype=np.int32), np.array([share for _, share in numbered])


def _joined(pieces: Sequence[Arrays]) -> Arrays:
    return np.concatenate([indices for indices, _ in pieces]), np.concatenate([shares for _, shares in pieces])
