"""The fabric of a platform's nodes as the data sheet wires them: for plans and tests without a node to ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...incident.ids import ComponentId, NodeId, gpu_id, lane_id, nvswitch_id
from ...incident.platforms import PcieDevice, PcieGroup, Platform
from ...incident.snapshot import FactValue, NodeView
from ..fabric import Fabric
from .facts import build_fabric

_Row = tuple[ComponentId, str, FactValue]


def fabric_of(nodes: Sequence[str], platform: Platform) -> Fabric:
    """These nodes, all of one platform. NVSwitch ports stay unknown: no data sheet numbers them."""
    views = [
        NodeView(node, facts={(part, key): value for part, key, value in _facts(node, platform)})
        for node in map(NodeId, nodes)
    ]
    return build_fabric(views)


def _facts(node: NodeId, platform: Platform) -> Iterator[_Row]:
    for number, address in enumerate(platform.nvswitches):
        yield nvswitch_id(node, number), "bus_address", address
    for group in platform.groups:
        for device in group.devices:
            yield from _device(node / device.name, group, device)
    for index in range(platform.gpus):
        gpu = gpu_id(node, index)
        yield gpu, "name", platform.title
        yield from _lanes(gpu, platform)


def _device(part: ComponentId, group: PcieGroup, device: PcieDevice) -> Iterator[_Row]:
    yield part, "bus_address", device.address
    yield part, "numa", group.numa
    yield part, "pcie_path", "/".join((*group.chain, device.port))


def _lanes(gpu: ComponentId, platform: Platform) -> Iterator[_Row]:
    for lane in range(platform.lanes_per_gpu):
        switch = platform.switch_of_lane(lane)
        if switch >= 0:
            yield lane_id(gpu, lane), "remote_type", "switch"
            yield lane_id(gpu, lane), "remote_address", platform.nvswitches[switch]
