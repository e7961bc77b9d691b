"""One node's fabric from what is said about it."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from ..incident.ids import ComponentId, NodeId, host_id, numa_id
from ..incident.platforms import Platform
from .claims import (
    ChainClaim,
    Claim,
    ClosenessClaim,
    LaneClaim,
    LaneCountClaim,
    PartClaim,
    PcieClaim,
    Source,
)
from .closeness import by_source, contradicts, inferred_switches, is_flattened
from .fabric import Fabric
from .lane_bundles import Lanes
from .opinions import Opinions
from .pcie_tree import Chains, add_socket, hang, hear_link
from .racks import domain_id
from .recognition import recognize
from .shared_graph import Facts, Graph, around, connect, put_part

DEVICES = ("gpu", "nic")
NAMED = ("gpu", "hbm", "nvlink", "nvswitch", "numa", "bridge", "host", "pcie", "port")
"""Kinds of parts that an id alone tells."""


def node_fabric(node: NodeId, claims: Iterable[Claim], platform: Platform | None = None) -> Fabric:
    """The fabric of one node; what platform it is tells the caller, or its parts do."""
    graph: Graph = nx.Graph()
    heard = _Heard(node)
    for claim in sorted(claims, key=lambda claim: claim.source.trust):
        heard.hear(claim)
    heard.infer()
    heard.build(graph)
    fabric = Fabric(graph, {}, claimed={(said.here, said.there): _words(said) for said in reversed(heard.closeness)})
    found = platform or recognize(fabric, node)
    heard.add_c2c(graph, found)
    heard.check_closeness(fabric)
    domain = domain_id(heard.opinions, heard.parts("gpu"), host_id(node))
    return Fabric(
        graph,
        {node: found} if found else {},
        heard.opinions.contradictions(),
        {node: domain} if domain else {},
        fabric.claimed,
    )


def _words(claim: ClosenessClaim) -> str:
    """`NV18`, `PIX`, as `topo -m` prints it."""
    return f"NV{claim.lanes}" if claim.closeness == "NV" and claim.lanes else claim.closeness


class _Heard:
    """All that is said about one node, the most trusted first."""

    def __init__(self, node: NodeId) -> None:
        self.node = node
        self.opinions = Opinions()
        self.closeness: list[ClosenessClaim] = []
        self._kinds: dict[ComponentId, str] = {}
        self._chains = Chains()
        self._lanes = Lanes(self.opinions)

    def hear(self, claim: Claim) -> None:
        """Take one claim into account; claims about the network are not a node's."""
        match claim:
            case PartClaim():
                self._name(claim.part, claim.kind)
                self.opinions.say_all(claim.part, claim.facts, claim.source)
            case ChainClaim():
                self._name(claim.device)
                self._chains.hear(self.opinions, claim)
            case PcieClaim():
                hear_link(self.opinions, claim)
                if claim.link.kind == "pcie":
                    self._name(claim.link.parent)
            case LaneClaim() if claim.gpu.kind == "gpu":
                self._name(claim.gpu)
                self._lanes.hear(claim)
            case LaneCountClaim() if claim.gpu.kind == "gpu":
                self._name(claim.gpu)
                self._lanes.hear_count(claim)
            case ClosenessClaim():
                self._name(claim.here)
                self._name(claim.there)
                self.closeness.append(claim)

    def _name(self, part: ComponentId, kind: str = "") -> None:
        """Note that a part is there. What kind it is says its id, except for NICs, whose names are anybody's choice."""
        self._kinds.setdefault(part, part.kind if part.kind in NAMED or kind in ("", *NAMED) else kind)

    def parts(self, kind: str) -> list[ComponentId]:
        """The parts of one kind that anybody names."""
        return [part for part, found in self._kinds.items() if found == kind]

    def infer(self) -> None:
        """Devices of which nobody names a bridge share a switch where the closeness claims say so."""
        free = {part for kind in DEVICES for part in self.parts(kind) if not self._chains.above(part)}
        for source, claims in by_source(self.closeness).items():
            if not is_flattened(claims):
                for device, switch in inferred_switches(claims, free).items():
                    self._chains.infer(device, (switch,), source)

    def build(self, graph: Graph) -> None:
        """Put all parts and links into the graph."""
        put_part(graph, host_id(self.node), self._facts_of(host_id(self.node), "host", bool(self._kinds)))
        for part, kind in self._kinds.items():
            if kind not in ("host", "hbm", "numa"):
                put_part(graph, part, self._facts_of(part, kind, self._is_told(part, kind)))
        for kind in DEVICES:
            for device in self.parts(kind):
                self._hang(graph, device)
        for socket in self.parts("numa"):
            add_socket(graph, self.opinions, socket)
        self._lanes.wire(graph)
        for gpu in self.parts("gpu"):
            self._add_memory(graph, gpu)
        self._chains.settle(self.opinions)

    def add_c2c(self, graph: Graph, platform: Platform | None) -> None:
        """The link of each GPU to its Grace socket, where the socket is told."""
        for gpu in self.parts("gpu"):
            source = self.opinions.said(gpu).get("c2c_numa", Source.PLATFORM)
            numa = self.opinions.number(gpu, "c2c_numa")
            if numa is None and platform is not None and platform.c2c_gbs:
                numa = self.opinions.number(gpu, "numa")
            if numa is None:
                continue
            put_part(graph, gpu, {**graph.nodes[gpu], "c2c_numa": numa})
            add_socket(graph, self.opinions, numa_id(self.node, numa))
            link: Facts = {"kind": "c2c", "link": f"{gpu.within}/c2c", "said": {"far": source}}
            if platform is not None and platform.c2c_gbs:
                link |= {"max_gbs": platform.c2c_gbs, "said": {"far": source, "max_speed": Source.PLATFORM}}
            self._free(graph, gpu, numa_id(self.node, numa))
            connect(graph, gpu, {numa_id(self.node, numa): link})

    def _free(self, graph: Graph, gpu: ComponentId, socket: ComponentId) -> None:
        """Two parts have one edge: a PCIe link of which nobody names a bridge then ends at the host."""
        if graph.nodes[gpu].get("above") == socket.within:
            link = around(graph, gpu)[socket]
            put_part(graph, gpu, {**graph.nodes[gpu], "above": host_id(self.node).within})
            connect(graph, gpu, {host_id(self.node): link})

    def check_closeness(self, fabric: Fabric) -> None:
        """Hold what `topo -m` claims against what the bridges and sockets say."""
        for source, claims in by_source(self.closeness).items():
            if not is_flattened(claims):
                once = {frozenset((claim.here, claim.there)): claim for claim in reversed(claims)}
                for claim in reversed(once.values()):
                    self._check(fabric, claim, source)

    def _check(self, fabric: Fabric, claim: ClosenessClaim, source: Source) -> None:
        structure = fabric.pcie_closeness(claim.here, claim.there)
        if structure is None or not contradicts(structure, claim.closeness):
            return
        attribute = f"closeness to {claim.there.within}"
        by_socket = self.opinions.said(claim.here).get("numa", source)
        stands = self._chains.said(claim.here).get("bridges", by_socket)
        self.opinions.say(claim.here, attribute, structure, stands)
        self.opinions.contradict(claim.here, attribute, claim.closeness, source)

    def _hang(self, graph: Graph, device: ComponentId) -> None:
        """Wire a device to what is above it, as far as anything is told of where it sits."""
        bridges, numa = self._chains.above(device), self.opinions.number(device, "numa")
        said = {**graph.nodes[device].get("said", {}), **self._chains.said(device)}
        graph.nodes[device].update({"bridges": bridges, "said": said} if bridges else {})
        link = self.opinions.facts(device / "pcie")
        if graph.nodes[device]["known"] or link or bridges or numa is not None:
            hang(graph, self.opinions, device, bridges, numa)

    def _add_memory(self, graph: Graph, gpu: ComponentId) -> None:
        memory = gpu / "hbm"
        size = self.opinions.value(gpu, "memory_bytes")
        facts: Facts = {"kind": "hbm", "known": graph.nodes[gpu]["known"], **self.opinions.facts(memory)}
        put_part(graph, memory, facts if size is None else {**facts, "memory_bytes": size})
        connect(graph, gpu, {memory: {"kind": "memory"}})

    def _facts_of(self, part: ComponentId, kind: str, is_known: bool) -> Facts:
        facts: Facts = {**self.opinions.facts(part), "kind": kind, "known": is_known}
        if said := self.opinions.said(part):
            facts["said"] = said
        return facts

    def _is_told(self, part: ComponentId, kind: str) -> bool:
        """A GPU or NIC is known once somebody says where it sits."""
        return kind not in DEVICES or self.opinions.value(part, "bus_address") is not None
