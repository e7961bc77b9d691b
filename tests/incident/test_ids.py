"""Component ids are readable paths."""

from __future__ import annotations

import pytest
from lanescope.incident.ids import ComponentId, NodeId, gpu_id, lane_id


@pytest.mark.parametrize(
    ("path", "kind", "node", "number"),
    [
        ("gpu-017", "node", "gpu-017", 17),
        ("gpu-017/host", "host", "gpu-017", -1),
        ("gpu-017/gpu3", "gpu", "gpu-017", 3),
        ("gpu-017/gpu3/nvlink7", "nvlink", "gpu-017", 7),
        ("gpu-017/gpu3/hbm", "hbm", "gpu-017", -1),
        ("gpu-017/gpu3/pcie", "pcie", "gpu-017", -1),
        ("gpu-017/nvswitch2", "nvswitch", "gpu-017", 2),
        ("gpu-017/nvswitch2/port12", "port", "gpu-017", 12),
        ("gpu-017/pcie/0000:16:01.0", "bridge", "gpu-017", 0),
        ("gpu-017/numa0", "numa", "gpu-017", 0),
        ("gpu-017/mlx5_4", "nic", "gpu-017", 4),
        ("gpu-017/mlx5_4/pcie", "pcie", "gpu-017", -1),
        ("gpu-017/service/fabricmanager", "service", "gpu-017", -1),
        ("uplink/leaf-3~spine-4", "uplink", "uplink", 4),
        ("cable/gpu-017:mlx5_4~leaf-3:port12", "cable", "gpu-017", 12),
    ],
)
def test_every_documented_id_says_its_kind_its_node_and_its_number(
    path: str, kind: str, node: str, number: int
) -> None:
    component = ComponentId(path)
    assert (component.kind, component.node, component.number) == (kind, node, number)


def test_slash_appends_a_segment_and_parent_takes_it_off() -> None:
    lane = lane_id(gpu_id(NodeId("n1"), 3), 7)
    assert lane == "n1/gpu3/nvlink7"
    assert lane.parent == "n1/gpu3"
    assert lane.parent / "nvlink7" == lane
    assert NodeId("n1").parent == "n1"
