"""What a report says of a GPU's memory: flags by which a vendor exchanges it, and errors since the driver loaded.

Lifetime totals say nothing of now and raise nothing. Source: NVIDIA GPU memory error management (SRAM threshold flag);
nvidia-smi -q for what is volatile and what is aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...parsers.nvidia_smi.gpu_report import GpuReport
from ...parsers.nvidia_smi.gpu_values import EccCounts
from ..readings import Witness, in_order
from ..scene import Scene
from ..told_links import reported_gpu
from ..wording import several

RULE = "memory_counted"


def memory_counted(scene: Scene) -> Iterator[Finding]:
    """At most one finding a GPU, by its last report."""
    last: dict[ComponentId, Witness[GpuReport]] = {}
    for told in in_order(scene.readings.of(GpuReport)):
        if gpu := reported_gpu(scene.fabric, told):
            last[gpu] = told
    for gpu, told in last.items():
        ecc = told.reading.ecc
        if ecc.sram_threshold_exceeded:
            yield _flagged(gpu, told.id, "gpu-memory/sram", "its SRAM error threshold is exceeded")
        elif ecc.unrepairable_memory:
            yield _flagged(gpu, told.id, "gpu-memory/row-remap-failure", "memory of it can't be repaired any more")
        elif count := _uncorrected(ecc.volatile):
            yield _counted(gpu, told.id, count)


def _uncorrected(counts: EccCounts) -> int:
    """Uncorrectable errors since the driver was loaded, by whichever of the forms is printed."""
    sram = counts.sram_uncorrectable or 0
    sram = sram or (counts.sram_uncorrectable_parity or 0) + (counts.sram_uncorrectable_secded or 0)
    return counts.uncorrectable_total or sram + (counts.dram_uncorrectable or 0)


def _flagged(gpu: ComponentId, evidence: str, fault_class: str, what: str) -> Finding:
    return Finding(
        component=gpu / "hbm" if fault_class != "gpu-memory/sram" else gpu,
        fru="gpu-module",
        fault_class=fault_class,
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY,
        title=f"{gpu.within} of {gpu.node}: {what}",
        evidence=(evidence,),
        argues_against=("a flag alone: when the errors came, and under what, the kernel log tells",),
        next="Save the logs and counters, run the field diagnostic, and open an RMA with both.",
        rule=RULE,
    )


def _counted(gpu: ComponentId, evidence: str, count: int) -> Finding:
    return Finding(
        component=gpu / "hbm",
        fru="gpu-module",
        fault_class="gpu-memory",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"{gpu.within} of {gpu.node}: {several(count, 'uncorrectable memory error')} since its driver loaded",
        evidence=(evidence,),
        argues_against=("one contained error and a clean reset are ordinary wear",),
        next="Look for Xids 48, 63, 64, 94 and 95 of it in the kernel log, reset it when idle, and count again.",
        rule=RULE,
    )
