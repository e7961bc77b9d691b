"""NVLinks of a node: one edge a bundle of lanes between two parts, with what is known of each lane in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..incident.ids import ComponentId, lane_id
from .addresses import natural
from .claims import LaneClaim, LaneCountClaim, Source, Value
from .opinions import Opinions
from .shared_graph import Facts, Graph, connect, put_part

MOST_LANES = 256
"""More than any GPU has; a node that claims more is not believed."""


class Lanes:
    """What is said about the lanes of a node's GPUs; claims come in the order of trust."""

    def __init__(self, opinions: Opinions) -> None:
        self._opinions = opinions
        self._numbers: dict[ComponentId, set[int]] = {}
        self._sources: dict[ComponentId, Source] = {}
        self._counts: list[LaneCountClaim] = []

    def hear(self, claim: LaneClaim) -> None:
        """Take one lane into account."""
        if not 0 <= claim.lane < MOST_LANES:
            return
        self._numbers.setdefault(claim.gpu, set()).add(claim.lane)
        self._sources.setdefault(claim.gpu, claim.source)
        lane = lane_id(claim.gpu, claim.lane)
        facts = (("far", claim.far), ("port", claim.port), ("up", claim.up), ("gbs", claim.gbs))
        for attribute, value in facts:
            if value is not None:
                self._opinions.say(lane, attribute, value, claim.source)

    def hear_count(self, claim: LaneCountClaim) -> None:
        """Keep a count until all lanes are heard."""
        if 0 < claim.count < MOST_LANES:
            self._counts.append(claim)

    def wire(self, graph: Graph) -> None:
        """Put the bundles into the graph; lanes whose far end is not known stay loose at their GPU."""
        direct: dict[tuple[ComponentId, ComponentId], list[int]] = {}
        for gpu, numbers in self._numbers.items():
            bundles, loose = self._bundles(gpu, sorted(numbers))
            for far, lanes in bundles.items():
                _add_if_only_named(graph, far)
                if far.kind == "gpu":
                    direct[gpu, far] = lanes
                else:
                    connect(graph, gpu, {far: self._bundle(gpu, lanes)})
            if loose:
                put_part(graph, gpu, {**graph.nodes[gpu], **self._loose(gpu, loose)})
        for gpu, far in sorted(direct, key=_pair_order):
            if (far, gpu) not in direct or natural(gpu) < natural(far):
                connect(graph, gpu, {far: self._between(gpu, far, direct[gpu, far], direct.get((far, gpu), []))})
        for claim in self._counts:
            self._count(graph, claim)

    def _bundles(self, gpu: ComponentId, numbers: Sequence[int]) -> tuple[dict[ComponentId, list[int]], list[int]]:
        """Lanes by what they end at, and those of which nobody says."""
        bundles: dict[ComponentId, list[int]] = {}
        loose = []
        for number in numbers:
            far = ComponentId(self._opinions.value(lane_id(gpu, number), "far") or "")
            if far.kind in ("nvswitch", "gpu") and far != gpu:
                bundles.setdefault(far, []).append(number)
            else:
                loose.append(number)
        return bundles, loose

    def _bundle(self, gpu: ComponentId, lanes: Sequence[int]) -> Facts:
        state = self._arrays(gpu, lanes)
        return {"kind": "nvlink", "count": len(lanes), **state, "said": self._said(gpu, lanes)}

    def _between(self, gpu: ComponentId, far: ComponentId, lanes: Sequence[int], back: Sequence[int]) -> Facts:
        """The bundle of two GPUs, as the first one tells it, with what the other one says it has."""
        facts = self._bundle(gpu, lanes)
        told = {lane_id(far, lane): self._opinions.number(lane_id(far, lane), "port") for lane in back}
        ends = {port: lane.number for lane, port in told.items() if port is not None}
        for at, lane in enumerate(lanes):
            if facts["ports"][at] < 0 and lane in ends:
                facts["ports"][at] = ends[lane]
        far_lanes = sorted({*back, *(port for port in facts["ports"].tolist() if 0 <= port < MOST_LANES)})
        other = self._arrays(far, far_lanes)
        return {**facts, "near": gpu, "far_lanes": other["lanes"], "far_up": other["up"], "far_gbs": other["gbs"]}

    def _loose(self, gpu: ComponentId, lanes: Sequence[int]) -> Facts:
        state = self._arrays(gpu, lanes)
        loose = {"loose_lanes": state["lanes"], "loose_up": state["up"], "loose_gbs": state["gbs"]}
        return {**loose, "loose_said": self._said(gpu, lanes)}

    def _arrays(self, gpu: ComponentId, lanes: Sequence[int]) -> Facts:
        """`lanes`, `ports` (-1: not told), `up` (1, 0; -1: not told) and `gbs` (NaN: not told), one element a lane."""
        known = [self._opinions.facts(lane_id(gpu, lane)) for lane in lanes]
        return {
            "lanes": np.array(lanes, dtype=np.int64),
            "ports": np.array([_port(facts.get("port")) for facts in known], dtype=np.int64),
            "up": np.array([int(facts.get("up", -1)) for facts in known], dtype=np.int8),
            "gbs": np.array([float(facts.get("gbs", "nan")) for facts in known]),
        }

    def _said(self, gpu: ComponentId, lanes: Iterable[int]) -> Mapping[str, Source]:
        said: dict[str, Source] = {}
        for lane in lanes:
            for attribute, source in self._opinions.said(lane_id(gpu, lane)).items():
                said.setdefault(attribute, source)
        return said

    def _count(self, graph: Graph, claim: LaneCountClaim) -> None:
        """Hold a count against the lanes that are known; where none is, it is what stands."""
        gpu, far = claim.gpu, claim.far
        _add_if_only_named(graph, gpu)
        if far is not None:
            _add_if_only_named(graph, far)
        edges = [facts for part, facts in graph[gpu].items() if facts["kind"] == "nvlink" and far in (None, part)]
        is_loose = gpu not in self._numbers or "loose_lanes" in graph.nodes[gpu]
        if not edges and far is not None and is_loose:
            connect(graph, gpu, {far: _uncounted(claim)})
        elif not edges and gpu not in self._numbers:
            known = graph.nodes[gpu]
            put_part(graph, gpu, {**known, "nvlinks": known.get("nvlinks", claim.count)})
        elif claim.source is not Source.PLATFORM:
            self._compare(claim, edges, graph.nodes[gpu] if far is None else {})

    def _compare(self, claim: LaneCountClaim, edges: Sequence[Facts], known: Mapping[str, Any]) -> None:
        """Note a count that is neither that of all lanes, nor of those that are not down: some count what works."""
        total = total_lanes(edges, known)
        down = sum(int(np.count_nonzero(facts["up"] == 0)) for facts in edges)
        down += int(np.count_nonzero(known.get("loose_up", np.array([])) == 0))
        if claim.count not in (total, total - down):
            attribute = "lanes" if claim.far is None else f"lanes to {claim.far.name}"
            counted = next((facts["said"]["count"] for facts in edges if "count" in facts["said"]), claim.source)
            self._opinions.say(claim.gpu, attribute, total, self._sources.get(claim.gpu, counted))
            self._opinions.contradict(claim.gpu, attribute, claim.count, claim.source)


def bundle_of_count(count: int, source: Source) -> Facts:
    """An edge of so many lanes without saying which."""
    none = np.array([], dtype=np.int64)
    return {
        "kind": "nvlink", "count": count, "lanes": none, "ports": none, "up": np.array([], dtype=np.int8),
        "gbs": np.array([]), "said": {"count": source},
    }  # fmt: skip


def _uncounted(claim: LaneCountClaim) -> Facts:
    facts = bundle_of_count(claim.count, claim.source)
    return {**facts, "near": claim.gpu, "far_lanes": facts["lanes"], "far_up": facts["up"], "far_gbs": facts["gbs"]}


def total_lanes(edges: Iterable[Mapping[str, Any]], gpu: Mapping[str, Any]) -> int:
    """How many lanes bundles and what is known of their GPU add up to; those counted may be those that are loose."""
    found = list(edges)
    named = sum(len(facts["lanes"]) for facts in found) + len(gpu.get("loose_lanes", ()))
    return int(max(named, sum(facts["count"] for facts in found), gpu.get("nvlinks", 0)))


def _add_if_only_named(graph: Graph, part: ComponentId) -> None:
    if part not in graph:
        put_part(graph, part, {"kind": part.kind, "known": False})


def _port(value: Value | None) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1 << 31 else -1


def _pair_order(pair: tuple[ComponentId, ComponentId]) -> tuple[object, object]:
    return natural(pair[0]), natural(pair[1])
