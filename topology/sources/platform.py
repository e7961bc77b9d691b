"""The fabric of a platform's nodes as the data sheet wires them: for plans and tests without a node to ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import networkx as nx

from ...incident.ids import ComponentId, NodeId, gpu_id, host_id, nvswitch_id
from ...incident.platforms import PcieDevice, PcieGroup, Platform
from ..claims import CableClaim, ChainClaim, Claim, LaneClaim, PartClaim, PcieClaim, Source, Value
from ..fabric import Fabric
from ..merge import whole_fabric
from ..node_graph import node_fabric
from ..shared_graph import stamp

TEMPLATE = NodeId("node")


def fabric_of(nodes: Sequence[str], platform: Platform, *, rails: int = 0, leaves: int = 0, spines: int = 0) -> Fabric:
    """These nodes, all of one platform. NVSwitch ports stay unknown: no data sheet numbers them.

    Where no layout says how its devices hang, they are only counted: GPUs, `nic0` and on, no bus address, no bridge.
    Racks take as many nodes as they have trays, in the order given. With `rails` the NICs are plugged in: NIC k of a
    node is on rail k modulo `rails`, each leaf serves one rail of a group of nodes, `leaves` (one a rail unless said)
    makes the groups, and every leaf has one cable to every spine.
    """
    names = [NodeId(node) for node in nodes]
    nics = _nic_names(platform)
    template = node_fabric(TEMPLATE, _node_claims(platform, nics, rails), platform)
    domains = {node: f"nvl-{at // platform.trays}" for at, node in enumerate(names)} if platform.switch_trays else {}
    whole = stamped(template, names, domains)
    wires = list(_wires(names, nics, platform.nic_gbps, rails, leaves or rails, spines)) if rails else []
    return whole_fabric([whole], wires)


def stamped(template: Fabric, nodes: Sequence[NodeId], domains: Mapping[NodeId, str]) -> Fabric:
    """A fabric of nodes that are all like the one of `template`, whose facts they share."""
    platform = template.platform
    whole = Fabric(nx.Graph(), dict.fromkeys(nodes, platform) if platform else {}, domains=domains)
    parts = [(part, f"/{part.within}") for part in template.graph]
    for node in nodes:
        stamp(whole.graph, template.graph, {part: ComponentId(node + within) for part, within in parts})
    return whole


def _nic_names(platform: Platform) -> list[str]:
    """By the layout, which numbers them with gaps; else counted."""
    if platform.has_layout:
        return [nic.name for group in platform.groups for nic in group.nics]
    return [f"nic{number}" for number in range(platform.nics)]


def _node_claims(platform: Platform, nics: Sequence[str], rails: int) -> Iterator[Claim]:
    yield PartClaim(host_id(TEMPLATE), "host", Source.PLATFORM)
    if not platform.switch_trays:
        for number in range(len(platform.switch_lanes)):
            addresses = platform.nvswitches[number : number + 1]
            facts: dict[str, Value] = {"bus_address": addresses[0]} if addresses else {}
            yield PartClaim(nvswitch_id(TEMPLATE, number), "nvswitch", Source.PLATFORM, facts)
    for index in range(platform.gpus):
        yield from _gpu(gpu_id(TEMPLATE, index), platform)
    for place, name in enumerate(nics):
        rail: dict[str, Value] = {"rail": place % rails} if rails else {}
        yield PartClaim(TEMPLATE / name, "nic", Source.PLATFORM, {**rail, "rate_gbps": platform.nic_gbps})
        yield _link(TEMPLATE / name, platform)
        if platform.sockets:
            yield ChainClaim(TEMPLATE / name, Source.PLATFORM, numa=place * platform.sockets // len(nics))
    for group in platform.groups:
        for device in group.devices:
            yield from _device(TEMPLATE / device.name, group, device)


def _gpu(gpu: ComponentId, platform: Platform) -> Iterator[Claim]:
    yield PartClaim(gpu, "gpu", Source.PLATFORM)
    if platform.sockets:
        yield ChainClaim(gpu, Source.PLATFORM, numa=gpu.number * platform.sockets // platform.gpus)
    else:
        yield _link(gpu, platform)
    for lane in range(platform.lanes_per_gpu):
        switch = platform.switch_of_lane(lane)
        if platform.switch_trays:
            yield LaneClaim(gpu, lane, Source.PLATFORM)
        elif switch >= 0:
            yield LaneClaim(gpu, lane, Source.PLATFORM, nvswitch_id(TEMPLATE, switch))


def _device(part: ComponentId, group: PcieGroup, device: PcieDevice) -> Iterator[Claim]:
    yield PartClaim(part, part.kind, Source.PLATFORM, {"bus_address": device.address})
    yield ChainClaim(part, Source.PLATFORM, (*group.chain, device.port), group.numa)


def _link(device: ComponentId, platform: Platform) -> Claim:
    facts: dict[str, Value] = {"max_generation": platform.pcie_generation, "max_width": platform.pcie_width}
    return PcieClaim(device / "pcie", Source.PLATFORM, facts)


def _wires(
    nodes: Sequence[NodeId], nics: Sequence[str], gbps: int, rails: int, leaves: int, spines: int
) -> Iterator[Claim]:
    """Cables from NICs to leaves, then from leaves to spines, and what is leaf and spine."""
    groups = max(1, leaves // rails)
    nodes_per_leaf = -(-len(nodes) // groups)
    nics_per_rail = -(-len(nics) // rails)
    facts: dict[str, Value] = {"max_rate_gbps": gbps}
    for at, node in enumerate(nodes):
        for place, name in enumerate(nics):
            leaf = leaf_id(at // nodes_per_leaf * rails + place % rails + 1)
            port = at % nodes_per_leaf * nics_per_rail + place // rails + 1
            yield CableClaim(node / name, 1, leaf, port, Source.PLATFORM, facts)
    for number in range(1, groups * rails + 1):
        yield PartClaim(leaf_id(number), "netswitch", Source.PLATFORM, {"tier": "leaf"})
        for spine in range(1, spines + 1):
            port = nodes_per_leaf * nics_per_rail + spine
            yield CableClaim(leaf_id(number), port, spine_id(spine), number, Source.PLATFORM, facts)
    for spine in range(1, spines + 1):
        yield PartClaim(spine_id(spine), "netswitch", Source.PLATFORM, {"tier": "spine"})


def leaf_id(number: int) -> ComponentId:
    """`leaf-3`."""
    return ComponentId(f"leaf-{number}")


def spine_id(number: int) -> ComponentId:
    """`spine-4`."""
    return ComponentId(f"spine-{number}")
