"""Network ports that ought to be up and are not: they were active before, or their equals on the node are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan

from ..incident.ids import ComponentId
from ..incident.snapshot import NodeView, Series
from ..topology.fabric import Fabric
from .columns import by_name
from .health import PHYS_DISABLED, PORT_ACTIVE

WORKING = (PORT_ACTIVE, 5.0)
"""Active, or active but deferred."""

FEWEST_NODES = 3
"""Nodes whose ports must be down together before their leaf is suspected and not each of them."""
MOST_OF = 2 / 3
"""Share of the leaf's known ports."""


@dataclass(frozen=True, slots=True)
class DeadPort:
    """One port that is down."""

    nic: ComponentId
    phys_state: float
    was_active: bool
    """In this session."""
    active: int
    """Equal ports of the node that are active ..."""
    equals: int
    """... and all of them."""
    evidence: tuple[str, ...]


def dead_ports(views: Iterable[NodeView]) -> Iterator[DeadPort]:
    """All of them; a port that somebody disabled is none."""
    for view in views:
        series = view.series.get("ib")
        column = by_name(series.fields).get("port_state") if series else None
        if series is None or column is None:
            continue
        states: Mapping[ComponentId, float] = dict(zip(column.components, series.last[column.at], strict=True))
        before: Mapping[ComponentId, float] = dict(zip(column.components, series.first[column.at], strict=True))
        for nic, state in states.items():
            if not isnan(state) and state not in WORKING:
                yield from _judged(view, series, nic, states, before[nic] in WORKING)


def leaves_down(ports: Iterable[DeadPort], fabric: Fabric) -> Mapping[ComponentId, tuple[DeadPort, ...]]:
    """Leaves of which most known ports, of enough nodes, are down, while another leaf still has one up."""
    by_leaf: dict[ComponentId, list[DeadPort]] = {}
    for port in ports:
        if leaf := fabric.leaf_of(port.nic):
            by_leaf.setdefault(leaf, []).append(port)
    if not by_leaf:
        return {}
    known: dict[ComponentId, int] = {}
    for nic in fabric.parts("nic"):
        if leaf := fabric.leaf_of(nic):
            known[leaf] = known.get(leaf, 0) + 1
    return {
        leaf: tuple(down)
        for leaf, down in by_leaf.items()
        if len({port.nic.node for port in down}) >= FEWEST_NODES
        and len(down) >= MOST_OF * known.get(leaf, 0)
        and any(len(by_leaf.get(other, ())) < count for other, count in known.items() if other != leaf)
    }


def _judged(
    view: NodeView, series: Series, nic: ComponentId, states: Mapping[ComponentId, float], was_active: bool
) -> Iterator[DeadPort]:
    phys = series.value(nic, "phys_state")
    equals = [other for other in states if other != nic and _is_equal(view, nic, other)]
    active = sum(states[other] in WORKING for other in equals)
    if phys != PHYS_DISABLED and (was_active or active):
        evidence = (series.ids[-1], *((view.facts_id,) if view.facts_id else ()))
        yield DeadPort(nic, phys, was_active, active, len(equals), evidence)


def _is_equal(view: NodeView, nic: ComponentId, other: ComponentId) -> bool:
    return view.fact(nic, "link_layer") == view.fact(other, "link_layer")
