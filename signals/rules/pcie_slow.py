"""A PCIe link runs below its speed while it carries load. At rest a slow link saves power and is no finding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...incident.snapshot import NodeView, Series, Vector
from ..frus import fru_of
from ..pcie_links import PcieLink, pcie_links
from ..rates import per_second
from ..scene import Scene

RULE = "pcie_slow"
SAMPLES = 5
"""Newest samples in which the link must be slow and its device busy."""
BUSY_PCT = 50.0
"""GPU utilization that counts as load."""
BUSY_BYTES = 1e9
"""Bytes a second through a NIC that count as load."""
BYTES_PER_WORD = 4.0
"""port_xmit_data and port_rcv_data count words of four octets."""


def pcie_slow(scene: Scene) -> Iterator[Finding]:
    """One finding for each device whose link stays slow under load."""
    for view in scene.snapshot.nodes.values():
        series = view.series.get("pci")
        if series is None or len(series.samples) < SAMPLES:
            continue
        for link in pcie_links(view.facts):
            if not link.device or not 0 < series.value(link.id, "speed_gts") < link.max_speed:
                continue
            speeds = _newest(series, link.id, "speed_gts")
            if bool((speeds < link.max_speed).all()) and (busy := _load(view, link.device)):
                yield _finding(view, series, link, link.device, float(speeds[-1]), busy)


def _newest(series: Series, component: ComponentId, name: str) -> Vector:
    """The newest values of one reading; none where it is not in the schema."""
    at = series.index.get((component, name))
    return np.array([] if at is None else [sample[at] for sample in series.samples[-SAMPLES:]])


def _load(view: NodeView, device: ComponentId) -> tuple[str, str] | None:
    """In words how busy the device has been in the newest samples, and the sample that shows it; None when idle."""
    if device.kind == "gpu":
        series = view.series.get("nvml")
        used = _newest(series, device, "utilization_pct") if series else np.array([])
        if series is None or len(used) < SAMPLES or not bool((used >= BUSY_PCT).all()):
            return None
        return "while the GPU works", series.ids[-1]
    series = view.series.get("ib")
    if series is None or len(series.samples) < SAMPLES:
        return None
    window = series.times[-1] - series.times[-SAMPLES]
    rates = [per_second(series, device, name, window) for name in ("port_xmit_data", "port_rcv_data")]
    carried = BYTES_PER_WORD * float(np.nansum(rates))
    return ("while the NIC carries traffic", series.ids[-1]) if carried >= BUSY_BYTES else None


def _finding(
    view: NodeView, series: Series, link: PcieLink, device: ComponentId, speed: float, busy: tuple[str, str]
) -> Finding:
    return Finding(
        component=link.id,
        fru=fru_of(link.id),
        fault_class="pcie-link/speed-degraded",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        title=f"the PCIe link of {device.within} runs at {speed:g} GT/s instead of {link.max_speed:g} {busy[0]}",
        evidence=tuple(id_ for id_ in (series.ids[-1], busy[1], view.facts_id) if id_),
        argues_against=("seating, riser, retimer or the slot may be at fault instead of the device",),
        next="Power the node off and on once and read the speed under load again; compare with its equals.",
        rule=RULE,
    )
