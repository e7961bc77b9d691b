"""The network between nodes as a session has read it, for the fabric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...incident.events import NetworkRead, Wire
from ...incident.ids import ComponentId
from ..claims import CableClaim, Claim, PartClaim, Source

SOURCES = {"ibnetdiscover": Source.IBNETDISCOVER}


def claims_of_network(read: NetworkRead) -> Iterator[Claim]:
    """Its switches and cables."""
    source = SOURCES.get(read.source, Source.INVENTORY)
    for name, tier in read.switches.items():
        yield PartClaim(ComponentId(name), "netswitch", source, {"tier": tier} if tier else {})
    for wire in read.wires:
        yield CableClaim(wire.here, wire.here_port, wire.there, wire.there_port, source)


def network_of(claims: Iterable[Claim]) -> tuple[dict[str, str], tuple[Wire, ...]]:
    """Switches by name with their tier, and cables, of what sources claim."""
    switches: dict[str, str] = {}
    wires: list[Wire] = []
    for claim in claims:
        if isinstance(claim, PartClaim) and claim.kind == "netswitch":
            switches[str(claim.part)] = str(claim.facts.get("tier") or "")
        elif isinstance(claim, CableClaim):
            wires.append(Wire(claim.here, claim.here_port, claim.there, claim.there_port))
    return switches, tuple(wires)
