"""From the facts of nodes to their fabric: what the collector on a node reads of NVML and sysfs, as claims.

Nothing is invented: what no fact names is not there, and what facts leave open is marked unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from ...incident.events import NetworkRead
from ...incident.ids import ComponentId, NodeId, host_id, nvswitch_id
from ...incident.snapshot import FactValue, NodeView
from ..addresses import canonical_address, natural
from ..claims import ChainClaim, Claim, LaneClaim, NodeClaims, PartClaim, PcieClaim, Source, Value
from ..fabric import Fabric
from ..merge import whole_fabric
from ..node_graph import node_fabric
from .network_read import claims_of_network

Stand: TypeAlias = tuple[object, ...]
"""What a node's fabric was read from: as long as it is the same, so is the fabric."""

Known: TypeAlias = Mapping[str, FactValue]

NVML_FACTS = {
    "name": "model", "uuid": "uuid", "serial": "serial", "memory_bytes": "memory_bytes", "bus_address": "bus_address",
    "cluster_uuid": "cluster_uuid", "clique_id": "clique_id",
}  # fmt: skip
"""Facts of a GPU, and what the graph calls them."""
NIC_FACTS = ("bus_address", "numa", "node_guid", "link_layer", "netdev")
LINK_FACTS = {"max_generation": Source.NVML, "max_speed_gts": Source.SYSFS, "max_width": Source.SYSFS}


def build_fabric(views: Iterable[NodeView], network: NetworkRead | None = None) -> Fabric:
    """The fabric of these nodes, as far as their facts tell, and of what was read of the network between them."""
    return whole_fabric([_of_node(view) for view in views], tuple(claims_of_network(network)) if network else ())


class FabricReader:
    """The fabric of nodes whose facts come in one after the other: only those are read anew that told something."""

    def __init__(self) -> None:
        self._nodes: dict[NodeId, tuple[Stand, Fabric]] = {}
        self._whole: tuple[tuple[Stand, ...], Fabric] | None = None
        self._network: NetworkRead | None = None

    def fabric(self, views: Iterable[NodeView], network: NetworkRead | None = None) -> Fabric:
        """The same as `build_fabric`; the same object as long as nothing was told."""
        known = list(views)
        stands = tuple(_stand(view) for view in known)
        if self._whole is None or self._whole[0] != stands or self._network is not network:
            parts = [self._of_node(view, stand) for view, stand in zip(known, stands, strict=True)]
            self._whole = (stands, whole_fabric(parts, tuple(claims_of_network(network)) if network else ()))
            self._network = network
        return self._whole[1]

    def _of_node(self, view: NodeView, stand: Stand) -> Fabric:
        kept = self._nodes.get(view.id)
        if kept is None or kept[0] != stand:
            kept = self._nodes[view.id] = (stand, _of_node(view))
        return kept[1]


def claims_of(view: NodeView) -> NodeClaims:
    """What a node's facts say, source by source."""
    return NodeClaims(view.id, tuple(_claims(view)))


def _of_node(view: NodeView) -> Fabric:
    return node_fabric(view.id, _claims(view))


def _stand(view: NodeView) -> Stand:
    return (view.id, view.facts_id, *(series.schema for series in view.series.values()))


def _claims(view: NodeView) -> Iterator[Claim]:
    facts = _facts_by_part(view)
    if view.facts:
        yield PartClaim(host_id(view.id), "host", Source.SYSFS)
    parts: dict[str, list[ComponentId]] = {}
    for part in facts:
        parts.setdefault(part.kind, []).append(part)
    for gpu in sorted(parts.get("gpu", ()), key=natural):
        yield from _gpu(gpu, facts[gpu])
    for nic in sorted(parts.get("nic", ()), key=natural):
        yield from _nic(nic, facts[nic])
    for link in (*parts.get("pcie", ()), *parts.get("bridge", ())):
        yield from _link(link, facts[link])
    lanes = {lane: facts[lane] for lane in parts.get("nvlink", ())}
    switches = _nvswitches(view.id, {part: facts[part] for part in parts.get("nvswitch", ())}, lanes)
    for address, switch in switches.items():
        yield PartClaim(switch, "nvswitch", Source.SYSFS, {"bus_address": address})
    gpus = {canonical_address(str(at)): gpu for gpu in parts.get("gpu", ()) if (at := facts[gpu].get("bus_address"))}
    for lane, known in lanes.items():
        ends = switches if known.get("remote_type") == "switch" else gpus
        yield from _lane(view, lane, known, ends)


def _facts_by_part(view: NodeView) -> Mapping[ComponentId, Known]:
    """All parts that facts or schemas name, with their facts."""
    found: dict[ComponentId, dict[str, FactValue]] = {
        column.component: {} for series in view.series.values() for column in series.fields
    }
    for (part, key), value in view.facts.items():
        found.setdefault(part, {})[key] = value
    return found


def _gpu(gpu: ComponentId, known: Known) -> Iterator[Claim]:
    told = {name: _text(known[key]) for key, name in NVML_FACTS.items() if known.get(key) is not None}
    yield PartClaim(gpu, "gpu", Source.NVML, told)
    yield from _place(gpu, known)


def _nic(nic: ComponentId, known: Known) -> Iterator[Claim]:
    told = {key: _text(known[key]) for key in NIC_FACTS if known.get(key) is not None}
    yield PartClaim(nic, "nic", Source.SYSFS, told)
    yield from _place(nic, known)


def _place(device: ComponentId, known: Known) -> Iterator[Claim]:
    """Where a device sits: the bridges above it and its socket."""
    path, numa = known.get("pcie_path"), known.get("numa")
    bridges = tuple(bridge for bridge in str(path).split("/") if bridge) if path else ()
    socket = int(numa) if isinstance(numa, int | float) and not isinstance(numa, bool) and numa >= 0 else None
    if bridges or socket is not None:
        yield ChainClaim(device, Source.SYSFS, bridges, socket)


def _link(link: ComponentId, known: Known) -> Iterator[Claim]:
    for key, source in LINK_FACTS.items():
        if isinstance(value := known.get(key), int | float):
            yield PcieClaim(link, source, {key: value})


def _nvswitches(
    node: NodeId, known: Mapping[ComponentId, Known], lanes: Mapping[ComponentId, Known]
) -> dict[str, ComponentId]:
    """NVSwitches by bus address: those with facts, then those that only lanes name, in the order of their addresses."""
    found = {canonical_address(str(at)): part for part, facts in known.items() if (at := facts.get("bus_address"))}
    named = {
        canonical_address(str(at))
        for facts in lanes.values()
        if facts.get("remote_type") == "switch" and (at := facts.get("remote_address"))
    }
    free = max((switch.number for switch in found.values()), default=-1) + 1
    for number, address in enumerate(sorted(named - found.keys()), start=free):
        found[address] = nvswitch_id(node, number)
    return found


def _lane(view: NodeView, lane: ComponentId, known: Known, ends: Mapping[str, ComponentId]) -> Iterator[Claim]:
    """A lane that is wired: to what its addresses name, or to what nobody says as long as it has a state."""
    gpu, address = lane.parent, known.get("remote_address")
    far, listed = _end_of(gpu, address, ends), _end_of(gpu, known.get("listed_address"), ends)
    if far is not None:
        yield LaneClaim(gpu, lane.number, Source.NVML, far)
    elif address or math.isfinite(view.value(lane, "state")):
        yield LaneClaim(gpu, lane.number, Source.NVML)
    port = _port_number(known.get("remote_port")) if far or listed else None
    if listed is not None or port is not None:
        yield LaneClaim(gpu, lane.number, Source.NVLINK_REMOTES, listed, port)


def _end_of(gpu: ComponentId, address: FactValue, ends: Mapping[str, ComponentId]) -> ComponentId | None:
    """The part at an address; no GPU is wired to itself."""
    far = ends.get(canonical_address(str(address))) if address else None
    return None if far == gpu else far


def _port_number(port: FactValue) -> int | None:
    if isinstance(port, str):
        return int(port) if port.isascii() and port.isdigit() and len(port) < 9 else None
    return int(port) if isinstance(port, int | float) and math.isfinite(port) and port >= 0 else None


def _text(value: FactValue) -> Value:
    """Values of facts as claims hold them; only sizes and numbers stay numbers."""
    return "" if value is None else value
