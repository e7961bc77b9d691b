"""Which node an NCCL line is of: the host it begins with, under the name by which the node goes here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ..incident.ids import NodeId
from ..parsers.nccl.log_line import FromProcess
from .readings import UNKNOWN_NODE, Readings, Witness

P = TypeVar("P", bound=FromProcess)


def node_of(told: Witness[P], nodes: Iterable[NodeId]) -> NodeId:
    """The node of the process that wrote a line: one job's log may hold all of its nodes' lines."""
    host = told.reading.host
    known = set(nodes) - {UNKNOWN_NODE}
    if not host or host in known:
        return NodeId(host) if host else told.node
    short = host.partition(".")[0]
    alike = [node for node in known if node.partition(".")[0] == short]
    return alike[0] if len(alike) == 1 else NodeId(host.replace("/", "_"))


def by_host(readings: Readings, kind: type[P]) -> Mapping[NodeId, tuple[Witness[P], ...]]:
    """Lines of one kind by the node that wrote them."""
    found: dict[NodeId, list[Witness[P]]] = {}
    for one in readings.of(kind):
        found.setdefault(node_of(one, readings.nodes), []).append(one)
    return {node: tuple(told) for node, told in found.items()}
