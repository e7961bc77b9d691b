"""Whether a GPU worked when something was read of it: links and clocks are judged under load only."""

from __future__ import annotations

from ..incident.ids import ComponentId
from ..parsers.nvidia_smi.gpu_report import GpuReport
from ..topology.fabric import Fabric
from .readings import Readings, Witness
from .told_links import reported_gpu

BUSY_PCT = 50.0
"""GPU utilization that counts as load."""


def is_busy(told: Witness[GpuReport]) -> bool:
    """Whether the GPU of a report worked; false where the report does not say."""
    return (told.reading.utilization.gpu or 0) >= BUSY_PCT


def busy_gpus(readings: Readings, fabric: Fabric) -> frozenset[ComponentId]:
    """GPUs that worked when their report was printed."""
    told = (one for one in readings.of(GpuReport) if is_busy(one))
    return frozenset(gpu for one in told if (gpu := reported_gpu(fabric, one)))


def idle_gpus(readings: Readings, fabric: Fabric) -> frozenset[ComponentId]:
    """GPUs that did nothing when their report was printed."""
    told = (one for one in readings.of(GpuReport) if one.reading.utilization.gpu == 0)
    return frozenset(gpu for one in told if (gpu := reported_gpu(fabric, one)))
