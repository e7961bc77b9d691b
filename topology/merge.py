"""What all sources claim, merged into one fabric: the most trusted stands, who differs is a contradiction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..incident.ids import NodeId
from .claims import CableClaim, Claim, NodeClaims, PartClaim
from .fabric import Fabric
from .network import Network
from .node_graph import node_fabric
from .opinions import Opinions
from .racks import join_racks


def merge(claims: Iterable[NodeClaims]) -> Fabric:
    """The fabric of all nodes that anything is said about, and of the network between them."""
    nodes: dict[NodeId, list[Claim]] = {}
    network: list[Claim] = []
    for said in claims:
        if said.node is None:
            network += said.claims
        else:
            nodes.setdefault(said.node, []).extend(said.claims)
    return whole_fabric([node_fabric(node, found) for node, found in nodes.items()], network)


def whole_fabric(parts: Sequence[Fabric], network: Sequence[Claim] = ()) -> Fabric:
    """One fabric of nodes that stand already: their racks joined, the network's cables plugged in."""
    whole = Fabric.joined(parts)
    if not network and not whole.domains:
        return whole
    join_racks(whole)
    opinions = Opinions()
    wiring = Network(opinions, whole.graph)
    told = sorted(network, key=lambda claim: claim.source.trust)
    for claim in told:
        if isinstance(claim, PartClaim):
            wiring.hear_part(claim)
    for claim in told:
        if isinstance(claim, CableClaim):
            wiring.hear_cable(claim)
    wiring.settle_parts()
    wiring.wire()
    return whole.rewired((*wiring.contradictions, *opinions.contradictions()))
