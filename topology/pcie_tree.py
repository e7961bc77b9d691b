"""The PCIe tree of a node: every device hangs, through the bridges above it, on a socket or the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from ..incident.ids import ComponentId, bridge_id, host_id, numa_id
from .addresses import canonical_address
from .agreement import GTS_OF_GENERATION
from .claims import ChainClaim, PcieClaim, Source
from .opinions import Opinions
from .shared_graph import Facts, Graph, connect, put_part

SPEED_OF = {"generation": "speed_gts", "max_generation": "max_speed_gts"}
UNSEEN: Facts = {"known": False, "inferred": True}
LINK_ATTRIBUTES = ("speed_gts", "width", "max_speed_gts", "max_width")


def hear_link(opinions: Opinions, claim: PcieClaim) -> None:
    """Take the state of one PCIe link into account; a generation is taken for its speed."""
    for attribute, value in claim.facts.items():
        if attribute not in SPEED_OF:
            opinions.say(claim.link, attribute, value, claim.source)
        elif isinstance(value, int | float) and value in GTS_OF_GENERATION:
            opinions.say(claim.link, SPEED_OF[attribute], GTS_OF_GENERATION[int(value)], claim.source)


class Chains:
    """Bridges above each device, by address from the root port down; the most trusted source that names any stands."""

    def __init__(self) -> None:
        self._bridges: dict[ComponentId, tuple[str, ...]] = {}
        self._source: dict[ComponentId, Source] = {}
        self._doubts: list[tuple[ComponentId, tuple[str, ...], Source]] = []

    def hear(self, opinions: Opinions, claim: ChainClaim) -> None:
        """Take one claim into account; claims come in the order of trust."""
        if claim.numa is not None:
            opinions.say(claim.device, "numa", claim.numa, claim.source)
        bridges = tuple(canonical_address(bridge) for bridge in claim.bridges)
        if bridges and claim.device not in self._bridges:
            self._bridges[claim.device] = bridges
            self._source[claim.device] = claim.source
        elif bridges:
            self._doubts.append((claim.device, bridges, claim.source))

    def above(self, device: ComponentId) -> tuple[str, ...]:
        """The bridges above a device; empty where nobody says."""
        return self._bridges.get(device, ())

    def said(self, device: ComponentId) -> Mapping[str, Source]:
        """Who said so."""
        return {"bridges": self._source[device]} if device in self._source else {}

    def infer(self, device: ComponentId, bridges: tuple[str, ...], source: Source) -> None:
        """Take a conclusion of ours for a device of which nobody names a bridge."""
        self._bridges.setdefault(device, bridges)
        self._source.setdefault(device, source)

    def settle(self, opinions: Opinions) -> None:
        """Note who contradicts what stands: who hangs a device below a bridge that leads to other devices.

        A shorter chain is none (NCCL leaves ports out), nor are addresses nobody else knows (clouds make them up).
        """
        known = {bridge for bridges in self._bridges.values() for bridge in bridges}
        for device, bridges, source in self._doubts:
            stands = self._bridges[device]
            if any(bridge in known and bridge not in stands for bridge in bridges):
                opinions.say(device, "bridges", "/".join(stands), self._source[device])
                opinions.contradict(device, "bridges", "/".join(bridges), source)


def hang(graph: Graph, opinions: Opinions, device: ComponentId, bridges: Sequence[str], numa: int | None) -> None:
    """Wire a device through its bridges, given from the root port down, to its socket, or to the host alone."""
    node = device.node
    _add_bridges(graph, node, bridges)
    above = [bridge_id(node, address) for address in reversed(bridges)]
    if numa is None:
        top = host_id(node)
    else:
        top = numa_id(node, numa)
        add_socket(graph, opinions, top)
    for below, upper in pairwise([device, *above, top]):
        if below != upper:
            _link(graph, opinions, below, upper)


def _add_bridges(graph: Graph, node: ComponentId, addresses: Iterable[str]) -> None:
    """The bridges of a chain; one without an address is of our making."""
    for address in addresses:
        part = bridge_id(node, address)
        if part not in graph:
            told: Facts = {"known": True, "bus_address": address}
            put_part(graph, part, {"kind": "bridge", **(told if ":" in address else UNSEEN)})


def add_socket(graph: Graph, opinions: Opinions, socket: ComponentId) -> None:
    """A socket's memory, on its host."""
    if socket not in graph:
        put_part(graph, socket, {"kind": "numa", "known": True, **opinions.facts(socket)})
    if host_id(socket.node) not in graph[socket]:
        connect(graph, socket, {host_id(socket.node): {"kind": "socket"}})


def _link(graph: Graph, opinions: Opinions, below: ComponentId, upper: ComponentId) -> None:
    """One link, once: of several tales about what is above a bridge the first stands."""
    facts = graph.nodes[below]
    if "above" in facts:
        return
    facts["above"] = upper.within
    link = below if facts["kind"] == "bridge" else below / "pcie"
    known = opinions.facts(link)
    state = {attribute: known[attribute] for attribute in LINK_ATTRIBUTES if attribute in known}
    kind = "root" if facts["kind"] == "bridge" and upper.kind != "bridge" else "pcie"
    connect(graph, below, {upper: {"kind": kind, "link": link.within, **state, "said": opinions.said(link)}})
