"""Ways of RDMA transfers whose NICs were chosen by us: memory to NIC, over the network, NIC to memory."""

from __future__ import annotations

import math

from ..incident.ids import ComponentId, host_id
from ..topology.fabric import Fabric
from ..topology.paths import Crossing, Path, path
from .nccl_ways import nics_of

NIC_METRIC = "ib_write_bw"
"""Of platforms.toml, Gb/s."""
BELOW_ONE_SWITCH = ("PIX", "PXB")
"""Closeness of a GPU and a NIC between which nothing is slower than the NIC itself."""


def joined(*ways: Path) -> Path:
    """Ways one after the other as one: each part once, with the largest share that any has of it."""
    parts: dict[ComponentId, Crossing] = {}
    for crossing in (crossing for way in ways for crossing in way):
        known = parts.get(crossing.component)
        if known is None or crossing.share > known.share:
            parts[crossing.component] = crossing
    return tuple(parts.values())


def memory_of(fabric: Fabric, nic: ComponentId) -> ComponentId:
    """The host memory that a transfer by a NIC uses: its own socket's, where the node says which that is."""
    return fabric.numa_of(nic) or host_id(nic.node)


def to_host_memory(fabric: Fabric, nic: ComponentId) -> Path:
    """Between a NIC and the memory of its socket."""
    return path(fabric, nic, memory_of(fabric, nic))


def nic_of(fabric: Fabric, end: ComponentId) -> ComponentId | None:
    """The NIC by which an end's transfers leave: itself, or the first of those closest to a GPU."""
    if fabric.kind_of(end) == "nic":
        return end
    return next(iter(nics_of(fabric, (end,))), None)


def by_these_nics(fabric: Fabric, source: ComponentId, destination: ComponentId) -> Path:
    """From one node's memory to another's. An end that is a GPU stands for its memory, a NIC for its socket's."""
    nics = [nic_of(fabric, end) for end in (source, destination)]
    inside = [
        to_host_memory(fabric, nic) if nic == end else path(fabric, end, nic)
        for end, nic in zip((source, destination), nics, strict=True)
        if nic is not None
    ]
    if nics[0] is None or nics[1] is None:
        return joined(*inside, path(fabric, source, destination))
    return joined(inside[0], path(fabric, nics[0], nics[1]), inside[1])


def nic_rate(fabric: Fabric, nic: ComponentId) -> float:
    """GB/s of a NIC that serves GPUs on this platform; NaN for any other, and where nobody has measured it."""
    platform = fabric.platform_of(nic.node)
    known = platform.expect.get(NIC_METRIC) if platform is not None else None
    if known is None or known.unit != "Gb/s" or nic not in nics_of(fabric, fabric.gpus(nic.node)):
        return math.nan
    return known.value / 8
