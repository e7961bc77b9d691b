"""GPUs whose PCIe links read a low generation at full width: at rest that saves power, and is no fault.

Only a reading under load could say otherwise (`pcie_slow`). Source: capture nvidia-smi/q-rtxpro6000-8gpu-595, where all
GPUs rest at generation 1 and are healthy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId, host_id
from ...parsers.nvidia_smi.gpu_report import GpuReport
from ...topology.agreement import GTS_OF_GENERATION
from ..gpu_load import busy_gpus, idle_gpus, is_busy
from ..scene import Scene
from ..told_links import SPEED, WIDTH, reported_gpu
from ..wording import several

RULE = "idle_link_speed"


@dataclass(slots=True)
class _Resting:
    """Links of one node that read slow without load."""

    evidence: list[str] = field(default_factory=list)
    gpus: dict[ComponentId, None] = field(default_factory=dict)
    slowest: float = float("inf")
    fastest: float = 0.0
    """What the fastest of them could, GT/s."""
    known_idle: bool = True


def idle_link_speed(scene: Scene) -> Iterator[Finding]:
    """One finding for each node, whatever tells it and of however many GPUs."""
    for node, resting in _resting(scene).items():
        yield _finding(node, resting)


def _resting(scene: Scene) -> dict[NodeId, _Resting]:
    narrow = {link.id for link in scene.told_links if link.what == WIDTH and not link.is_by_design}
    busy, idle = busy_gpus(scene.readings, scene.fabric), idle_gpus(scene.readings, scene.fabric)
    found: dict[NodeId, _Resting] = {}
    for link in scene.told_links:
        gpu = link.id.parent
        if link.what == SPEED and gpu.kind == "gpu" and link.id not in narrow and gpu not in busy:
            one = found.setdefault(link.id.node, _Resting())
            one.gpus[gpu] = None
            _note(one, link.now, link.could, link.evidence)
            one.known_idle = one.known_idle and gpu in idle
    for told in scene.readings.of(GpuReport):
        report = told.reading
        now = GTS_OF_GENERATION.get(report.pcie_generation or 0, 0.0)
        could = GTS_OF_GENERATION.get(report.pcie_generation_max or 0, 0.0)
        if reported_gpu(scene.fabric, told) is None and 0 < now < could and not is_busy(told):
            one = found.setdefault(told.node, _Resting())
            _note(one, now, could, (told.id,))
            one.known_idle = False
    return found


def _note(one: _Resting, now: float, could: float, evidence: tuple[str, ...]) -> None:
    one.evidence += [id_ for id_ in evidence if id_ not in one.evidence]
    one.slowest, one.fastest = min(one.slowest, now), max(one.fastest, could)


def _finding(node: NodeId, resting: _Resting) -> Finding:
    gpus = tuple(resting.gpus)
    whose = f"of {gpus[0].within}" if len(gpus) == 1 else f"of {several(len(gpus), 'GPU')}" if gpus else "of a GPU"
    return Finding(
        component=gpus[0] / "pcie" if len(gpus) == 1 else host_id(node),
        fru="none",
        fault_class="not-a-fault/idle-link-speed",
        severity=Severity.INFO,
        confidence=Confidence.LIKELY if resting.known_idle else Confidence.POSSIBLE,
        title=(
            f"the PCIe link {whose} reads {resting.slowest:g} of {resting.fastest:g} GT/s at full width: at rest a "
            "link slows down to save power"
        ),
        evidence=tuple(resting.evidence),
        argues_against=() if resting.known_idle else ("what load there was when this was read is not told",),
        next="Nothing to do; to be sure, read the speed again while a copy runs.",
        rule=RULE,
    )
