"""A PCIe link runs below its speed while it carries load. At rest a slow link saves power and is no finding here.

Of what was printed once, a GPU's link counts while the GPU works; a NIC's does not rest, so that the port above it or
equal devices decide.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...incident.snapshot import NodeView, Series, Vector
from ..frus import fru_of
from ..gpu_load import BUSY_PCT, busy_gpus
from ..pcie_links import PcieLink, pcie_links
from ..rates import per_second
from ..scene import Scene
from ..told_links import SPEED, ToldLink

RULE = "pcie_slow"
SAMPLES = 5
"""Newest samples in which the link must be slow and its device busy."""
BUSY_BYTES = 1e9
"""Bytes a second through a NIC that count as load."""
BYTES_PER_WORD = 4.0
"""port_xmit_data and port_rcv_data count words of four octets."""


def pcie_slow(scene: Scene) -> Iterator[Finding]:
    """One finding for each device whose link stays slow under load."""
    yield from _streamed(scene)
    busy = busy_gpus(scene.readings, scene.fabric)
    for link in scene.told_links:
        view = scene.snapshot.nodes.get(link.id.node)
        if link.what != SPEED or (view and "pci" in view.series):
            continue
        if any(part.kind == "nic" for part in link.devices) or busy & set(link.devices):
            yield _built_so(link) if link.is_by_design else _told_slow(link, bool(busy & set(link.devices)))


def _streamed(scene: Scene) -> Iterator[Finding]:
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


def _told_slow(link: ToldLink, busy: bool) -> Finding:
    sure = busy or link.is_below_its_port or link.better > 0
    return Finding(
        component=link.id,
        fru=fru_of(link.id),
        fault_class="pcie-link/speed-degraded",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE if sure else Confidence.UNKNOWN,
        title=(
            f"the PCIe link {link.place} runs at {link.now:g} GT/s instead of {link.could:g}"
            f"{' while the GPU works' if busy else ''}"
        ),
        evidence=link.evidence,
        argues_against=(
            "seating, riser, retimer or the slot may be at fault instead of the device",
            *(() if link.is_below_its_port else ("whether the port above is faster was not read",)),
        ),
        next="Read LnkSta and LnkCap at both ends under load, and again after the node was powered off and on once.",
        rule=RULE,
    )


def _built_so(link: ToldLink) -> Finding:
    why = f"the port above has only {link.port:g}" if link.port else "so do all equal devices of the node"
    return Finding(
        component=link.id,
        fru="none",
        fault_class="not-a-fault/board-limit",
        severity=Severity.INFO,
        confidence=Confidence.LIKELY if link.port else Confidence.POSSIBLE,
        title=f"the PCIe link {link.place} runs at {link.now:g} of {link.could:g} GT/s; {why}: built that way",
        evidence=link.evidence,
        next="Nothing to do, unless other nodes of its kind are faster.",
        rule=RULE,
    )
