"""The inventory: parts as found, from the facts the nodes gave."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..incident.ids import ComponentId
from ..incident.snapshot import NodeView, Snapshot

IDENTITY = ("name", "serial", "part_number", "uuid", "vbios", "firmware")
"""What a vendor identifies a part by; each stands with its part, null where the node did not say."""


def inventory(snapshot: Snapshot) -> dict[str, Any]:
    """`inventory.json`: for each node its parts with serial, part number, firmware and slot, and all else it told."""
    return {
        "format": "inventory/1",
        "as_of": snapshot.now,
        "nodes": [_node(view) for _, view in sorted(snapshot.nodes.items())],
    }


def part(view: NodeView, component: ComponentId) -> dict[str, Any]:
    """One part as found."""
    facts = {key: value for (owner, key), value in view.facts.items() if owner == component}
    return {
        "component": str(component),
        "kind": component.kind,
        "slot": facts.get("bus_address"),
        **{key: facts.get(key) for key in IDENTITY},
        "facts": {key: facts[key] for key in sorted(facts)},
    }


def _node(view: NodeView) -> dict[str, Any]:
    owners: dict[str, ComponentId] = defaultdict()
    for component, _ in view.facts:
        owners[str(component)] = component
    return {
        "node": str(view.id),
        "read_in": view.facts_id or None,
        "parts": [part(view, owners[name]) for name in sorted(owners)],
    }
