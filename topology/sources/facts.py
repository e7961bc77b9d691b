"""From the facts of nodes to their fabric.

Nothing is invented: what no fact names is not there, and what facts leave open is marked unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import networkx as nx
import numpy as np

from ...incident.ids import ComponentId, NodeId, gpu_id, host_id, nvswitch_id
from ...incident.platforms import Platform, platform, platform_names
from ...incident.snapshot import NodeView
from ..fabric import Fabric, add_bundle, add_chain, canonical_address

Stand = tuple[object, ...]
"""What a node's fabric was read from: as long as it is the same, so is the fabric."""


def build_fabric(views: Iterable[NodeView]) -> Fabric:
    """The fabric of these nodes, as far as their facts tell."""
    return Fabric.joined(_of_node(view) for view in views)


class FabricReader:
    """The fabric of nodes whose facts come in one after the other: only those are read anew that told something."""

    def __init__(self) -> None:
        self._nodes: dict[NodeId, tuple[Stand, Fabric]] = {}
        self._whole: tuple[tuple[Stand, ...], Fabric] | None = None

    def fabric(self, views: Iterable[NodeView]) -> Fabric:
        """The same as `build_fabric`; the same object as long as nothing was told."""
        known = list(views)
        stands = tuple(_stand(view) for view in known)
        if self._whole is None or self._whole[0] != stands:
            parts = [self._of_node(view, stand) for view, stand in zip(known, stands, strict=True)]
            self._whole = (stands, Fabric.joined(parts))
        return self._whole[1]

    def _of_node(self, view: NodeView, stand: Stand) -> Fabric:
        kept = self._nodes.get(view.id)
        if kept is None or kept[0] != stand:
            kept = self._nodes[view.id] = (stand, _of_node(view))
        return kept[1]


def _stand(view: NodeView) -> Stand:
    return (view.id, view.facts_id, *(series.schema for series in view.series.values()))


def _of_node(view: NodeView) -> Fabric:
    """The fabric of one node."""
    graph: nx.Graph[ComponentId] = nx.Graph()
    _add_node(graph, view)
    fabric = Fabric(graph, {})
    found = _recognize(fabric, view.id)
    return fabric.recognized({view.id: found}) if found else fabric


def _add_node(graph: nx.Graph[ComponentId], view: NodeView) -> None:
    graph.add_node(host_id(view.id), kind="host", known=bool(view.facts))
    gpus, lanes = view.components("gpu"), view.components("nvlink")
    for gpu in gpus:
        _add_device(graph, view, gpu, "gpu")
    for nic in view.components("nic"):
        _add_device(graph, view, nic, "nic")
    switches = _nvswitches(view, lanes)
    for address, switch in switches.items():
        graph.add_node(switch, kind="nvswitch", known=True, bus_address=address)
    by_address = {graph.nodes[gpu]["bus_address"]: gpu for gpu in gpus if "bus_address" in graph.nodes[gpu]}
    for gpu in gpus:
        _add_lanes(graph, view, gpu, [lane for lane in lanes if lane.parent == gpu], switches, by_address)


def _add_device(graph: nx.Graph[ComponentId], view: NodeView, device: ComponentId, kind: str) -> None:
    address = view.fact(device, "bus_address")
    path = view.fact(device, "pcie_path")
    numa = view.fact(device, "numa")
    graph.add_node(device, kind=kind, known=address is not None)
    if address is not None:
        graph.nodes[device]["bus_address"] = canonical_address(str(address))
    if kind == "gpu" and (model := view.fact(device, "name")):
        graph.nodes[device]["model"] = str(model)
    bridges = [canonical_address(bridge) for bridge in str(path).split("/") if bridge] if path else []
    socket = int(numa) if isinstance(numa, int | float) and numa >= 0 else None
    add_chain(graph, device, bridges, socket)


def _nvswitches(view: NodeView, lanes: Iterable[ComponentId]) -> dict[str, ComponentId]:
    """NVSwitches by bus address: those with facts, then those that only lanes name, in the order of their addresses."""
    found = {
        canonical_address(str(address)): switch
        for switch in view.components("nvswitch")
        if (address := view.fact(switch, "bus_address"))
    }
    named = {
        canonical_address(str(address))
        for lane in lanes
        if view.fact(lane, "remote_type") == "switch" and (address := view.fact(lane, "remote_address"))
    }
    free = max((switch.number for switch in found.values()), default=-1) + 1
    for number, address in enumerate(sorted(named - found.keys()), start=free):
        found[address] = nvswitch_id(view.id, number)
    return found


def _add_lanes(
    graph: nx.Graph[ComponentId],
    view: NodeView,
    gpu: ComponentId,
    lanes: Iterable[ComponentId],
    switches: Mapping[str, ComponentId],
    peers: Mapping[str, ComponentId],
) -> None:
    """Bundle a GPU's lanes by what they end at; those whose far end is not known stay loose."""
    bundles: dict[ComponentId, list[tuple[int, int]]] = {}
    loose = []
    for lane in lanes:
        address = canonical_address(str(view.fact(lane, "remote_address") or ""))
        ends = switches if view.fact(lane, "remote_type") == "switch" else peers
        if address in ends and ends[address] != gpu:
            port = view.fact(lane, "remote_port")
            bundles.setdefault(ends[address], []).append((lane.number, _port_number(port)))
        elif view.fact(lane, "remote_address") or math.isfinite(view.value(lane, "state")):
            loose.append(lane.number)
    for part, wires in bundles.items():
        if graph.has_edge(gpu, part):
            graph.edges[gpu, part]["far_lanes"] = np.array([lane for lane, _ in wires], dtype=np.int64)
        else:
            add_bundle(graph, gpu, part, wires)
    if loose:
        graph.nodes[gpu]["loose_lanes"] = np.array(loose, dtype=np.int64)


def _port_number(port: object) -> int:
    return int(port) if isinstance(port, int | float) or (isinstance(port, str) and port.isdigit()) else -1


def _recognize(fabric: Fabric, node: NodeId) -> Platform | None:
    """The platform with this GPU model whose GPUs share PCIe switches in the same way; else the first of that model."""
    gpus = fabric.gpus(node)
    model = next((str(fabric.graph.nodes[gpu]["model"]) for gpu in gpus if "model" in fabric.graph.nodes[gpu]), "")
    if not model:
        return None
    fitting = [
        known
        for name in platform_names()
        if (known := platform(name)).gpus >= len(gpus) and name.partition("_")[0] in model.lower()
    ]
    together = _groups_of(fabric, gpus)
    return next((known for known in fitting if _same_groups(together, known, node)), fitting[0] if fitting else None)


def _groups_of(fabric: Fabric, gpus: Sequence[ComponentId]) -> dict[ComponentId, ComponentId | None]:
    return {gpu: fabric.switch_above(gpu) for gpu in gpus}


def _same_groups(together: Mapping[ComponentId, ComponentId | None], known: Platform, node: NodeId) -> bool:
    """Whether the GPUs whose switch is known share switches as the platform's do."""
    switches = [
        {together[gpu] for part in group.gpus if (gpu := gpu_id(node, int(part.name[3:]))) in together}
        for group in known.groups
    ]
    seen = [next(iter(found)) for found in switches if len(found) == 1]
    return all(len(found) <= 1 for found in switches) and len(seen) == len(set(seen))
