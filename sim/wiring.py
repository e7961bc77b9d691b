"""How the nodes' network is built: table [network] of a scenario, all optional.

[network]
nodes_per_leaf = 32        # a leaf serves one rail of so many nodes
spines = 32                # every leaf is wired to every spine once; enough for every node of a leaf unless said
routing = "static"         # "static": by destination; "adaptive": evenly over all spines that are up
told = true                # whether people can know by which spine static traffic goes
"""

from __future__ import annotations

from dataclasses import dataclass

from .table import Table

ROUTINGS = ("static", "adaptive")
NODES_PER_LEAF = 32
MOST_SPINES = 128


@dataclass(frozen=True, slots=True)
class Wiring:
    """Of the compute network."""

    nodes_per_leaf: int = NODES_PER_LEAF
    spines: int = 0
    """0: as many as a leaf serves nodes, so that no uplink is short."""
    routing: str = "static"
    """`static`: as InfiniBand's forwarding tables, the spine is a fixed function of the NIC that traffic goes to, the
    same at every leaf. `adaptive`: spread evenly over all spines that are up."""
    told: bool = True
    """Whether the fabric that people see has the forwarding of static traffic in it."""

    def for_nodes(self, count: int) -> Wiring:
        """With the spines counted out for so many nodes."""
        return self if self.spines else Wiring(self.nodes_per_leaf, self.enough(count), self.routing, self.told)

    def enough(self, count: int) -> int:
        """Spines so that every node of a full leaf has an uplink."""
        return max(1, min(self.nodes_per_leaf, count))

    def in_words(self) -> str:
        """One line for people."""
        how = "by destination" if self.routing == "static" else "spread over all spines"
        told = ", which nobody is told" if self.routing == "static" and not self.told else ""
        return f"network: {self.nodes_per_leaf} nodes to a leaf, {self.spines} spines, traffic {how}{told}"


def read_wiring(table: Table, nodes: int) -> Wiring:
    """The table [network]; raises InputError that names the key."""
    nodes_per_leaf = table.integer("nodes_per_leaf", 1, 512, NODES_PER_LEAF)
    wiring = Wiring(
        nodes_per_leaf=nodes_per_leaf,
        spines=table.integer("spines", 1, MOST_SPINES, Wiring(nodes_per_leaf).enough(nodes)),
        routing=table.text("routing", "static", ROUTINGS),
        told=table.flag("told", True),
    )
    table.done()
    return wiring
