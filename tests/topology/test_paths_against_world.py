"""What a transfer crosses, against the simulated world's own table, which shares no code with ours."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from lanescope.incident.ids import ComponentId, NodeId
from lanescope.incident.platforms import platform
from lanescope.incident.snapshot import NodeView
from lanescope.sim.crossing import crossed as world_crosses
from lanescope.sim.hardware import Hardware
from lanescope.sim.network import Network
from lanescope.topology.claims import CableClaim, NodeClaims, Source
from lanescope.topology.merge import merge
from lanescope.topology.paths import path
from lanescope.topology.sources.facts import claims_of

LAYOUTS = ("h100_hgx", "h100_hgx_4sw")


def world(layout: str, nodes: int = 5) -> Network:
    """Nodes in groups of two to a leaf, the last leaf half empty, and three spines."""
    hardware = tuple(Hardware(7, f"n{index}", index, platform(layout), False) for index in range(nodes))
    return Network(hardware, nodes_per_leaf=2, spines=3)


def view_of(node: Hardware) -> NodeView:
    facts = {
        (ComponentId(f"{node.node}/{part}" if part else node.node), key): value
        for part, known in node.facts.items()
        for key, value in known.items()
        if value is not None
    }
    return NodeView(NodeId(node.node), facts=facts)


@pytest.fixture(scope="module", params=LAYOUTS)
def both(request):
    """The world, and the fabric as we read it from what its nodes and its subnet manager would tell."""
    network = world(request.param)
    cables = [
        CableClaim(ComponentId(one.here), one.here_port, ComponentId(one.there), one.there_port, Source.IBNETDISCOVER)
        for one in network.wires()
    ]
    return network, merge([*(claims_of(view_of(node)) for node in network.nodes), NodeClaims(None, tuple(cables))])


def ours(fabric, src, dst):
    return {str(crossing.component): crossing.share for crossing in path(fabric, ComponentId(src), ComponentId(dst))}


def within(node: str, shares):
    return {f"{node}/{part}": pytest.approx(share) for part, share in shares.items()}


def test_every_copy_between_two_gpus_of_a_node_crosses_what_the_world_says(both):
    network, fabric = both
    node = network.nodes[0]
    for one, other in permutations([gpu.name for gpu in node.gpus], 2):
        expected = within(node.node, world_crosses(node, "p2p", (one, other)))
        assert ours(fabric, f"{node.node}/{one}", f"{node.node}/{other}") == expected


def test_every_copy_between_host_memory_and_a_gpu_crosses_what_the_world_says(both):
    network, fabric = both
    for node in network.nodes:
        for gpu in node.gpus:
            expected = within(node.node, world_crosses(node, "h2d", (gpu.name,)))
            assert ours(fabric, f"{node.node}/numa{gpu.numa}", f"{node.node}/{gpu.name}") == expected


def test_every_transfer_between_gpus_of_two_nodes_crosses_what_the_world_says(both):
    network, fabric = both
    for here, there in ((0, 1), (0, 2), (3, 4), (4, 0)):
        source, target = network.nodes[here], network.nodes[there]
        for one, other in product(source.gpus, target.gpus):
            expected = network.crossed(source, one.name, target, other.name)
            found = ours(fabric, f"{source.node}/{one.name}", f"{target.node}/{other.name}")
            assert found == {part: pytest.approx(share) for part, share in expected.items()}


def test_a_wrong_wire_is_seen_in_the_paths(both):
    network, fabric = both
    source, target = network.nodes[:2]
    way = ours(fabric, f"{source.node}/gpu0", f"{target.node}/gpu0")
    cables = [part for part in way if part.startswith("cable/")]
    assert len(cables) == 2
    assert all(network.leaf(source, source.nics[0]) in cable for cable in cables)
