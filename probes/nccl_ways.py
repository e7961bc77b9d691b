"""What NCCL's transfers cross when it is told which transports it may use, and by which NICs they leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ..incident.ids import ComponentId, NodeId, host_id
from ..topology.fabric import Fabric
from ..topology.paths import Crossing, Path, by_nvlink, host_copy_path, path
from ..topology.routes import Route, leave, own_nics, routes, switches_between
from .probe import Targets


def through_nics(fabric: Fabric, src: ComponentId, dst: ComponentId) -> Path:
    """From GPU to GPU by their NICs, also where NVLink or PCIe would join them.

    With NCCL kept from PXN each GPU uses a NIC of its own; GPUs that share one meet inside it."""
    if src.node != dst.node and not by_nvlink(fabric, src, dst):
        return path(fabric, src, dst)
    found = routes(fabric, leave(fabric, src), leave(fabric, dst))
    if not found:
        return tuple(Crossing(part, 1.0) for part in dict.fromkeys((src, dst, host_id(src.node), host_id(dst.node))))
    nics = tuple(dict.fromkeys(nic for route in found for nic in (route.out.nic, route.into.nic)))
    choice = nics if len(found) > 1 else ()
    return _added(crossing for route in found for crossing in _along(fabric, route, choice, 1.0 / len(found)))


def _along(fabric: Fabric, route: Route, choice: tuple[ComponentId, ...], share: float) -> Path:
    """One way out of a node and into another, or back into the same."""
    legs = dict.fromkeys((*route.out.parts, *route.into.parts))
    if route.out.nic == route.into.nic:
        return tuple(Crossing(part, share, choice) for part in legs if part.kind != "cable")
    switches = switches_between(fabric, route.out.leaf, route.into.leaf, fabric.spine_to(route.into.nic))
    return (
        *(Crossing(part, share, choice) for part in legs),
        *(Crossing(part, share * portion, spread or choice) for part, portion, spread in switches),
    )


def _added(crossings: Iterable[Crossing]) -> Path:
    """Each part once, with the shares of all ways one of which is taken; what carries everything was no choice."""
    parts: dict[ComponentId, Crossing] = {}
    for crossing in crossings:
        part = crossing.component
        known = parts.get(part, Crossing(part, 0.0, crossing.choice))
        share = min(1.0, known.share + crossing.share)
        parts[part] = Crossing(part, share, known.choice if share < 1.0 - 1e-9 else ())
    return tuple(parts.values())


def _together(ways: Iterable[Path]) -> Path:
    """Several transfers at once as one: each part with the largest share that any of them has of it."""
    parts: dict[ComponentId, Crossing] = {}
    for crossing in (crossing for way in ways for crossing in way):
        known = parts.get(crossing.component)
        if known is None or crossing.share > known.share:
            parts[crossing.component] = crossing
    return tuple(parts.values())


def all_by_nics(fabric: Fabric, targets: Targets) -> Path:
    """A group whose GPUs reach each other by their NICs only."""
    return _together(through_nics(fabric, *pair) for pair in _neighbours(targets))


def all_by_default(fabric: Fabric, targets: Targets) -> Path:
    """A group joined as NCCL likes best: NVLink or PCIe within a node, NICs between nodes."""
    return _together(path(fabric, *pair) for pair in _neighbours(targets))


def all_by_host(fabric: Fabric, targets: Targets) -> Path:
    """A group whose GPUs reach each other through host memory within a node, by their NICs between nodes."""
    within = [host_copy_path(fabric, gpu) for gpu in targets]
    return _together([*within, *(through_nics(fabric, a, b) for a, b in _neighbours(targets) if a.node != b.node)])


def _neighbours(targets: Targets) -> Iterator[tuple[ComponentId, ComponentId]]:
    """Who passes data to whom: a ring over the GPUs of each node, and over the nodes for each place in them."""
    nodes = _by_node(targets)
    for gpus in nodes:
        yield from _ring(gpus)
    for place in range(max((len(gpus) for gpus in nodes), default=0)):
        yield from _ring([gpus[place % len(gpus)] for gpus in nodes])


def _by_node(targets: Targets) -> list[list[ComponentId]]:
    nodes: dict[NodeId, list[ComponentId]] = {}
    for gpu in targets:
        nodes.setdefault(gpu.node, []).append(gpu)
    return list(nodes.values())


def _ring(gpus: Sequence[ComponentId]) -> Iterator[tuple[ComponentId, ComponentId]]:
    if len(gpus) > 1:
        yield from pairwise((*gpus, gpus[0]))


def nics_of(fabric: Fabric, gpus: Iterable[ComponentId]) -> tuple[ComponentId, ...]:
    """The NICs by which NCCL leaves from these GPUs."""
    return tuple(dict.fromkeys(nic for gpu in gpus for nic in own_nics(fabric, gpu)))


def lanes_of(fabric: Fabric, gpus: Iterable[ComponentId]) -> tuple[ComponentId, ...]:
    """All lanes of these GPUs."""
    return tuple(lane for gpu in gpus for lane in fabric.lanes(gpu))


def in_words(targets: Targets) -> str:
    """`GPU3 of gpu-001 and GPU5 of gpu-002`; of more than three in a node only how many."""
    words = []
    for gpus in _by_node(targets):
        names = " and ".join(gpu.name.upper() for gpu in gpus) if len(gpus) < 4 else f"{len(gpus)} GPUs"
        words.append(f"{names} of {gpus[0].node}")
    return " and ".join(words) if len(words) < 4 else f"{len(targets)} GPUs of {len(words)} nodes"
