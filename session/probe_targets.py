"""What a person aims one probe at: the parts they name, checked against what the probe can be aimed at."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ..incident.errors import InputError, NotTested
from ..incident.ids import ComponentId, NodeId, host_id
from ..incident.platforms import platform
from ..probes.probe import Aim, Probe, Targets
from ..topology.fabric import Fabric
from ..topology.sources.platform import fabric_of

ALONE = {Aim.GPU: "one GPU", Aim.NIC: "one NIC", Aim.GROUP: "two or more GPUs", Aim.NODE: "a node"}
NAMES = {"gpu": "GPU", "nic": "NIC"}
MOST_ENDS = 32
"""Names in one aim."""
SHOWN, LISTED = 6, 3
"""Names in a sentence; of a group on each node, above which only the node is named."""
EXAMPLE = ("node-a", "node-b")
EXAMPLE_PLATFORM, RAILS = "h100_hgx", 8


@dataclass(frozen=True, slots=True)
class Possible:
    """What a probe can be aimed at on some nodes."""

    targets: tuple[Targets, ...]
    """Of a probe across nodes its ends, each alone; of a group the whole of each node."""
    example: Targets
    """One whole aim; empty where there is none."""


def possible(fabric: Fabric, probe: Probe, nodes: Sequence[NodeId]) -> Possible:
    """All targets on these nodes."""
    by_node = {node: probe.targets(fabric, node) for node in nodes}
    found = tuple(target for mine in by_node.values() for target in mine)
    if probe.aim is not Aim.ACROSS:
        return Possible(found, found[0] if found else ())
    ends = [mine[0][0] for mine in by_node.values() if mine][:2]
    return Possible(found, tuple(ends) if len(ends) == 2 else ())


def wanted(probe: Probe, can: Possible) -> str:
    """What it is aimed at, in words: `two NICs of different nodes, source first`."""
    if probe.aim in ALONE:
        return ALONE[probe.aim]
    example = can.example or next(iter(can.targets), ())
    kinds = [NAMES.get(part.kind, part.kind) for part in example] or ["part"]
    kinds = kinds * 2 if len(kinds) == 1 else kinds
    ends = f"two {kinds[0]}s" if len(set(kinds)) == 1 else f"a {' and a '.join(kinds)}"
    where = "different nodes" if probe.aim is Aim.ACROSS else "one node"
    return f"{ends} of {where}, {'source first' if len(set(kinds)) == 1 else 'in this order'}"


def aimed_at(fabric: Fabric, probe: Probe, nodes: Sequence[NodeId], text: str) -> Targets:
    """The targets that `gpu-017/gpu3,gpu-017/gpu5` names; of a single node its name may be left away.

    Raises InputError that names what would fit, NotTested where the nodes have nothing that this probe is about."""
    can = possible(fabric, probe, nodes)
    if not can.targets:
        raise NotTested(f"not applicable: {probe.name} ({probe.title}) fits nothing on {', '.join(nodes[:SHOWN])}")
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not 1 <= len(names) <= MOST_ENDS:
        raise InputError(f"--at names {wanted(probe, can)}; {_fitting(can)}")
    targets = _whole_node(fabric, probe, tuple(_part(fabric, nodes, name) for name in names))
    if why_not := _objection(fabric, probe, targets):
        raise InputError(f"{probe.name} is aimed at {wanted(probe, can)}, and {why_not}; {_fitting(can)}")
    return targets


def on_example_nodes(probe: Probe) -> Possible:
    """What the probe could be aimed at on two nodes of a common platform."""
    fabric = _example_fabric()
    return possible(fabric, probe, fabric.nodes)


@cache
def _example_fabric() -> Fabric:
    return fabric_of(EXAMPLE, platform(EXAMPLE_PLATFORM), rails=RAILS)


def written(targets: Targets) -> str:
    """As `--at` takes them: a node for its host, and for the whole of a group."""
    nodes = tuple(dict.fromkeys(target.node for target in targets))
    if len(targets) > len(nodes) * LISTED:
        return ",".join(nodes)
    return ",".join(str(part.node) if part.kind == "host" else str(part) for part in targets)


def _part(fabric: Fabric, nodes: Sequence[NodeId], name: str) -> ComponentId:
    """The part of a name. Raises InputError with the names nearest to it."""
    if name in nodes:
        return host_id(name)
    tried = [name, *(f"{node}/{name}" for node in nodes[:1] if len(nodes) == 1)]
    for each in tried:
        part = ComponentId(each)
        if part.node in nodes and fabric.kind_of(part) is not None:
            return part
    if ComponentId(name).node not in nodes and "/" in name:
        raise InputError(f"{name} is on none of the hosts: {', '.join(nodes[:SHOWN])}")
    known = list(_names(fabric, nodes))
    near = difflib.get_close_matches(tried[-1], known, 3)
    there = " or ".join(near) if near else f"{', '.join(known[:SHOWN])} and more"
    raise InputError(f"no part is called {name!r}; there is {there}")


def _names(fabric: Fabric, nodes: Sequence[NodeId]) -> Iterator[str]:
    for node in nodes:
        yield from (str(part) for part in (*fabric.gpus(node), *fabric.nics(node)))


def _whole_node(fabric: Fabric, probe: Probe, targets: Targets) -> Targets:
    """A node named for a group means all of its GPUs that the probe takes."""
    if probe.aim is not Aim.GROUP:
        return targets
    whole = (probe.targets(fabric, part.node) if part.kind == "host" else ((part,),) for part in targets)
    return tuple(dict.fromkeys(part for groups in whole for part in (groups[0] if groups else ())))


def _objection(fabric: Fabric, probe: Probe, targets: Targets) -> str:
    """Why the targets don't fit; empty where they do."""
    nodes = tuple(dict.fromkeys(target.node for target in targets))
    named = written(targets)
    if probe.aim is Aim.ACROSS:
        if len(targets) != 2 or len(nodes) != 2:
            return f"{named or 'nothing'} is not that"
        strange = [end for end in targets if (end,) not in probe.targets(fabric, end.node)]
        return f"{strange[0]} is none that it takes" if strange else ""
    if probe.aim is Aim.GROUP:
        members = {part for node in nodes for group in probe.targets(fabric, node) for part in group}
        strange = [part for part in targets if part not in members]
        if strange:
            return f"{strange[0]} is none that it takes"
        return "" if len(targets) > 1 else f"{named or 'nothing'} is not that"
    fits = len(nodes) == 1 and targets in probe.targets(fabric, nodes[0])
    return "" if fits else f"{named} is not that, or not one that it takes"


def _fitting(can: Possible) -> str:
    """`--at gpu-017/mlx5_0,gpu-018/mlx5_0 would fit, and others`."""
    if not can.example:
        return f"it needs a second node; one end could be {written(can.targets[0])}"
    others = ", and others would" if len(can.targets) > len(can.example) else ""
    return f"--at {written(can.example)} would fit{others}"
