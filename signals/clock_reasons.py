"""Why a GPU's clocks are lower than they could be, as the driver says: streamed as bits, printed as words.

Source: nvml.h, nvmlClocksEventReason*: bits as in `BITS`. HW slowdown stands beside its cause, where it is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..incident.ids import ComponentId
from ..incident.snapshot import NodeView, Series
from ..parsers.nvidia_smi.gpu_report import GpuReport
from ..topology.fabric import Fabric
from .columns import by_name
from .gpu_load import BUSY_PCT, is_busy
from .readings import Readings
from .told_links import reported_gpu

IDLE, LOCKED, POWER_CAP, HW_SLOWDOWN = "idle", "locked", "power cap", "slowdown"
SYNC_BOOST, SW_HEAT, HW_HEAT, POWER_BRAKE = "sync boost", "heat limit", "heat slowdown", "power brake"
BITS: Mapping[int, str] = {
    0x01: IDLE, 0x02: LOCKED, 0x04: POWER_CAP, 0x08: HW_SLOWDOWN, 0x10: SYNC_BOOST, 0x20: SW_HEAT, 0x40: HW_HEAT,
    0x80: POWER_BRAKE,
}  # fmt: skip
WORDS: Mapping[str, str] = {
    "idle": IDLE, "applications_clocks_setting": LOCKED, "sw_power_cap": POWER_CAP, "hw_slowdown": HW_SLOWDOWN,
    "sync_boost": SYNC_BOOST, "sw_thermal_slowdown": SW_HEAT, "hw_thermal_slowdown": HW_HEAT,
    "hw_power_brake_slowdown": POWER_BRAKE,
}  # fmt: skip
LASTING = 0.5
"""Share of the samples held in which a reason must stand; a moment's peak is ordinary."""
FEWEST = 10
"""Samples under load from which a reason lasts."""


@dataclass(frozen=True, slots=True)
class Limited:
    """A GPU whose clocks are held down."""

    gpu: ComponentId | None
    """None of an excerpt that does not say which."""
    node: ComponentId
    reasons: frozenset[str]
    denied: frozenset[str]
    """Reasons of which the driver says that they are not why."""
    evidence: str
    clock_mhz: int | None = None
    device: str = ""
    """`10de:1db5`, where the report says."""
    busy: bool | None = None
    """Whether it worked; None where nobody says."""


def limited_now(view: NodeView) -> Iterator[Limited]:
    """GPUs of a live node of which a reason lasts while they work."""
    series = view.series.get("nvml")
    columns = by_name(series.fields) if series is not None else {}
    if series is None or "clocks_event_reasons" not in columns or "utilization_pct" not in columns:
        return
    column, load = columns["clocks_event_reasons"], columns["utilization_pct"]
    if column.components != load.components:
        return
    lasting = _lasting(series, column.at, load.at)
    for gpu, lasts in zip(column.components, lasting.T, strict=True):
        if lasts.any():
            reasons = frozenset(name for name, held in zip(BITS.values(), lasts.tolist(), strict=True) if held)
            yield Limited(gpu, view.id, reasons, frozenset(BITS.values()) - reasons, series.ids[-1], busy=True)


def _lasting(series: Series, at: npt.NDArray[np.intp], load: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """[bits, GPUs] whether a reason stands in most of the samples in which the GPU worked."""
    samples = np.stack(series.samples)
    values = samples[:, at]
    counts = (samples[:, load] >= BUSY_PCT) & np.isfinite(values)
    bits = np.where(counts, values, 0.0).astype(np.int64)
    busy = counts.sum(axis=0)
    held = np.stack([((bits & bit) > 0).sum(axis=0) for bit in BITS])
    return np.asarray((busy >= FEWEST) & (held >= LASTING * busy) & (held > 0))


def limited_as_told(readings: Readings, fabric: Fabric) -> Iterator[Limited]:
    """GPUs of which a report prints reasons; an idle one is held down by nothing but that."""
    for told in readings.of(GpuReport):
        report = told.reading
        said = {word: getattr(report.event_reasons, name) for name, word in WORDS.items()}
        reasons = frozenset(word for word, value in said.items() if value)
        if reasons and IDLE not in reasons:
            denied = frozenset(word for word, value in said.items() if value is False)
            busy = is_busy(told) if report.utilization.gpu is not None else None
            yield Limited(
                reported_gpu(fabric, told),
                told.node,
                reasons,
                denied,
                told.id,
                report.clocks.sm,
                device_of(report),
                busy,
            )


def device_of(report: GpuReport) -> str:
    """nvidia-smi prints `0x1DB510DE`: device, then vendor."""
    printed = report.other.get("pci/device id", "").lower().removeprefix("0x")
    return f"{printed[4:]}:{printed[:4]}" if len(printed) == 8 else ""
