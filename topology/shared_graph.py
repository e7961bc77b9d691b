"""The graph of a fabric, and how nodes share in it what is equal: 512 nodes of one kind hold each fact once.

The graph holds one node a part and one edge a bundle of links:

    gpu ── nvswitch      kind `nvlink`; `count` lanes; arrays `lanes`, `ports` (-1: not told), `up` (1, 0, -1) and
                         `gbs`, one element for each lane that is told apart
    gpu ── gpu           kind `nvlink`; `lanes` of the edge's `near` GPU, `ports`, the lanes of the other one where
                         they end, and `far_lanes`, all lanes the other one says it has to `near`
    gpu ── hbm           kind `memory`
    gpu ── numa          kind `c2c` where the GPU hangs on its socket by NVLink-C2C
    device ── bridge     kind `pcie`; `link` is the id of the PCIe link below the node; `speed_gts`, `width`, `max_...`
    bridge ── bridge     kind `pcie`
    bridge ── numa       kind `root` (to the host where the socket is not told)
    numa ── host         kind `socket`
    nic ── leaf          kind `cable`; arrays as below
    leaf ── spine        kind `uplink`; `near_ports`, `far_ports`, `rates`, `max_rates`, `widths`, `states`, one a cable
    nvswitch ── tray     kind `tray` (NVL72)

`said` holds who said what of a part or an edge. A part whose facts are missing stands there with `known` False; one
that was concluded and seen by nobody is `inferred` besides.

networkx copies the attributes of every node and edge that it is given. Here the dictionaries themselves are put in, and
none of them is changed afterwards: a part that gets a further edge gets a new dictionary of edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import networkx as nx

from ..incident.ids import ComponentId

Facts: TypeAlias = dict[str, Any]
Graph: TypeAlias = "nx.Graph[ComponentId]"


def around(graph: Graph, part: str) -> Mapping[ComponentId, Facts]:
    """What a part is wired to, with the facts of each edge; empty where it does not stand here."""
    found: Mapping[ComponentId, Facts] = graph._adj.get(ComponentId(part), {})  # type: ignore[attr-defined]
    return found


def put_part(graph: Graph, part: ComponentId, facts: Facts) -> None:
    """Add a part, or give one other facts."""
    graph._node[part] = facts  # type: ignore[attr-defined]
    graph._adj.setdefault(part, {})  # type: ignore[attr-defined]


def connect(graph: Graph, here: ComponentId, others: Mapping[ComponentId, Facts]) -> None:
    """Wire a part to others, which all stand in the graph; an edge that was there is replaced."""
    edges = graph._adj  # type: ignore[attr-defined]
    edges[here] = {**edges[here], **others}
    for there, facts in others.items():
        edges[there] = {**edges[there], here: facts}


def connect_all(graph: Graph, heres: Iterable[ComponentId], others: Mapping[ComponentId, Facts]) -> None:
    """Wire each of some parts to all of others."""
    edges = graph._adj  # type: ignore[attr-defined]
    ends = list(heres)
    for here in ends:
        edges[here] = {**edges[here], **others}
    for there, facts in others.items():
        edges[there] = {**edges[there], **dict.fromkeys(ends, facts)}


def share(whole: Graph, parts: Iterable[Graph]) -> None:
    """Take the parts and edges of graphs into one, without copying them; a part that two name has the edges of both."""
    nodes, edges = whole._node, whole._adj  # type: ignore[attr-defined]
    for graph in parts:
        common = nodes.keys() & graph._node.keys()  # type: ignore[attr-defined]
        known = {part: (nodes[part], edges[part]) for part in common}
        nodes.update(graph._node)  # type: ignore[attr-defined]
        edges.update(graph._adj)  # type: ignore[attr-defined]
        for part, (facts, wired) in known.items():
            nodes[part] = {**nodes[part], **facts}
            edges[part] = {**edges[part], **wired}


def stamp(whole: Graph, template: Graph, names: Mapping[ComponentId, ComponentId]) -> None:
    """Add a template under other names; facts must not hold ids of the template's own parts."""
    nodes, edges = whole._node, whole._adj  # type: ignore[attr-defined]
    for part, facts in template._node.items():  # type: ignore[attr-defined]
        nodes[names[part]] = facts
    for part, around in template._adj.items():  # type: ignore[attr-defined]
        edges[names[part]] = {names[other]: facts for other, facts in around.items()}
