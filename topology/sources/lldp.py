"""From LLDP neighbours to claims: the switch port that each Ethernet interface is cabled to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...parsers.platform.lldp import Neighbour
from ..claims import CableClaim, Claim, PartClaim, Source
from .names import Names
from .switch_names import netswitch_id


def claims(readings: Iterable[object], names: Names) -> Iterator[Claim]:
    """The cables of one node's interfaces; those of interfaces that no NIC is known for are left out."""
    for reading in readings:
        if isinstance(reading, Neighbour) and (nic := names.interfaces.get(reading.interface)) is not None:
            title = reading.chassis_name or reading.chassis_id or ""
            port = reading.port_id or reading.port_description
            if title and port:
                switch = netswitch_id(title)
                yield PartClaim(switch, "netswitch", Source.LLDP, {"title": title, "tier": "leaf"})
                yield CableClaim(nic, 1, switch, port, Source.LLDP)
