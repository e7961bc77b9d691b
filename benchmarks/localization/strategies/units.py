"""What practice accuses first: a node, or within a single node a GPU."""

from __future__ import annotations

from collections.abc import Iterable

from ....incident.ids import ComponentId, NodeId
from ..cluster import Cluster

Unit = tuple[ComponentId, ...]
"""GPUs that are tested as one."""

FEWEST_NODES = 4
"""Below, a suspect node finds no partners that are known to be sound: GPUs are the units then."""


def units(cluster: Cluster) -> list[Unit]:
    """All units in order."""
    if len(cluster.nodes) >= FEWEST_NODES:
        return [cluster.gpus(node) for node in cluster.nodes]
    return [(gpu,) for node in cluster.nodes for gpu in cluster.gpus(node)]


def nodes_of(chosen: Iterable[Unit]) -> list[NodeId]:
    """Their nodes, each once."""
    return list(dict.fromkeys(gpu.node for unit in chosen for gpu in unit))
