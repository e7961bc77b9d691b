"""Ways between nodes: by which NIC a transfer leaves, and which network switches and uplinks are between two leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..incident.ids import ComponentId, host_id
from .closeness import ORDER
from .fabric import Fabric
from .pcie_ways import links_above, over_pcie
from .shared_graph import around
from .wires import uplink_id

SwitchShares: TypeAlias = tuple[tuple[ComponentId, float, tuple[ComponentId, ...]], ...]
"""Parts of the network with their share, and the switches one of which is chosen (empty: no choice)."""

MOST_TIERS = 8


@dataclass(frozen=True, slots=True)
class Leg:
    """From an end of a transfer out of its node by one NIC."""

    nic: ComponentId
    leaf: ComponentId | None
    """None where nobody says what the NIC is plugged into."""
    rail: int | None
    parts: tuple[ComponentId, ...]
    """All that is crossed up to the leaf, which is not among them; each carries all that takes this leg."""


@dataclass(frozen=True, slots=True)
class Route:
    """Out of one node and into another."""

    out: Leg
    into: Leg


def leave(fabric: Fabric, end: ComponentId) -> tuple[Leg, ...]:
    """The legs a transfer may take from a GPU, host memory or NIC; several where the NIC is not told."""
    return tuple(_leg(fabric, end, nic) for nic in own_nics(fabric, end))


def routes(fabric: Fabric, out: tuple[Leg, ...], into: tuple[Leg, ...]) -> tuple[Route, ...]:
    """How legs of two nodes go together: on the same rail where they can, else each with each."""
    every = [Route(leg, other) for leg in out for other in into]
    if len(every) > 1:
        aligned = [route for route in every if route.out.rail is not None and route.out.rail == route.into.rail]
        return tuple(aligned or every)
    return tuple(every)


def own_nics(fabric: Fabric, end: ComponentId) -> tuple[ComponentId, ...]:
    """The NICs that serve an end: itself, or those closest to it among the ones that are plugged in.

    Of several that are equally close to as many GPUs each GPU has one, by place: so NCCL deals them out.
    """
    if fabric.kind_of(end) == "nic":
        return (end,)
    nics = [nic for nic in fabric.nics(end.node) if fabric.leaf_of(nic)] or list(fabric.nics(end.node))
    if end.kind != "gpu":
        return tuple(nic for nic in nics if fabric.numa_of(nic) == end) or tuple(nics)
    distances = {nic: _distance(fabric, end, nic) for nic in nics}
    nearest = min(distances.values(), default=FAR)
    closest = tuple(nic for nic in nics if distances[nic] == nearest)
    if len(closest) < 2 or nearest >= FAR:
        return closest
    fellows = [gpu for gpu in fabric.gpus(end.node) if _all_at(fabric, gpu, closest, nearest)]
    if len(fellows) % len(closest):
        return closest
    return (closest[fellows.index(end) % len(closest)],)


NODE = ORDER.index("NODE")
FAR = NODE + 0.5
"""Distance of a NIC on the same socket of which nobody says how it is connected; one that nobody places is farther."""


def switches_between(
    fabric: Fabric, here: ComponentId | None, there: ComponentId | None, via: ComponentId | None = None
) -> SwitchShares:
    """From leaf to leaf, both included: by the spine `via` where both lead to it, else over all shortest ways that are
    up, with even shares."""
    if here is None or there is None or here == there:
        return tuple((leaf, 1.0, ()) for leaf in dict.fromkeys((here, there)) if leaf is not None)
    mine, others = up_from(fabric, here), up_from(fabric, there)
    if via is not None and via in mine and via in others:
        uplinks = (uplink_between(fabric, here, via), uplink_between(fabric, there, via))
        return tuple((part, 1.0, ()) for part in (here, there, via, *uplinks))
    weights = {spine: min(cables, others[spine]) for spine, cables in mine.items() if spine in others}
    if there in mine or not weights:
        return _spread(fabric, here, there)
    spines, total = tuple(weights), sum(weights.values())
    choice = spines if len(spines) > 1 else ()
    found = [(here, 1.0, ()), (there, 1.0, ())]
    parts = [
        (part, weight / total, choice)
        for spine, weight in weights.items()
        for part in (spine, uplink_between(fabric, here, spine), uplink_between(fabric, there, spine))
    ]
    return (*found, *parts)


def _leg(fabric: Fabric, end: ComponentId, nic: ComponentId) -> Leg:
    cable = fabric.cable_of(nic)
    inside: Iterable[ComponentId] = ()
    if end.kind == "gpu":
        inside = (end, *over_pcie(fabric, end, nic))
    elif end != nic:
        socket = fabric.numa_of(nic)
        inside = (*links_above(fabric, nic), *(part for part in (end, socket) if part is not None))
    parts = (*inside, nic, host_id(nic.node), *((cable,) if cable is not None else ()))
    return Leg(nic, fabric.leaf_of(nic), fabric.rail_of(nic), tuple(dict.fromkeys(parts)))


def _distance(fabric: Fabric, gpu: ComponentId, nic: ComponentId) -> float:
    words = fabric.closeness(gpu, nic)
    if words in ORDER and words != "SYS":
        return ORDER.index(words)
    same = fabric.numa_of(gpu) is not None and fabric.numa_of(gpu) == fabric.numa_of(nic)
    return FAR if same else FAR + 1


def _all_at(fabric: Fabric, gpu: ComponentId, nics: Iterable[ComponentId], distance: float) -> bool:
    return all(_distance(fabric, gpu, nic) == distance for nic in nics)


def up_from(fabric: Fabric, switch: ComponentId) -> Mapping[ComponentId, int]:
    """The switches next to one, with the number of cables that are not down; those without any are left out."""
    uplinks = [(other, edge) for other, edge in around(fabric.graph, switch).items() if edge["kind"] == "uplink"]
    alive = {other: int(np.count_nonzero(edge["states"] != 0)) for other, edge in uplinks}
    return {other: cables for other, cables in alive.items() if cables}


def uplink_between(fabric: Fabric, here: ComponentId, there: ComponentId) -> ComponentId:
    """The id of the bundle between two switches, whichever is asked first."""
    near = fabric.graph.edges[here, there]["near"]
    return uplink_id(near, there if near == here else here)


def _spread(fabric: Fabric, here: ComponentId, there: ComponentId) -> SwitchShares:
    """Through more than one tier: even shares over the next hops of all shortest ways."""
    steps = _distances(fabric, there)
    if here not in steps:
        return ((here, 1.0, ()), (there, 1.0, ()))
    shares: dict[ComponentId, float] = {here: 1.0}
    choices: dict[ComponentId, tuple[ComponentId, ...]] = {}
    level = [here]
    while level and level != [there]:
        following: dict[ComponentId, None] = {}
        for switch in level:
            hops = tuple(other for other in up_from(fabric, switch) if steps.get(other) == steps[switch] - 1)
            for hop in hops:
                for part in (hop, uplink_between(fabric, switch, hop)):
                    shares[part] = shares.get(part, 0.0) + shares[switch] / len(hops)
                    choices.setdefault(part, hops if len(hops) > 1 else ())
                following[hop] = None
        level = list(following)
    return tuple((part, min(share, 1.0), choices.get(part, ())) for part, share in shares.items())


def _distances(fabric: Fabric, switch: ComponentId) -> Mapping[ComponentId, int]:
    """Hops to a switch from all that are within reach."""
    steps = {switch: 0}
    level = [switch]
    for hops in range(1, MOST_TIERS):
        level = [other for here in level for other in up_from(fabric, here)]
        level = [other for other in dict.fromkeys(level) if other not in steps]
        steps |= dict.fromkeys(level, hops)
    return steps
