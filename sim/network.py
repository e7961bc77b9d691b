"""The network between simulated nodes, and what a transfer across it crosses: the world's own table, as `crossing.py`.

Every NIC of a node is on a rail of its own. A leaf serves one rail of a group of nodes, every leaf is wired to every
spine once, and spines share the traffic between leaves evenly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .hardware import Gpu, Hardware, Nic


@dataclass(frozen=True, slots=True)
class Wire:
    """A cable: two ends, each a part and its port."""

    here: str
    here_port: int
    there: str
    there_port: int


@dataclass(frozen=True, slots=True)
class Network:
    """Leaves and spines, and where each node is plugged in."""

    nodes: tuple[Hardware, ...]
    nodes_per_leaf: int
    spines: int

    def rail(self, node: Hardware, nic: Nic) -> int:
        """The rail a NIC is on: its place among the node's compute NICs."""
        return [other.name for other in node.nics].index(nic.name)

    def leaf(self, node: Hardware, nic: Nic) -> str:
        """The leaf a NIC is plugged into."""
        group = node.index // self.nodes_per_leaf
        return f"leaf-{group * len(node.nics) + self.rail(node, nic) + 1}"

    def port(self, node: Hardware) -> int:
        """The leaf's port, the same on every rail."""
        return node.index % self.nodes_per_leaf + 1

    def wires(self) -> Iterator[Wire]:
        """All cables: NICs to leaves, then leaves to spines."""
        leaves: dict[str, None] = {}
        for node in self.nodes:
            for nic in node.nics:
                leaves[self.leaf(node, nic)] = None
                yield Wire(f"{node.node}/{nic.name}", 1, self.leaf(node, nic), self.port(node))
        for number, leaf in enumerate(leaves, 1):
            for spine in range(1, self.spines + 1):
                yield Wire(leaf, self.nodes_per_leaf + spine, f"spine-{spine}", number)

    def nic_beside(self, node: Hardware, gpu: Gpu) -> Nic:
        """The NIC below the same PCIe switch, of several the one with the GPU's place among its fellows."""
        fellows = [other for other in node.gpus if other.path[:-1] == gpu.path[:-1]]
        nics = [nic for nic in node.nics if nic.path[:-1] == gpu.path[:-1]]
        return nics[fellows.index(gpu) % len(nics)]

    def crossed(self, source: Hardware, gpu: str, target: Hardware, other: str) -> Mapping[str, float]:
        """Parts that a GPUDirect transfer between GPUs of two nodes crosses, with the share of it each carries."""
        shares: dict[str, float] = {}
        ends = ((source, source.gpu(gpu)), (target, target.gpu(other)))
        for node, end in ends:
            for part in self._within(node, end):
                shares[f"{node.node}/{part}"] = 1.0
        leaves = [self.leaf(node, self.nic_beside(node, end)) for node, end in ends]
        for node, end in ends:
            nic = self.nic_beside(node, end)
            shares[f"cable/{node.node}:{nic.name}~{self.leaf(node, nic)}:port{self.port(node)}"] = 1.0
        shares |= dict.fromkeys(leaves, 1.0)
        if leaves[0] != leaves[1]:
            for spine in (f"spine-{number}" for number in range(1, self.spines + 1)):
                for part in (spine, *(f"uplink/{leaf}~{spine}" for leaf in leaves)):
                    shares[part] = 1.0 / self.spines
        return shares

    def _within(self, node: Hardware, gpu: Gpu) -> tuple[str, ...]:
        """From the GPU down to the switch both hang on, and up again to the NIC; the host's memory is not touched."""
        nic = self.nic_beside(node, gpu)
        switch = gpu.path[-2]
        links = (f"{gpu.name}/pcie", f"pcie/{gpu.path[-1]}", f"pcie/{switch}", f"pcie/{nic.path[-1]}")
        return ("host", gpu.name, *links, f"{nic.name}/pcie", nic.name)
