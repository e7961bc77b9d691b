"""Ports of several nodes that go with their leaf are one finding; ports that go by themselves stay theirs."""

import pytest
from lanescope.incident.events import NetworkRead, Wire
from lanescope.incident.ids import ComponentId
from lanescope.signals.judge import judge
from lanescope.topology.sources.facts import build_fabric

from .conftest import Story

NODES = ("n1", "n2", "n3", "n4")


@pytest.fixture
def story():
    story = Story(4)
    wires = tuple(
        Wire(ComponentId(f"{node}/mlx5_{nic}"), 1, ComponentId(f"leaf-{nic}"), at)
        for at, node in enumerate(NODES, start=1)
        for nic in (0, 3)
    )
    story.tell(
        NetworkRead(
            time=story.now,
            source="ibnetdiscover",
            switches={"leaf-0": "leaf", "leaf-3": "leaf"},
            wires=wires,
            evidence="J1",
        )
    )
    return story.tick(3)


def findings(story):
    snapshot = story.snapshot
    fabric = build_fabric(snapshot.nodes.values(), snapshot.network)
    return [one for one in judge(snapshot, fabric) if one.fault_class == "net-link/down"]


def down(story, *nics):
    for nic in nics:
        story.put(nic, port_state=1, phys_state=2)
    story.tick(2)


def test_a_leaf_whose_ports_went_together_is_told_once_with_its_victims(story):
    down(story, *(f"{node}/mlx5_0" for node in NODES))
    (found,) = findings(story)
    assert (found.component, found.fru) == ("leaf-0", "switch")
    assert set(found.victims) == {f"{node}/mlx5_0" for node in NODES}
    assert set(found.evidence) <= story.ids


def test_one_port_alone_is_its_own(story):
    down(story, "n2/mlx5_0")
    assert [found.component for found in findings(story)] == ["n2/mlx5_0"]


def test_two_of_four_ports_don_t_accuse_their_leaf(story):
    down(story, "n1/mlx5_0", "n2/mlx5_0")
    assert {found.component for found in findings(story)} == {"n1/mlx5_0", "n2/mlx5_0"}


def test_where_every_leaf_is_down_none_is_singled_out(story):
    down(story, *(f"{node}/mlx5_{nic}" for node in NODES for nic in (0, 3)))
    assert all(found.component.kind == "nic" for found in findings(story))
