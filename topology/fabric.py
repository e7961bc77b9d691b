"""The fabric of the chosen nodes as a graph of their parts, and the questions that drawings, rules and probes ask it.

The graph holds one node a part and one edge a bundle of lanes:

    gpu ── nvswitch      kind `nvlink`; arrays `lanes` and `ports` (-1: the node doesn't say), one element a lane
    gpu ── gpu           kind `nvlink`; `lanes` of the edge's `near` GPU, `ports`, the lanes of the other one where
                         they end, and `far_lanes`, all lanes the other one says it has to `near`
    device ── bridge     kind `pcie`; `link` is the id of the PCIe link
    bridge ── bridge     kind `pcie`
    bridge ── numa       kind `root`
    numa ── host         kind `socket`

A part whose facts are missing stands there with `known` False and without the edges nobody has seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from ..incident.ids import ComponentId, NodeId, bridge_id, host_id, lane_id, numa_id
from ..incident.platforms import Platform
from .components import FarEnd, PcieSwitch


class Fabric:
    """The parts of some nodes and how they are wired. Immutable once built."""

    def __init__(self, graph: nx.Graph[ComponentId], platforms: Mapping[NodeId, Platform]) -> None:
        """`graph` as the module says; `platforms` of the nodes that were recognized."""
        self.graph = graph
        self._platforms = dict(platforms)
        self._by_kind = _by_node_and_kind(graph)
        self._lanes, self._far = _index_lanes(graph)

    @classmethod
    def joined(cls, fabrics: Iterable[Fabric]) -> Fabric:
        """One fabric of several that share no part: each is indexed already, so that this is quick."""
        whole = cls(nx.Graph(), {})
        for fabric in fabrics:
            whole.graph.add_nodes_from(fabric.graph.nodes.items())
            whole.graph.add_edges_from(fabric.graph.edges(data=True))
            whole._platforms |= fabric._platforms
            whole._by_kind |= fabric._by_kind
            whole._lanes |= fabric._lanes
            whole._far |= fabric._far
        return whole

    def recognized(self, platforms: Mapping[NodeId, Platform]) -> Fabric:
        """The same with the platforms of its nodes."""
        same = Fabric.joined([self])
        same._platforms = dict(platforms)
        return same

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """All nodes, in the order they were given."""
        return tuple(NodeId(node) for node, kinds in self._by_kind.items() if "host" in kinds)

    @property
    def platform(self) -> Platform | None:
        """The platform of the first node that was recognized; None where none was."""
        return next(iter(self._platforms.values()), None)

    def platform_of(self, node: str) -> Platform | None:
        """What kind of node it is; None where it was not recognized."""
        return self._platforms.get(NodeId(node))

    def gpus(self, node: str) -> tuple[ComponentId, ...]:
        """A node's GPUs by index, lost ones included as long as anything names them."""
        return self._of(node, "gpu")

    def nvswitches(self, node: str) -> tuple[ComponentId, ...]:
        """A node's NVSwitches by number; none on many boards."""
        return self._of(node, "nvswitch")

    def nics(self, node: str) -> tuple[ComponentId, ...]:
        """A node's NICs by number."""
        return self._of(node, "nic")

    def bridges(self, node: str) -> tuple[ComponentId, ...]:
        """A node's PCIe bridges above GPUs and NICs."""
        return self._of(node, "bridge")

    def lanes(self, gpu: str) -> tuple[ComponentId, ...]:
        """The wired NVLinks of a GPU by number; empty where it has none or doesn't say."""
        return self._lanes.get(ComponentId(gpu), ())

    def far_end(self, lane: str) -> FarEnd | None:
        """What a lane is wired to; None where the node doesn't say."""
        return self._far.get(ComponentId(lane))

    def switch_of(self, lane: str) -> ComponentId | None:
        """The NVSwitch at the far end of a lane; None where it ends at a GPU or nobody says."""
        far = self.far_end(lane)
        return far.part if far is not None and far.part.kind == "nvswitch" else None

    def port_of(self, lane: str) -> ComponentId | None:
        """The NVSwitch port at the far end of a lane; None where it ends at a GPU or nobody says."""
        far = self.far_end(lane)
        return far.port if far is not None and far.part.kind == "nvswitch" else None

    def lanes_to(self, gpu: str, part: str) -> tuple[ComponentId, ...]:
        """The lanes of a GPU that end at an NVSwitch or another GPU."""
        return tuple(lane for lane in self.lanes(gpu) if (far := self.far_end(lane)) and far.part == part)

    def chain(self, device: str) -> tuple[ComponentId, ...]:
        """The PCIe links above a GPU or NIC: its own first, up to the root port; empty where the path is not known."""
        bridges = self._facts(device).get("bridges", ())
        if not bridges:
            return ()
        return (ComponentId(device) / "pcie", *reversed(bridges))

    def groups(self, node: str) -> tuple[PcieSwitch, ...]:
        """The PCIe switches of a node with what hangs right below each, in the order of their first device."""
        below: dict[ComponentId | None, list[ComponentId]] = {}
        for device in (*self.gpus(node), *self.nics(node)):
            below.setdefault(self.switch_above(device), []).append(device)
        return tuple(self._group(switch, devices) for switch, devices in below.items())

    def switch_above(self, device: str) -> ComponentId | None:
        """The PCIe switch right above a device, by its upstream port (the root port where there is no switch)."""
        bridges = self._facts(device).get("bridges", ())
        return bridges[max(0, len(bridges) - 2)] if bridges else None

    def numa_of(self, device: str) -> ComponentId | None:
        """The socket's memory that is local to a GPU or NIC; None where the node doesn't say."""
        numa = self._facts(device).get("numa")
        return None if numa is None else numa_id(ComponentId(device).node, numa)

    def bus_address(self, component: str) -> str | None:
        """`0000:19:00.0` of a GPU, NIC, NVSwitch or bridge; None where the node doesn't say."""
        address = self._facts(component).get("bus_address")
        return None if address is None else str(address)

    def component_at(self, node: str, bus_address: str) -> ComponentId | None:
        """The part of a node at a bus address, however its letters and leading zeros are written."""
        wanted = canonical_address(bus_address)
        for kind in ("gpu", "nic", "nvswitch", "bridge"):
            for part in self._of(node, kind):
                if self.bus_address(part) == wanted:
                    return part
        return None

    def is_known(self, component: str) -> bool:
        """False for a part that is only named: its facts are missing."""
        return bool(self._facts(component).get("known", False))

    def to_json(self) -> dict[str, Any]:
        """The graph as plain JSON values: `parts`, `edges`, `platforms`."""
        return {
            "platforms": {str(node): platform.key for node, platform in self._platforms.items()},
            "parts": [_plain({"id": part, **facts}) for part, facts in self.graph.nodes(data=True)],
            "edges": [_plain({"ends": [a, b], **facts}) for a, b, facts in self.graph.edges(data=True)],
        }

    def _of(self, node: str, kind: str) -> tuple[ComponentId, ...]:
        return self._by_kind.get(ComponentId(node), {}).get(kind, ())

    def _facts(self, component: str) -> Mapping[str, Any]:
        part = ComponentId(component)
        return self.graph.nodes[part] if part in self.graph else {}

    def _group(self, switch: ComponentId | None, devices: list[ComponentId]) -> PcieSwitch:
        sockets = {self._facts(device).get("numa") for device in devices}
        return PcieSwitch(
            switch,
            sockets.pop() if len(sockets) == 1 else None,
            tuple(device for device in devices if device.kind == "gpu"),
            tuple(device for device in devices if device.kind == "nic"),
        )


def canonical_address(address: str) -> str:
    """A PCI address in the form of sysfs: `00000000:19:00.0` and `19:00.0` read `0000:19:00.0`; lower case."""
    text = address.strip().lower()
    if text.count(":") == 1:
        text = f"0000:{text}"
    domain, _, rest = text.partition(":")
    return f"{domain.lstrip('0').rjust(4, '0')}:{rest}"


def natural(component: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key that reads numbers as numbers: gpu2 before gpu10."""
    pieces = re.split(r"(\d+)", component)
    return tuple((0, int(piece)) if piece.isdigit() else (1, piece) for piece in pieces)


def add_bundle(graph: nx.Graph[ComponentId], gpu: ComponentId, part: ComponentId, wires: list[tuple[int, int]]) -> None:
    """Wire a GPU to an NVSwitch or GPU with (lane, port) pairs; port -1 where the node doesn't say."""
    lanes, ports = np.array(sorted(wires), dtype=np.int64).T
    graph.add_edge(gpu, part, kind="nvlink", near=gpu, lanes=lanes, ports=ports)


def add_chain(graph: nx.Graph[ComponentId], device: ComponentId, addresses: list[str], numa: int | None) -> None:
    """Wire a device through its bridges, given from the root port down, to its socket and host."""
    node = device.node
    bridges = tuple(bridge_id(node, address) for address in addresses)
    graph.nodes[device]["bridges"] = bridges
    graph.nodes[device]["numa"] = numa
    for bridge, address in zip(bridges, addresses, strict=True):
        graph.add_node(bridge, kind="bridge", known=True, bus_address=address)
    below, link = device, device / "pcie"
    for bridge in reversed(bridges):
        graph.add_edge(below, bridge, kind="pcie", link=link)
        below, link = bridge, bridge
    if numa is not None:
        socket = numa_id(node, numa)
        graph.add_node(socket, kind="numa", known=True)
        graph.add_edge(socket, host_id(node), kind="socket")
        if bridges:
            graph.add_edge(bridges[0], socket, kind="root", link=bridges[0])


def _by_node_and_kind(graph: nx.Graph[ComponentId]) -> dict[ComponentId, dict[str, tuple[ComponentId, ...]]]:
    found: dict[ComponentId, dict[str, list[ComponentId]]] = {}
    for part, facts in graph.nodes(data=True):
        found.setdefault(part.node, {}).setdefault(str(facts["kind"]), []).append(part)
    return {
        node: {kind: tuple(sorted(parts, key=natural)) for kind, parts in kinds.items()}
        for node, kinds in found.items()
    }


def _index_lanes(
    graph: nx.Graph[ComponentId],
) -> tuple[dict[ComponentId, tuple[ComponentId, ...]], dict[ComponentId, FarEnd]]:
    """Lanes of each GPU, and each lane's far end."""
    far: dict[ComponentId, FarEnd] = {}
    for one, other, facts in graph.edges(data=True):
        if facts["kind"] == "nvlink":
            near = facts["near"]
            far |= _ends_of_bundle(near, other if near == one else one, facts)
    found: dict[ComponentId, set[ComponentId]] = {}
    for lane in far:
        found.setdefault(lane.parent, set()).add(lane)
    for gpu, facts in graph.nodes(data=True):
        if "loose_lanes" in facts:
            found.setdefault(gpu, set()).update(lane_id(gpu, lane) for lane in facts["loose_lanes"].tolist())
    return {gpu: tuple(sorted(lanes, key=natural)) for gpu, lanes in found.items()}, far


def _ends_of_bundle(near: ComponentId, part: ComponentId, facts: Mapping[str, Any]) -> dict[ComponentId, FarEnd]:
    """The far ends of one bundle's lanes, seen from both sides where both are GPUs."""
    ends: dict[ComponentId, FarEnd] = {}
    if part.kind == "gpu":
        ends = {lane_id(part, lane): FarEnd(near, None) for lane in facts.get("far_lanes", np.array([])).tolist()}
    for lane, port in zip(facts["lanes"].tolist(), facts["ports"].tolist(), strict=True):
        mine = lane_id(near, lane)
        if port < 0:
            ends[mine] = FarEnd(part, None)
        elif part.kind == "gpu":
            ends[mine] = FarEnd(part, lane_id(part, port))
            ends[lane_id(part, port)] = FarEnd(near, mine)
        else:
            ends[mine] = FarEnd(part, part / f"port{port}")
    return ends


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain_value(value) for key, value in facts.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, ComponentId):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain_value(item) for item in value]
    return value
