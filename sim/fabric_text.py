"""The network as `ibnetdiscover` prints it: every switch and adapter with what each of its ports is wired to.

Source of the format: rdma-core ibnetdiscover.c. Adapters are described as `sim1 mlx5_0`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set

from .draws import hexadecimal
from .hardware import Hardware
from .network import Network, Wire

SPEEDS: Mapping[int, str] = {25: "EDR", 50: "HDR", 100: "NDR", 200: "XDR"}
"""Word for so many Gb/s of a lane; links have four."""
SWITCH_PREFIX = "b83fd203"
FIRST_LID = 1


class FabricText:
    """Writes one network's fabric."""

    def __init__(self, network: Network, without: Set[str]) -> None:
        """`without`: parts that are gone, as a look at the fabric would not find them."""
        self._network = network
        self._without = without
        self._nics = {
            f"{node.node}/{nic.name}": node.guid(nic).replace(":", "")
            for node in network.nodes
            for nic in node.board.compute_nics
        }
        self._lids: dict[str, int] = {}
        gbps = network.nodes[0].platform.nic_gbps
        self._rate = f"4x{SPEEDS.get(gbps // 4, '???')}"

    def lines(self) -> Iterator[str]:
        """All lines, switches first."""
        ports: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
        for wire in self._network.wires():
            if self._is_there(wire):
                ports[wire.here].append((wire.here_port, wire.there, wire.there_port))
                ports[wire.there].append((wire.there_port, wire.here, wire.here_port))
        yield "#\n# Topology file: generated on Tue Dec  1 00:00:00 2026\n#"
        for part in sorted(ports, key=lambda part: part in self._nics):
            yield from self._adapter(part, ports[part]) if part in self._nics else self._switch(part, ports[part])

    def _is_there(self, wire: Wire) -> bool:
        node, _, nic = wire.here.partition("/")
        cable = f"cable/{node}:{nic}~{wire.there}:port{wire.there_port}"
        parts = {wire.here, wire.there, cable if nic else f"uplink/{wire.here}~{wire.there}"}
        return self._without.isdisjoint(parts)

    def _switch(self, part: str, ports: list[tuple[int, str, int]]) -> Iterator[str]:
        guid, size = self._guid(part), self._network.nodes_per_leaf + max(self._network.spines, self._network.leaves)
        yield f"\nvendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x{guid}\nswitchguid=0x{guid}({guid})"
        yield f'Switch\t{size} "S-{guid}"\t\t# "{part}" enhanced port 0 lid {self._lid(part)} lmc 0'
        for port, there, there_port in sorted(ports):
            its, name = self._guid(there), there.replace("/", " ")
            own = f"({its})" if there in self._nics else ""
            kind = "H" if there in self._nics else "S"
            yield f'[{port}]\t"{kind}-{its}"[{there_port}]{own}\t\t# "{name}" lid {self._lid(there)} {self._rate}'

    def _adapter(self, part: str, ports: list[tuple[int, str, int]]) -> Iterator[str]:
        guid = self._guid(part)
        yield f"\nvendid=0x2c9\ndevid=0x1021\nsysimgguid=0x{guid}\ncaguid=0x{guid}"
        yield f'Ca\t1 "H-{guid}"\t\t# "{part.replace("/", " ")}"'
        for port, leaf, leaf_port in ports:
            about = f'lid {self._lid(part)} lmc 0 "{leaf}" lid {self._lid(leaf)} {self._rate}'
            yield f'[{port}]({guid}) \t"S-{self._guid(leaf)}"[{leaf_port}]\t\t# {about}'

    def _guid(self, part: str) -> str:
        return self._nics.get(part) or SWITCH_PREFIX + hexadecimal(8, "guid", self._seed, part)

    @property
    def _seed(self) -> int:
        return self._network.nodes[0].seed

    def _lid(self, part: str) -> int:
        return self._lids.setdefault(part, FIRST_LID + len(self._lids))


def forwarding(network: Network) -> Mapping[str, str]:
    """The spine by which static traffic reaches each NIC (`sim1/mlx5_0`), the same from every leaf."""
    nodes: tuple[Hardware, ...] = network.nodes
    return {f"{node.node}/{nic.name}": network.spine(node, nic) for node in nodes for nic in node.board.compute_nics}
