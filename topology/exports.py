"""A fabric for other programs: Graphviz (DOT) and GraphML. What differs from lane to lane is written as lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from ..incident.ids import ComponentId, NodeId
from .fabric import Fabric

SHAPES: Mapping[str, str] = {
    "gpu": "box", "nvswitch": "hexagon", "nic": "component", "bridge": "point", "netswitch": "hexagon", "host": "house",
}  # fmt: skip
LEFT_OUT = frozenset({"said", "near", "link"})


def dot(fabric: Fabric) -> str:
    """Graphviz: a cluster for each node, an edge for each bundle."""
    lines = ["graph fabric {", "  node [fontname=monospace];"]
    inside = _by_node(fabric)
    for number, node in enumerate(fabric.nodes):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(str(node))};"]
        lines += [
            f"    {_quoted(part)} [label={_quoted(_label(fabric, part))}, shape={SHAPES.get(str(kind), 'ellipse')}];"
            for kind, part in inside.get(node, ())
        ]
        lines.append("  }")
    lines += [f"  {_quoted(part)} [shape={SHAPES['netswitch']}];" for part in fabric.netswitches]
    lines += [
        f"  {_quoted(here)} -- {_quoted(there)} [label={_quoted(_edge_label(facts))}];"
        for here, there, facts in fabric.edges()
        if facts["kind"] != "memory"
    ]
    return "\n".join([*lines, "}", ""])


def _by_node(fabric: Fabric) -> Mapping[NodeId, list[tuple[str, ComponentId]]]:
    found: dict[NodeId, list[tuple[str, ComponentId]]] = {}
    for kind in ("gpu", "nvswitch", "nic", "bridge", "numa", "host"):
        for part in fabric.parts(kind):
            found.setdefault(part.node, []).append((kind, part))
    return found


def graphml(fabric: Fabric) -> str:
    """GraphML with every fact that is a value; arrays become lists in text."""
    graph: nx.Graph[str] = nx.Graph()
    for part, facts in fabric.graph.nodes(data=True):
        graph.add_node(_clean(str(part)), **_flat(facts))
    for here, there, edge in fabric.edges():
        graph.add_edge(_clean(str(here)), _clean(str(there)), **_flat(edge))
    return "\n".join(nx.generate_graphml(graph)) + "\n"


def _flat(facts: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    return {key: _value(value) for key, value in facts.items() if key not in LEFT_OUT and value is not None}


def _value(value: object) -> str | int | float | bool:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, np.ndarray):
        return " ".join(map(str, value.tolist()))
    if isinstance(value, tuple | list):
        return " ".join(_clean(str(item)) for item in value)
    return _clean(str(value))


def _label(fabric: Fabric, part: str) -> str:
    address = fabric.bus_address(part)
    name = part.partition("/")[2] or part
    return f"{name}\n{address}" if address else name


def _edge_label(facts: Mapping[str, Any]) -> str:
    match facts["kind"]:
        case "nvlink":
            lanes = len(facts["lanes"]) or facts.get("count", 0)
            return f"NVLink x{lanes}"
        case "pcie" | "root":
            width = facts.get("width") or facts.get("max_width")
            return f"x{width}" if width else ""
        case "uplink":
            return f"x{len(facts['states'])}"
    return ""


def _quoted(text: str) -> str:
    """A string of DOT; what a terminal or Graphviz could take for more than text is replaced."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "\\n".join(_clean(line) for line in escaped.split("\n")) + '"'


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
