"""The fabric of the chosen nodes as a graph of their parts, and the questions that drawings, rules and probes ask it.

What the graph holds says `shared_graph.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import networkx as nx

from ..incident.ids import ComponentId, NodeId, bridge_id, numa_id
from ..incident.platforms import Platform
from .addresses import canonical_address as canonical_address
from .addresses import natural as natural
from .claims import Contradiction, Source
from .closeness import closeness_of
from .components import FarEnd, LinkState, PcieSwitch
from .lane_bundles import total_lanes
from .link_states import lane_states, link_state
from .parts_index import PartsIndex, index_parts, joined_index
from .plain import plain_contradictions, plain_edges, plain_parts
from .shared_graph import Graph, around, share
from .wires import cable_id, wires_of

Closeness: TypeAlias = Mapping[tuple[ComponentId, ComponentId], str]


class Fabric:
    """The parts of some nodes and how they are wired. Immutable once built."""

    def __init__(
        self,
        graph: Graph,
        platforms: Mapping[NodeId, Platform],
        contradictions: tuple[Contradiction, ...] = (),
        domains: Mapping[NodeId, str] | None = None,
        claimed: Closeness | None = None,
    ) -> None:
        """`graph` as `shared_graph` says; `platforms` of the nodes that were recognized; NVLink `domains` of those that
        are not one of their own; how close devices are `claimed` to be.
        """
        self.graph = graph
        self.contradictions = contradictions
        """What sources disagree on."""
        self._platforms = dict(platforms)
        self._domains = dict(domains or {})
        self._claimed = dict(claimed or {})
        self._wires: dict[ComponentId, Mapping[ComponentId, FarEnd | None]] = {}
        self._addresses: dict[ComponentId, Mapping[str, ComponentId]] = {}

    @classmethod
    def joined(cls, fabrics: Iterable[Fabric]) -> Fabric:
        """One fabric of several nodes' or more: each is indexed already, so that this is quick."""
        parts = list(fabrics)
        whole = cls(nx.Graph(), {}, tuple(said for part in parts for said in part.contradictions))
        share(whole.graph, (part.graph for part in parts))
        for part in parts:
            whole._platforms |= part._platforms
            whole._domains |= part._domains
            whole._claimed |= part._claimed
            whole._wires |= part._wires
        whole.__dict__["_by_kind"] = joined_index(part._by_kind for part in parts)
        return whole

    def rewired(self, contradictions: tuple[Contradiction, ...]) -> Fabric:
        """The same after its graph got further parts, with what sources of these disagree on."""
        said = (*self.contradictions, *contradictions)
        return Fabric(self.graph, self._platforms, said, self._domains, self._claimed)

    @property
    def domains(self) -> Mapping[NodeId, str]:
        """The NVLink domain of every node that is not one by itself."""
        return self._domains

    @property
    def claimed(self) -> Closeness:
        """How close devices are claimed to be."""
        return self._claimed

    @cached_property
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
        """A node's NVSwitches by number; none on many boards, and those of a rack belong to its domain."""
        return self._of(node, "nvswitch")

    def nics(self, node: str) -> tuple[ComponentId, ...]:
        """A node's NICs by number."""
        return self._of(node, "nic")

    def bridges(self, node: str) -> tuple[ComponentId, ...]:
        """A node's PCIe bridges above GPUs and NICs."""
        return self._of(node, "bridge")

    def sockets(self, node: str) -> tuple[ComponentId, ...]:
        """A node's NUMA nodes that devices hang on."""
        return self._of(node, "numa")

    def parts(self, kind: str) -> tuple[ComponentId, ...]:
        """All parts of one kind (`gpu`, `netswitch`, `switchtray`, ...), node by node."""
        return tuple(part for kinds in self._by_kind.values() for part in kinds.get(kind, ()))

    def kind_of(self, component: str) -> str | None:
        """What sort of part it is (a network switch is a `netswitch`); None where it does not stand here."""
        kind = self.facts(component).get("kind")
        return None if kind is None else str(kind)

    def facts(self, component: str) -> Mapping[str, Any]:
        """All that stands about a part; empty where it does not stand here. Not to be changed."""
        part = ComponentId(component)
        found: Mapping[str, Any] = self.graph.nodes[part] if part in self.graph else {}
        return found

    def is_known(self, component: str) -> bool:
        """False for a part that is only named: its facts are missing."""
        return bool(self.facts(component).get("known", False))

    def inferred(self, component: str) -> bool:
        """True for a part that no source names: it was concluded from what they say of others."""
        return bool(self.facts(component).get("inferred", False))

    def source_of(self, component: str, attribute: str) -> Source | None:
        """Who said what stands about an attribute of a part or a link; None where nobody did."""
        said: Mapping[str, Source] = self.facts(component).get("said", {})
        if attribute not in said and (link := self.link(component)) is not None:
            said = link.said
        return said.get(attribute)

    def bus_address(self, component: str) -> str | None:
        """`0000:19:00.0` of a GPU, NIC, NVSwitch or bridge; None where the node doesn't say."""
        address = self.facts(component).get("bus_address")
        return None if address is None else str(address)

    def component_at(self, node: str, bus_address: str) -> ComponentId | None:
        """The part of a node at a bus address, however its letters and leading zeros are written."""
        place = ComponentId(node)
        if place not in self._addresses:
            parts = [part for kind in ("bridge", "nvswitch", "nic", "gpu") for part in reversed(self._of(node, kind))]
            self._addresses[place] = {address: part for part in parts if (address := self.bus_address(part))}
        return self._addresses[place].get(canonical_address(bus_address))

    # NVLink

    def lanes(self, gpu: str) -> tuple[ComponentId, ...]:
        """The wired NVLinks of a GPU by number; empty where it has none or nobody tells them apart."""
        return tuple(self._ends(gpu))

    def far_end(self, lane: str) -> FarEnd | None:
        """What a lane is wired to; None where the node doesn't say."""
        return self._ends(ComponentId(lane).parent).get(ComponentId(lane))

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
        return tuple(lane for lane, far in self._ends(gpu).items() if far is not None and far.part == part)

    def lane_counts(self, gpu: str) -> Mapping[ComponentId, int]:
        """How many lanes lead from a GPU to each NVSwitch or GPU, those included that are only counted."""
        return {part: facts["count"] for part, facts in around(self.graph, gpu).items() if facts["kind"] == "nvlink"}

    def lane_count(self, gpu: str) -> int:
        """How many NVLinks a GPU has, whether or not somebody tells them apart."""
        bundles = (facts for facts in around(self.graph, gpu).values() if facts["kind"] == "nvlink")
        return total_lanes(bundles, self.facts(gpu))

    def domain_of(self, node: str) -> str | None:
        """The NVLink domain: a rack's by cluster and clique, else the node itself; None for a node that is not here."""
        if "host" not in self._by_kind.get(ComponentId(node), {}):
            return None
        return self._domains.get(NodeId(node), str(node))

    def domain_nodes(self, domain: str) -> tuple[NodeId, ...]:
        """The nodes of an NVLink domain."""
        return tuple(node for node in self.nodes if self.domain_of(node) == domain)

    def domain_switches(self, domain: str) -> tuple[ComponentId, ...]:
        """The NVSwitches of a domain, wherever they sit."""
        found = dict.fromkeys(
            part
            for node in self.domain_nodes(domain)
            for part in (*self.nvswitches(node), *(far for gpu in self.gpus(node) for far in self.lane_counts(gpu)))
        )
        return tuple(sorted((part for part in found if part.kind == "nvswitch"), key=natural))

    # PCIe

    def chain(self, device: str) -> tuple[ComponentId, ...]:
        """The PCIe links above a GPU or NIC: its own first, up to the root port; empty where the path is not known."""
        bridges = self.facts(device).get("bridges", ())
        if not bridges:
            return ()
        part = ComponentId(device)
        return (part / "pcie", *(bridge_id(part.node, address) for address in reversed(bridges)))

    def groups(self, node: str) -> tuple[PcieSwitch, ...]:
        """The PCIe switches of a node with what hangs right below each, in the order of their first device."""
        below: dict[ComponentId | None, list[ComponentId]] = {}
        for device in (*self.gpus(node), *self.nics(node)):
            below.setdefault(self.switch_above(device), []).append(device)
        return tuple(self._group(switch, devices) for switch, devices in below.items())

    def switch_above(self, device: str) -> ComponentId | None:
        """The PCIe switch right above a device, by its upstream port (the root port where there is no switch)."""
        bridges = self.facts(device).get("bridges", ())
        return bridge_id(ComponentId(device).node, bridges[max(0, len(bridges) - 2)]) if bridges else None

    def numa_of(self, device: str) -> ComponentId | None:
        """The socket's memory that is local to a GPU or NIC; None where the node doesn't say."""
        numa = self.facts(device).get("numa")
        return None if numa is None else numa_id(ComponentId(device).node, numa)

    def c2c_of(self, gpu: str) -> ComponentId | None:
        """The link by which a GPU hangs on its Grace socket, `node/gpu0/c2c`; None where it has none."""
        return ComponentId(gpu) / "c2c" if "c2c_numa" in self.facts(gpu) else None

    def closeness(self, here: str, there: str) -> str | None:
        """What traffic between two devices of a node crosses, as `topo -m` says it: NV18, PIX, PXB, PHB, NODE, SYS.

        From the structure, else as a source claims it; None where neither tells.
        """
        one, other = ComponentId(here), ComponentId(there)
        if one.kind == other.kind == "gpu" and (lanes := self._lanes_between(one, other)):
            return f"NV{lanes}"
        claimed = self._claimed.get((one, other)) or self._claimed.get((other, one))
        return claimed if claimed and claimed.startswith("NV") else self.pcie_closeness(one, other) or claimed

    def pcie_closeness(self, here: str, there: str) -> str | None:
        """The same over PCIe alone and from the structure alone."""
        one, other = self.facts(here), self.facts(there)
        sockets = (one.get("numa"), other.get("numa"))
        if any(self.inferred(switch) for switch in map(self.switch_above, (here, there)) if switch):
            same = self.switch_above(here) == self.switch_above(there)
            return "PIX" if same else closeness_of((), (), sockets)
        return closeness_of(one.get("bridges", ()), other.get("bridges", ()), sockets)

    # Network

    @cached_property
    def netswitches(self) -> tuple[ComponentId, ...]:
        """All network switches: leaves, spines and those of which nobody says."""
        return tuple(sorted(self.parts("netswitch"), key=natural))

    def leaf_of(self, nic: str) -> ComponentId | None:
        """The switch a NIC is plugged into; None where nobody says."""
        return next((part for part, facts in around(self.graph, nic).items() if facts["kind"] == "cable"), None)

    def cable_of(self, nic: str) -> ComponentId | None:
        """The cable between a NIC and its switch; None where nobody says."""
        leaf = self.leaf_of(nic)
        return None if leaf is None else cable_id(ComponentId(nic), leaf, around(self.graph, nic)[leaf])

    def uplinks(self, switch: str) -> tuple[ComponentId, ...]:
        """The network switches a network switch is wired to."""
        found = (part for part, facts in around(self.graph, switch).items() if facts["kind"] == "uplink")
        return tuple(sorted(found, key=natural))

    def rail_of(self, nic: str) -> int | None:
        """The rail a NIC is on; None where nobody says."""
        rail = self.facts(nic).get("rail")
        return int(rail) if isinstance(rail, int | float) else None

    def spine_to(self, nic: str) -> ComponentId | None:
        """The spine that traffic to a NIC goes through, as forwarding tables tell it; None where nobody says.

        Forwarding by destination, as InfiniBand's: the same from every leaf. Fact `spine` of the NIC."""
        spine = self.facts(nic).get("spine")
        named = ComponentId(spine) if isinstance(spine, str) and spine in self.graph else None
        return named if named is not None and self.kind_of(named) == "netswitch" else None

    def spreads(self, leaf: str) -> bool:
        """Whether a leaf is known to send over all its uplinks at once; fact `routing`: `adaptive`."""
        return self.facts(leaf).get("routing") == "adaptive"

    def rack_of(self, node: str) -> str | None:
        """The rack a node stands in; None where nobody says."""
        rack = self.facts(ComponentId(node) / "host").get("rack")
        return None if rack is None else str(rack)

    def hbm_of(self, gpu: str) -> ComponentId | None:
        """A GPU's memory."""
        memory = ComponentId(gpu) / "hbm"
        return memory if memory in self.graph else None

    # Links

    def link(self, component: str) -> LinkState | None:
        """A PCIe link, lane, C2C, cable or uplink as it is and as it can be; None for what is no link here."""
        return link_state(self.graph, ComponentId(component), self.platform_of(ComponentId(component).node))

    def lane_states(self, gpu: str) -> Mapping[int, str]:
        """`up`, `down` or `unknown` of the lanes of a GPU by number, without those that are only counted."""
        return lane_states(self.graph, ComponentId(gpu))

    def edges(self) -> Iterator[tuple[ComponentId, ComponentId, Mapping[str, Any]]]:
        """All edges with their facts; `link` is a component id."""
        for here, there, facts in self.graph.edges(data=True):
            if "link" in facts:
                yield here, there, {**facts, "link": here.node / facts["link"]}
            else:
                yield here, there, facts

    def to_json(self) -> dict[str, Any]:
        """The graph as plain JSON values: `parts`, `edges`, `platforms`, `domains`, `contradictions`."""
        return {
            "platforms": {str(node): platform.key for node, platform in self._platforms.items()},
            "domains": {str(node): domain for node, domain in self._domains.items()},
            "parts": plain_parts(self.graph.nodes.items()),
            "edges": plain_edges(self.edges()),
            "contradictions": plain_contradictions(self.contradictions),
        }

    @cached_property
    def _by_kind(self) -> PartsIndex:
        return index_parts(self.graph)

    def _of(self, node: str, kind: str) -> tuple[ComponentId, ...]:
        return self._by_kind.get(ComponentId(node), {}).get(kind, ())

    def _ends(self, gpu: str) -> Mapping[ComponentId, FarEnd | None]:
        """The lanes of a GPU by number, with what they are wired to; made when first asked for."""
        part = ComponentId(gpu)
        if part not in self._wires:
            self._wires[part] = wires_of(self.graph, part)
        return self._wires[part]

    def _lanes_between(self, one: ComponentId, other: ComponentId) -> int:
        mine, others = self.lane_counts(one), self.lane_counts(other)
        if other in mine:
            return mine[other]
        return min(self.lane_count(one), self.lane_count(other)) if mine.keys() & others.keys() else 0

    def _group(self, switch: ComponentId | None, devices: list[ComponentId]) -> PcieSwitch:
        sockets = {self.facts(device).get("numa") for device in devices}
        return PcieSwitch(
            switch,
            sockets.pop() if len(sockets) == 1 else None,
            tuple(device for device in devices if self.kind_of(device) == "gpu"),
            tuple(device for device in devices if self.kind_of(device) == "nic"),
        )
