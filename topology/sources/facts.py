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


def build_fabric(views: Iterable[NodeView]) -> Fabric:
    """The fabric of these nodes, as far as their facts tell."""
    graph: nx.Graph[ComponentId] = nx.Graph()
    nodes = []
    for view in views:
        nodes.append(view.id)
        _add_node(graph, view)
    fabric = Fabric(graph, {})
    known = {node: found for node in nodes if (found := _recognize(fabric, node))}
    return Fabric(graph, known)


def _add_node(graph: nx.Graph[ComponentId], view: NodeView) -> None:
    graph.add_node(host_id(view.id), kind="host", known=bool(view.facts))
    for kind in ("gpu", "nic"):
        for device in view.components(kind):
            _add_device(graph, view, device, kind)
    switches = _nvswitches(view)
    for address, switch in switches.items():
        graph.add_node(switch, kind="nvswitch", known=True, bus_address=address)
    for gpu in view.components("gpu"):
        _add_lanes(graph, view, gpu, switches)


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


def _nvswitches(view: NodeView) -> dict[str, ComponentId]:
    """NVSwitches by bus address: those with facts, then those that only lanes name, in the order of their addresses."""
    found = {
        canonical_address(str(address)): switch
        for switch in view.components("nvswitch")
        if (address := view.fact(switch, "bus_address"))
    }
    named = {
        canonical_address(str(address))
        for lane in view.components("nvlink")
        if view.fact(lane, "remote_type") == "switch" and (address := view.fact(lane, "remote_address"))
    }
    free = max((switch.number for switch in found.values()), default=-1) + 1
    for number, address in enumerate(sorted(named - found.keys()), start=free):
        found[address] = nvswitch_id(view.id, number)
    return found


def _add_lanes(
    graph: nx.Graph[ComponentId], view: NodeView, gpu: ComponentId, switches: Mapping[str, ComponentId]
) -> None:
    """Bundle a GPU's lanes by what they end at; those whose far end is not known stay loose."""
    peers = {address: peer for peer in view.components("gpu") if (address := graph.nodes[peer].get("bus_address"))}
    bundles: dict[ComponentId, list[tuple[int, int]]] = {}
    loose = []
    for lane in view.components("nvlink"):
        if lane.parent != gpu:
            continue
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
