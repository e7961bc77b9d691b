"""From NCCL's topology XML to claims.

NCCL leaves the downstream ports of switches out, and its speeds and widths are what a link can do, not what it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...incident.ids import ComponentId, bridge_id
from ...parsers.nccl.topo_xml import (
    NVSWITCH_CLASS,
    NcclC2c,
    NcclCpu,
    NcclGpu,
    NcclLink,
    NcclNet,
    NcclPci,
)
from ..claims import ChainClaim, Claim, LaneCountClaim, PartClaim, PcieClaim, Source, Value
from .names import Names, usable

DEEPEST = 16
"""Bridges above one device at most; more is a loop in what was written."""


def claims(readings: Iterable[object], names: Names) -> Iterator[Claim]:
    """What one file says of one node."""
    known = list(readings)
    devices = {reading.address: reading for reading in known if isinstance(reading, NcclPci)}
    for reading in known:
        match reading:
            case NcclPci():
                yield from _device(reading, devices, names)
            case NcclGpu(address=address) if address in names.gpus:
                yield PartClaim(names.gpus[address], "gpu", Source.NCCL, {"bus_address": address})
            case NcclLink():
                yield from _links(reading, names)
            case NcclC2c(gpu=address) if address in names.gpus:
                yield from _grace(address, devices, names)
            case NcclNet(nic_address=str(address)) if address in names.nics:
                yield from _network_port(reading, address, devices, names)
            case NcclCpu(numa=int(numa), affinity=str(cpus)):
                yield PartClaim(names.node / f"numa{numa}", "numa", Source.NCCL, {"cpu_mask": cpus} if cpus else {})


def _device(pci: NcclPci, devices: Mapping[str, NcclPci], names: Names) -> Iterator[Claim]:
    part = names.at(pci.address)
    told: dict[str, Value | None] = {"max_speed_gts": pci.speed_gts, "max_width": pci.width or None}
    link = {key: value for key, value in told.items() if value is not None}
    if part is None or part.kind == "nvswitch":
        if link and pci.is_bridge:
            yield PcieClaim(bridge_id(names.node, pci.address), Source.NCCL, link)
        return
    yield PartClaim(part, "gpu" if part.kind == "gpu" else "nic", Source.NCCL, {"bus_address": pci.address})
    bridges, numa = _above(pci, devices)
    if bridges or numa is not None:
        yield ChainClaim(part, Source.NCCL, bridges, numa)
    if link:
        yield PcieClaim(part / "pcie", Source.NCCL, link)


def _network_port(net: NcclNet, address: str, devices: Mapping[str, NcclPci], names: Names) -> Iterator[Claim]:
    """A port of a NIC; several of them under one address are parts of their own."""
    nic = names.nics[address]
    part = names.node / net.name if net.name and usable(net.name) else nic
    yield PartClaim(part, "nic", Source.NCCL, {"bus_address": address, **_net(net)})
    bridges, numa = _above(devices[address], devices) if address in devices else ((), None)
    if part != nic and (bridges or numa is not None):
        yield ChainClaim(part, Source.NCCL, bridges, numa)


def _above(pci: NcclPci, devices: Mapping[str, NcclPci]) -> tuple[tuple[str, ...], int | None]:
    """Bridges from the root down, and the NUMA node at the top."""
    bridges: list[str] = []
    parent = pci.parent
    while parent is not None and parent in devices and len(bridges) < DEEPEST:
        bridges.insert(0, parent)
        parent = devices[parent].parent
    numa = parent.removeprefix("numa") if parent else ""
    return tuple(bridges), int(numa) if numa.isdecimal() else None


def _links(link: NcclLink, names: Names) -> Iterator[Claim]:
    """NVLinks to a GPU, or to NVSwitches, which a virtual machine does not see."""
    gpu = names.gpus.get(link.gpu)
    if gpu is None or not link.count:
        return
    far = names.at(link.target)
    if far is not None and far.kind == "nvswitch":
        yield PartClaim(far, "nvswitch", Source.NCCL, {"bus_address": link.target})
    if far is not None and far != gpu:
        yield LaneCountClaim(gpu, far, link.count, Source.NCCL)
    elif link.target_class == NVSWITCH_CLASS:
        yield LaneCountClaim(gpu, None, link.count, Source.NCCL)


def _grace(address: str, devices: Mapping[str, NcclPci], names: Names) -> Iterator[Claim]:
    gpu: ComponentId = names.gpus[address]
    numa = _above(devices[address], devices)[1] if address in devices else None
    if numa is not None:
        yield PartClaim(gpu, "gpu", Source.NCCL, {"c2c_numa": numa})


def _net(net: NcclNet) -> dict[str, Value]:
    told: dict[str, Value] = {}
    if net.speed_mbps:
        told["rate_gbps"] = net.speed_mbps / 1000
    if net.system_image_guid:
        told["system_image_guid"] = net.system_image_guid
    return told
