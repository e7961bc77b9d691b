"""GPUs of which a tool prints that the driver gets no answer, where no log or stream tells it already."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, bridge_id, gpu_id
from ...parsers.nvidia_smi.errors import GpuLost
from ...parsers.nvidia_smi.gpu_report import GpuReport
from ..readings import Witness
from ..scene import Scene
from ..told_links import reported_gpu

RULE = "gpus_lost"
SURE = ("gpu is lost", "fallen off")
"""Words by which the driver itself says so; `Unknown Error` may be a driver that was taken out under the tool."""


def gpus_lost(scene: Scene) -> Iterator[Finding]:
    """One finding a GPU."""
    found: dict[ComponentId, tuple[str, str, str]] = {}
    for told in scene.readings.of(GpuReport):
        if told.reading.lost and (gpu := reported_gpu(scene.fabric, told)):
            found.setdefault(gpu, (told.id, "GPU is lost", told.reading.bus_address or ""))
    for complaint in scene.readings.of(GpuLost):
        if gpu := _gpu(scene, complaint):
            found.setdefault(gpu, (complaint.id, complaint.reading.said, complaint.reading.bus_address or ""))
    for gpu, (evidence, said, address) in found.items():
        if not any(gone.holds(gpu) for gone in scene.gone):
            yield _finding(gpu, evidence, said, address)


def _gpu(scene: Scene, told: Witness[GpuLost]) -> ComponentId | None:
    lost = told.reading
    if lost.bus_address:
        known = scene.fabric.component_at(told.node, lost.bus_address)
        return known or bridge_id(told.node, lost.bus_address)
    return gpu_id(told.node, lost.index) if lost.index is not None else None


def _finding(gpu: ComponentId, evidence: str, said: str, address: str) -> Finding:
    name = gpu.within if gpu.kind == "gpu" else "a GPU"
    return Finding(
        component=gpu,
        fru="gpu-module",
        fault_class="gpu-off-bus/unknown",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY if any(word in said.lower() for word in SURE) else Confidence.POSSIBLE,
        title=f"the driver gets no answer from {name}{f' ({address})' if address else ''} of {gpu.node}: {said}",
        evidence=(evidence,),
        argues_against=("when it left, and what came before, only the kernel log tells",),
        next="Save the kernel log and the BMC's event log before anything else, then power the node off and on.",
        rule=RULE,
    )
