"""What a transfer crosses, and which share of it: the one place where probes, the belief and the screens learn it.

Within a node a transfer takes NVLink where there is one, else PCIe; between nodes it leaves by the NIC closest to its
end, unless both ends are in one NVLink domain. Parts that nobody knows are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ..incident.ids import ComponentId, host_id
from .addresses import natural
from .fabric import Fabric
from .pcie_ways import links_above, over_pcie
from .routes import Route, SwitchShares, leave, routes, switches_between


@dataclass(frozen=True, slots=True)
class Crossing:
    """One part on a transfer's way."""

    component: ComponentId
    share: float
    """Of the transfer's bytes, 0 to 1; where the choice is not told, what it carries on average."""
    choice: tuple[ComponentId, ...] = ()
    """The NICs, or the network switches, one of which was chosen without our being told which; empty where it is
    certain that the part carries its share."""


Path: TypeAlias = tuple[Crossing, ...]


def path(fabric: Fabric, src: ComponentId, dst: ComponentId) -> Path:
    """What a transfer between two ends crosses, each part once.

    An end is a GPU, its memory (`gpu3/hbm`), host memory (`numa0`; `host` where the socket doesn't matter) or a NIC.
    """
    ends = tuple(end.parent if end.kind == "hbm" else end for end in (src, dst))
    memories = tuple(Crossing(end, 1.0) for end in (src, dst) if end.kind == "hbm")
    return _each_once((*memories, *_between(fabric, *ends)))


def host_copy_path(fabric: Fabric, gpu: ComponentId) -> Path:
    """Between pinned memory of the GPU's own socket and the GPU."""
    numa = fabric.numa_of(gpu)
    parts = [gpu, *links_above(fabric, gpu), *([numa] if numa is not None else []), host_id(gpu.node)]
    return tuple(Crossing(part, 1.0) for part in parts)


def peer_copy_path(fabric: Fabric, src: ComponentId, dst: ComponentId) -> Path:
    """From one GPU's memory to another's in one NVLink domain: over NVLink, or over PCIe where they have none.

    Through NVSwitches the transfer is striped over all lanes of either GPU; GPUs wired to each other use the lanes
    between them. Over PCIe it turns round at the first bridge above both, or crosses the sockets.
    """
    ends = (Crossing(src, 1.0), Crossing(dst, 1.0))
    hosts = tuple(Crossing(host_id(node), 1.0) for node in dict.fromkeys((src.node, dst.node)))
    if dst in fabric.lane_counts(src):
        return (*ends, *striped(fabric.lanes_to(src, dst)), *striped(fabric.lanes_to(dst, src)), *hosts)
    switched = [gpu for gpu in (src, dst) if is_switched(fabric, gpu)]
    if switched:
        lanes = (*striped(fabric.lanes(src)), *striped(fabric.lanes(dst)))
        return (*ends, *lanes, *_switches(fabric, switched), *hosts)
    return (*ends, *_all(over_pcie(fabric, src, dst)), *hosts)


def is_switched(fabric: Fabric, gpu: ComponentId) -> bool:
    """Whether a GPU reaches all others of its domain through NVSwitches; it may be that nobody saw one of these."""
    counts = fabric.lane_counts(gpu)
    if any(part.kind == "nvswitch" for part in counts):
        return True
    if counts or not fabric.lane_count(gpu):
        return False
    platform = fabric.platform_of(gpu.node)
    by_design = platform is not None and bool(platform.switch_lanes)
    return by_design or bool(fabric.nvswitches(gpu.node)) or "nvlinks" in fabric.facts(gpu)


def by_nvlink(fabric: Fabric, src: ComponentId, dst: ComponentId) -> bool:
    """Whether GPUs of two nodes reach each other without leaving their NVLink domain."""
    if src.kind != "gpu" or dst.kind != "gpu" or fabric.domain_of(src.node) != fabric.domain_of(dst.node):
        return False
    return is_switched(fabric, src) and is_switched(fabric, dst)


def striped(lanes: tuple[ComponentId, ...]) -> Path:
    """Lanes that carry the same share each."""
    return tuple(Crossing(lane, 1.0 / len(lanes)) for lane in lanes)


def switch_shares(fabric: Fabric, gpu: ComponentId) -> dict[ComponentId, float]:
    """What of a GPU's traffic each NVSwitch carries."""
    total, counts = fabric.lane_count(gpu), fabric.lane_counts(gpu)
    return {part: counts[part] / total for part in sorted(counts, key=natural) if part.kind == "nvswitch"}


def _between(fabric: Fabric, src: ComponentId, dst: ComponentId) -> Path:
    if src.node != dst.node and not by_nvlink(fabric, src, dst):
        found = routes(fabric, leave(fabric, src), leave(fabric, dst))
        return _over_network(fabric, found) if found else _all((src, host_id(src.node), dst, host_id(dst.node)))
    if src == dst:
        return _all((src, host_id(src.node)))
    if src.kind == dst.kind == "gpu":
        return peer_copy_path(fabric, src, dst)
    return _all((*(end for end in (src, dst) if end.kind != "host"), *_inside(fabric, src, dst), host_id(src.node)))


def _inside(fabric: Fabric, src: ComponentId, dst: ComponentId) -> tuple[ComponentId, ...]:
    """The links and sockets between two ends of a node that are not both GPUs."""
    devices = [end for end in (src, dst) if fabric.kind_of(end) in ("gpu", "nic")]
    if len(devices) == 2:
        return over_pcie(fabric, src, dst)
    sockets = [numa for device in devices if (numa := fabric.numa_of(device)) is not None]
    return (*(link for device in devices for link in links_above(fabric, device)), *sockets)


def _over_network(fabric: Fabric, found: tuple[Route, ...]) -> Path:
    """Every way from node to node, as many as there are choices of NICs, with the same share each."""
    crossings: list[Crossing] = []
    whole = 1.0 / len(found)
    nics = tuple(dict.fromkeys(route.out.nic for route in found))
    others = tuple(dict.fromkeys(route.into.nic for route in found))
    for route in found:
        crossings += (Crossing(part, whole, nics) for part in route.out.parts)
        crossings += (Crossing(part, whole, others) for part in route.into.parts)
        crossings += (
            Crossing(part, whole * share, choice or (nics if len(nics) > 1 else others))
            for part, share, choice in _switches_of(fabric, route)
        )
    return tuple(crossings)


def _switches_of(fabric: Fabric, route: Route) -> SwitchShares:
    return switches_between(fabric, route.out.leaf, route.into.leaf, fabric.spine_to(route.into.nic))


def _switches(fabric: Fabric, gpus: list[ComponentId]) -> Path:
    """Each NVSwitch with the larger of the two GPUs' shares through it."""
    shares: dict[ComponentId, float] = {}
    for gpu in gpus:
        for switch, share in switch_shares(fabric, gpu).items():
            shares[switch] = max(share, shares.get(switch, 0.0))
    return tuple(Crossing(switch, share) for switch, share in shares.items())


def _all(parts: Iterable[ComponentId]) -> Path:
    return tuple(Crossing(part, 1.0) for part in dict.fromkeys(parts))


def _each_once(crossings: Iterable[Crossing]) -> Path:
    """Shares of a part added up; what carries all of it was no matter of choice."""
    shares: dict[ComponentId, float] = {}
    choices: dict[ComponentId, tuple[ComponentId, ...]] = {}
    for crossing in crossings:
        part = crossing.component
        shares[part] = min(1.0, shares.get(part, 0.0) + crossing.share)
        choices.setdefault(part, crossing.choice)
    return tuple(
        Crossing(part, 1.0) if share > 1.0 - 1e-9 else Crossing(part, share, choices[part])
        for part, share in shares.items()
    )
