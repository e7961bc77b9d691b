"""From what nvidia-smi reports (-q, -q -x, CSV, nvlink -s and -R) to claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...incident.ids import ComponentId, gpu_id
from ...parsers.nvidia_smi.gpu_report import GpuReport
from ...parsers.nvidia_smi.nvlink import AllInactive, LinkEnd, LinkState
from ..claims import ChainClaim, Claim, LaneClaim, PartClaim, PcieClaim, Source, Value
from .names import Names

NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
"""What GPUs whose NVLink fabric ends at their node give as its id."""


def claims(readings: Iterable[object], names: Names) -> Iterator[Claim]:
    """What the readings of nvidia-smi say."""
    for reading in readings:
        match reading:
            case GpuReport():
                yield from _gpu(reading, names)
            case LinkState(gpu=gpu, link=link, up=up, gbs=gbs):
                yield LaneClaim(gpu_id(names.node, gpu), link, Source.NVIDIA_SMI, up=up, gbs=gbs)
            case LinkEnd(gpu=gpu, link=link, remote_address=address, remote_port=port):
                far = names.at(address)
                if far is not None and far.kind == "nvswitch":
                    yield PartClaim(far, "nvswitch", Source.NVLINK_REMOTES, {"bus_address": address})
                yield LaneClaim(gpu_id(names.node, gpu), link, Source.NVLINK_REMOTES, far, port)
            case AllInactive(gpu=gpu):
                yield PartClaim(gpu_id(names.node, gpu), "gpu", Source.NVIDIA_SMI, {"nvlinks_inactive": True})


def _gpu(report: GpuReport, names: Names) -> Iterator[Claim]:
    gpu = _part(report, names)
    if gpu is None:
        return
    told: dict[str, Value | None] = {
        "bus_address": report.bus_address,
        "model": report.name,
        "uuid": report.uuid,
        "serial": report.serial,
        "minor": report.minor,
        "numa": report.numa,
        "memory_bytes": report.memory.total * 2**20 if report.memory.total else None,
    }
    if report.cluster_uuid and report.cluster_uuid != NO_CLUSTER:
        told |= {"cluster_uuid": report.cluster_uuid, "clique_id": report.clique_id}
    yield PartClaim(gpu, "gpu", Source.NVIDIA_SMI, {key: value for key, value in told.items() if value is not None})
    link: dict[str, Value | None] = {
        "generation": report.pcie_generation,
        "max_generation": report.pcie_generation_max,
        "width": report.pcie_width,
        "max_width": report.pcie_width_max,
    }
    if known := {key: value for key, value in link.items() if value is not None}:
        yield PcieClaim(gpu / "pcie", Source.NVIDIA_SMI, known)
    if report.numa is not None:
        yield ChainClaim(gpu, Source.NVIDIA_SMI, numa=report.numa)


def _part(report: GpuReport, names: Names) -> ComponentId | None:
    if report.bus_address and report.bus_address in names.gpus:
        return names.gpus[report.bus_address]
    return None if report.index is None else gpu_id(names.node, report.index)
