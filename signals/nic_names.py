"""The RDMA device behind a network interface, as far as anything tells: `mlx5_0` for `ens1f0np0`."""

from __future__ import annotations

from ..incident.ids import ComponentId, NodeId
from ..parsers.infiniband.show_gids import Gid
from .scene import Scene


def nic_of(scene: Scene, node: NodeId, interface: str) -> ComponentId:
    """The adapter; a part that goes by the interface's own name where nothing tells."""
    view = scene.snapshot.nodes.get(node)
    if view is not None:
        for (part, key), value in view.facts.items():
            if key == "netdev" and value == interface:
                return part
    for told in scene.readings.of(Gid, node):
        if told.reading.netdev == interface:
            return node / told.reading.device
    return node / interface
