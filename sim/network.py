"""The network between simulated nodes, and what a transfer across it crosses: the world's own table, as `crossing.py`.

Every compute NIC of a node is on a rail of its own. A leaf serves one rail of a group of nodes, and every leaf is wired
to every spine once. Leaves, rail by rail of the first group, then of the next: `leaf-1` and on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from .board import Gpu, Nic
from .hardware import Hardware

_SWITCH = re.compile(r"(leaf|spine)-([1-9]\d{0,4})")
_UPLINK = re.compile(r"uplink/(leaf-[1-9]\d{0,4})~(spine-[1-9]\d{0,4})")
_CABLE = re.compile(r"cable/([^/:~]{1,63}):([^/:~]{1,31})~(leaf-[1-9]\d{0,4}):port([1-9]\d{0,3})")


@dataclass(frozen=True, slots=True)
class Wire:
    """A cable: two ends, each a part and its port."""

    here: str
    here_port: int
    there: str
    there_port: int


@dataclass(frozen=True)
class Network:
    """Leaves and spines, and where each node is plugged in."""

    nodes: tuple[Hardware, ...]
    nodes_per_leaf: int
    spines: int
    routing: str = "adaptive"

    @property
    def rails(self) -> int:
        """Compute NICs of a node."""
        return len(self.nodes[0].board.compute_nics)

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return -(-len(self.nodes) // self.nodes_per_leaf) * self.rails

    def node(self, name: str) -> Hardware:
        """A node by name."""
        return self._by_name[name]

    def rail(self, node: Hardware, nic: Nic) -> int:
        """The rail a NIC is on: its place among the node's compute NICs."""
        return node.board.rail(nic)

    def leaf(self, node: Hardware, nic: Nic) -> str:
        """The leaf a NIC is plugged into."""
        return f"leaf-{node.index // self.nodes_per_leaf * self.rails + self.rail(node, nic) + 1}"

    def port(self, node: Hardware) -> int:
        """The leaf's port, the same on every rail."""
        return node.index % self.nodes_per_leaf + 1

    def cable(self, node: Hardware, nic: Nic) -> str:
        """The cable of a NIC."""
        return f"cable/{node.node}:{nic.name}~{self.leaf(node, nic)}:port{self.port(node)}"

    def spine(self, node: Hardware, nic: Nic) -> str:
        """The spine that statically routed traffic to a NIC takes.

        The NICs of a leaf are dealt out to the spines in turn, so that of transfers to as many as there are spines no
        two share a downlink.
        """
        return f"spine-{(node.index % self.nodes_per_leaf + self.rail(node, nic)) % self.spines + 1}"

    def nic_beside(self, node: Hardware, gpu: Gpu) -> Nic:
        """The NIC below the same PCIe switch, of several the one with the GPU's place among its fellows."""
        return node.board.nic_beside(gpu)

    def wires(self) -> Iterator[Wire]:
        """All cables: NICs to leaves, then leaves to spines."""
        for node in self.nodes:
            for nic in node.board.compute_nics:
                yield Wire(f"{node.node}/{nic.name}", 1, self.leaf(node, nic), self.port(node))
        for leaf in range(1, self.leaves + 1):
            for spine in range(1, self.spines + 1):
                yield Wire(f"leaf-{leaf}", self.nodes_per_leaf + spine, f"spine-{spine}", leaf)

    def has(self, part: str) -> bool:
        """Whether a part of the network is there."""
        if found := _SWITCH.fullmatch(part):
            return int(found[2]) <= (self.leaves if found[1] == "leaf" else self.spines)
        if found := _UPLINK.fullmatch(part):
            return self.has(found[1]) and self.has(found[2])
        return bool(self.nics_at(part))

    def nics_at(self, part: str) -> tuple[tuple[Hardware, Nic], ...]:
        """The NICs that lose their link with a part: that of a cable, all of a leaf; none of an uplink or a spine."""
        if found := _CABLE.fullmatch(part):
            node = self._by_name.get(found[1])
            nics = [nic for nic in node.board.compute_nics if nic.name == found[2]] if node is not None else []
            return tuple((node, nic) for nic in nics if node is not None and self.cable(node, nic) == part)
        if (found := _SWITCH.fullmatch(part)) and found[1] == "leaf" and self.has(part):
            group, rail = divmod(int(found[2]) - 1, self.rails)
            members = self.nodes[group * self.nodes_per_leaf : (group + 1) * self.nodes_per_leaf]
            return tuple((node, node.board.compute_nics[rail]) for node in members)
        return ()

    def like(self, part: str) -> str:
        """What there is that a part of the network may have been meant for."""
        node = self._by_name.get(part.partition("/")[2].partition(":")[0]) or self.nodes[0]
        nics = node.board.compute_nics
        nic = next((nic for nic in nics if f":{nic.name}~" in f"{part}~"), nics[0])
        return (
            f"leaf-1 to leaf-{self.leaves}, spine-1 to spine-{self.spines}, uplink/leaf-1~spine-1, "
            f"{self.cable(node, nic)}"
        )

    def crossed(
        self, source: Hardware, gpu: str, target: Hardware, other: str, without: Sequence[str] = ()
    ) -> Mapping[str, float]:
        """Parts that a GPUDirect transfer between two GPUs crosses, with the share of it that each carries.

        Of two nodes, or of one whose traffic is made to leave it. `without`: uplinks and spines that are gone, which
        adaptive routing leaves out.
        """
        ends = ((source, source.gpu(gpu)), (target, target.gpu(other)))
        shares: dict[str, float] = {}
        for node, end in ends:
            nic = self.nic_beside(node, end)
            parts = (f"{node.node}/{part}" for part in way_to_nic(end, nic))
            shares |= dict.fromkeys((*parts, self.cable(node, nic)), 1.0)
        here, there = (self.leaf(node, self.nic_beside(node, end)) for node, end in ends)
        spine = self.spine(target, self.nic_beside(*ends[1]))
        return shares | self.between(here, there, spine, without)

    def between(self, here: str, there: str, spine: str, without: Sequence[str] = ()) -> dict[str, float]:
        """From leaf to leaf; `spine`: the one that static traffic takes."""
        if here == there:
            return {here: 1.0}
        taken = [spine] if self.routing == "static" else self._up(here, there, without)
        shares = {here: 1.0, there: 1.0}
        for one in taken:
            shares |= dict.fromkeys((one, f"uplink/{here}~{one}", f"uplink/{there}~{one}"), 1.0 / len(taken))
        return shares

    def _up(self, here: str, there: str, without: Sequence[str]) -> list[str]:
        """The spines that both leaves can still reach; all where there is none, for then nothing can be left out."""
        every = [f"spine-{number}" for number in range(1, self.spines + 1)]
        gone = set(without)
        up = [one for one in every if gone.isdisjoint((one, f"uplink/{here}~{one}", f"uplink/{there}~{one}"))]
        return up or every

    @cached_property
    def _by_name(self) -> Mapping[str, Hardware]:
        return {node.node: node for node in self.nodes}


def is_of_network(part: str) -> bool:
    """Whether a component's id names a part of the network: a leaf, a spine, an uplink, a cable."""
    return part.startswith(("cable/", "uplink/")) or _SWITCH.fullmatch(part) is not None


def network_kind(part: str) -> str:
    """`leaf`, `spine`, `uplink` or `cable`."""
    return re.split("[/-]", part, maxsplit=1)[0]


def way_to_nic(gpu: Gpu, nic: Nic) -> tuple[str, ...]:
    """From a GPU up to what both hang on, and down to a NIC; the host's memory is not touched.

    That is a PCIe switch, or the sockets where they have no bridge in common.
    """
    shared = [bridge for bridge, other in zip(gpu.path, nic.path, strict=False) if bridge == other]
    top = len(shared) - 1 if shared else 0
    links = dict.fromkeys((*gpu.path[top:], *nic.path[top:]))
    sockets = () if shared else dict.fromkeys((f"numa{gpu.numa}", f"numa{nic.numa}"))
    bridges = (f"pcie/{bridge}" for bridge in links)
    return ("host", gpu.name, f"{gpu.name}/pcie", *bridges, *sockets, f"{nic.name}/pcie", nic.name)
