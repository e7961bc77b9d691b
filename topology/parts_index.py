"""Which parts of each kind a node has, in the order people count in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ..incident.ids import ComponentId
from .addresses import natural
from .shared_graph import Graph

PartsByKind: TypeAlias = Mapping[str, tuple[ComponentId, ...]]
PartsIndex: TypeAlias = Mapping[ComponentId, PartsByKind]
"""By node, then by kind."""


def index_parts(graph: Graph) -> PartsIndex:
    """The index of a graph."""
    found: dict[ComponentId, dict[str, list[ComponentId]]] = {}
    for part, facts in graph.nodes(data=True):
        found.setdefault(part.node, {}).setdefault(str(facts["kind"]), []).append(part)
    return {
        node: {kind: tuple(sorted(parts, key=natural)) for kind, parts in kinds.items()}
        for node, kinds in found.items()
    }


def joined_index(indexes: Iterable[PartsIndex]) -> PartsIndex:
    """One index of several; a place that two of them know (a switch tray) has the parts of both."""
    whole: dict[ComponentId, PartsByKind] = {}
    for index in indexes:
        for node, kinds in index.items():
            whole[node] = _both(whole[node], kinds) if node in whole else kinds
    return whole


def _both(kinds: PartsByKind, others: PartsByKind) -> PartsByKind:
    return {
        kind: tuple(sorted({*kinds.get(kind, ()), *others.get(kind, ())}, key=natural))
        for kind in dict.fromkeys((*kinds, *others))
    }
