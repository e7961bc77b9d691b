"""What people would know of the network of a simulated world: read by our own parsers from what its tools print."""

from __future__ import annotations

from collections.abc import Iterator

from ..incident.ids import ComponentId
from ..parsers.infiniband.ibnetdiscover import parse_ibnetdiscover
from ..sim.world import World
from ..topology.claims import Claim, PartClaim, Source
from ..topology.fabric import Fabric
from ..topology.merge import whole_fabric
from ..topology.sources.infiniband import network_claims as claims_of_readings
from ..topology.sources.platform import fabric_of


def network_claims(world: World) -> Iterator[Claim]:
    """Switches and cables as `ibnetdiscover` shows them; how traffic is forwarded, where people are told."""
    for claim in claims_of_readings(parse_ibnetdiscover(world.fabric_text()).readings, {}):
        yield claim
        if isinstance(claim, PartClaim) and claim.kind == "netswitch" and world.scenario.wiring.routing == "adaptive":
            yield PartClaim(claim.part, "netswitch", Source.IBNETDISCOVER, {"routing": "adaptive"})
    for nic, spine in world.forwarding().items():
        yield PartClaim(ComponentId(nic), "nic", Source.IBNETDISCOVER, {"spine": spine})


def fabric_of_world(world: World) -> Fabric:
    """The nodes of a world as the data sheet has them, plugged into its network."""
    nodes = fabric_of(world.scenario.nodes, world.scenario.platform)
    return whole_fabric([nodes], list(network_claims(world)))
