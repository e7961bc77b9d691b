"""What a transfer crosses, and which share of it: the one place where probes and the belief learn it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..incident.ids import ComponentId, host_id
from .fabric import Fabric


@dataclass(frozen=True, slots=True)
class Crossing:
    """One part on a transfer's way."""

    component: ComponentId
    share: float
    """Of the transfer's bytes, 0 to 1."""


Path: TypeAlias = tuple[Crossing, ...]


def host_copy_path(fabric: Fabric, gpu: ComponentId) -> Path:
    """Between pinned memory of the GPU's own socket and the GPU. Parts that are not known are left out."""
    numa = fabric.numa_of(gpu)
    parts = [gpu, *fabric.chain(gpu), *([numa] if numa is not None else []), host_id(gpu.node)]
    return tuple(Crossing(part, 1.0) for part in parts)


def peer_copy_path(fabric: Fabric, src: ComponentId, dst: ComponentId) -> Path:
    """From one GPU's memory to another's in the same node: over their NVLinks, or over PCIe where they have none.

    Through NVSwitches the transfer is striped over all lanes of either GPU; GPUs wired to each other use the lanes
    between them. Over PCIe it turns round at the first bridge above both, or crosses the sockets.
    """
    ends = (Crossing(src, 1.0), Crossing(dst, 1.0))
    host = (Crossing(host_id(src.node), 1.0),)
    if direct := fabric.lanes_to(src, dst):
        return (*ends, *_striped(direct), *_striped(fabric.lanes_to(dst, src)), *host)
    switched = [gpu for gpu in (src, dst) if fabric.lanes(gpu)]
    if fabric.nvswitches(src.node) and switched:
        return (*ends, *_striped(fabric.lanes(src)), *_striped(fabric.lanes(dst)), *_switches(fabric, switched), *host)
    return (*ends, *_over_pcie(fabric, src, dst), *host)


def _striped(lanes: tuple[ComponentId, ...]) -> Path:
    return tuple(Crossing(lane, 1.0 / len(lanes)) for lane in lanes)


def _switches(fabric: Fabric, gpus: list[ComponentId]) -> Path:
    """Each NVSwitch with the larger of the two GPUs' shares through it."""
    shares: dict[ComponentId, float] = {}
    for gpu in gpus:
        lanes = fabric.lanes(gpu)
        for switch in fabric.nvswitches(gpu.node):
            share = len(fabric.lanes_to(gpu, switch)) / len(lanes)
            shares[switch] = max(share, shares.get(switch, 0.0))
    return tuple(Crossing(switch, share) for switch, share in shares.items() if share > 0)


def _over_pcie(fabric: Fabric, src: ComponentId, dst: ComponentId) -> Path:
    up, down = fabric.chain(src), fabric.chain(dst)
    common = set(up) & set(down)
    links = [link for link in (*up, *down) if link not in common]
    turn = next((link for link in up if link in common), None)
    if turn is not None:
        links.append(turn)
    else:
        sockets = (fabric.numa_of(src), fabric.numa_of(dst))
        links.extend(dict.fromkeys(socket for socket in sockets if socket is not None))
    return tuple(Crossing(link, 1.0) for link in links)
