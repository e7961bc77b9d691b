"""Two nodes whose facts were read, and trials on one of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lanescope.incident.events import Fact, Trial
from lanescope.incident.ids import ComponentId, NodeId, gpu_id, lane_id, nvswitch_id
from lanescope.incident.platforms import Platform, platform
from lanescope.incident.snapshot import NodeView
from lanescope.topology.fabric import Fabric
from lanescope.topology.sources.facts import build_fabric
from lanescope.topology.sources.platform import fabric_of


def node_view(node: NodeId, kind: Platform) -> NodeView:
    return NodeView(node, facts={(fact.component, fact.key): fact.value for fact in facts_of(node, kind)})


def facts_of(node: NodeId, kind: Platform) -> Iterator[Fact]:
    for switch, address in enumerate(kind.nvswitches):
        yield Fact(nvswitch_id(node, switch), "bus_address", address)
    for group in kind.groups:
        for device in group.gpus:
            gpu = ComponentId(f"{node}/{device.name}")
            yield Fact(gpu, "name", f"NVIDIA {kind.key.partition('_')[0].upper()} 80GB HBM3")
            yield Fact(gpu, "bus_address", device.address)
            yield Fact(gpu, "numa", group.numa)
            yield Fact(gpu, "pcie_path", "/".join((*group.chain, device.port)))
            for lane in range(kind.lanes_per_gpu):
                yield Fact(lane_id(gpu, lane), "remote_type", "switch")
                yield Fact(lane_id(gpu, lane), "remote_address", kind.nvswitches[kind.switch_of_lane(lane)])


@pytest.fixture(scope="session")
def fabric() -> Fabric:
    """Two nodes of one platform."""
    return build_fabric([node_view(NodeId(name), platform("h100_hgx")) for name in ("gpu-001", "gpu-002")])


@pytest.fixture
def pair() -> Trial:
    return trial("p2p", "R1T1", 3, 5)


@pytest.fixture
def host_copy() -> Trial:
    return trial("h2d", "R1T2", 6)


def trial(probe: str, name: str, *gpus: int, node: str = "gpu-001") -> Trial:
    targets = tuple(gpu_id(node, gpu) for gpu in gpus)
    return Trial(id=name, probe=probe, node=NodeId(node), targets=targets, seconds=0.6)


@pytest.fixture(scope="module")
def hgx() -> Fabric:
    """Two nodes of the data sheet, plugged into leaves and spines."""
    return fabric_of(["n0", "n1"], platform("h100_hgx"), rails=8, leaves=8, spines=4)
