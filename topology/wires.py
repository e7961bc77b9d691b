"""Ids and ends of single wires, worked out of the bundles that the graph holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..incident.ids import ComponentId, lane_id
from .components import FarEnd
from .shared_graph import Graph


def wires_of(graph: Graph, gpu: ComponentId) -> Mapping[ComponentId, FarEnd | None]:
    """The lanes of a GPU by number, each with what it is wired to; None where nobody says."""
    if gpu not in graph or gpu.kind != "gpu":
        return {}
    ends: dict[int, FarEnd | None] = dict.fromkeys(graph.nodes[gpu].get("loose_lanes", ()))
    for part, facts in graph[gpu].items():
        if facts["kind"] == "nvlink":
            ends.update(_ends(gpu, part, facts))
    return {lane_id(gpu, lane): ends[lane] for lane in sorted(ends)}


def _ends(gpu: ComponentId, part: ComponentId, facts: Mapping[str, Any]) -> Mapping[int, FarEnd]:
    """The far ends of one bundle's lanes, seen from a GPU."""
    if part.kind != "gpu":
        return {
            lane: FarEnd(part, part / f"port{port}" if port >= 0 else None)
            for lane, port in zip(facts["lanes"].tolist(), facts["ports"].tolist(), strict=True)
        }
    wires = list(zip(facts["lanes"].tolist(), facts["ports"].tolist(), strict=True))
    if facts["near"] == gpu:
        return {lane: FarEnd(part, lane_id(part, port) if port >= 0 else None) for lane, port in wires}
    mine = {lane: FarEnd(part, None) for lane in facts["far_lanes"].tolist()}
    return mine | {port: FarEnd(part, lane_id(part, lane)) for lane, port in wires if port >= 0}


def cable_id(nic: ComponentId, leaf: ComponentId, facts: Mapping[str, Any]) -> ComponentId:
    """`cable/gpu-017:mlx5_4~leaf-3:port12`, by the first cable where there are several; two NICs may be its ends."""
    near, far = (nic, leaf) if facts["near"] == nic else (leaf, nic)
    return ComponentId(f"cable/{near.node}:{near.within}~{far}:{facts['far_ports'][0]}")


def uplink_id(leaf: ComponentId, spine: ComponentId) -> ComponentId:
    """`uplink/leaf-3~spine-4`."""
    return ComponentId(f"uplink/{leaf}~{spine}")


def cable_ends(cable: ComponentId) -> tuple[ComponentId, ComponentId] | None:
    """NIC and switch of a cable, or the two switches of an uplink; None for what is neither."""
    word, _, ends = cable.partition("/")
    here, _, there = ends.partition("~")
    if word == "uplink" and there:
        return ComponentId(here), ComponentId(there)
    if word == "cable" and there:
        return ComponentId(here.replace(":", "/", 1)), ComponentId(there.rpartition(":")[0])
    return None
