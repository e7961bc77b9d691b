"""A node shows fewer GPUs or NVSwitches than its platform has, without anything that says that they were lost."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...topology.expected import Deviation, Standing, missing_parts
from ..scene import Scene

RULE = "parts_missing"


def parts_missing(scene: Scene) -> Iterator[Finding]:
    """One finding for each kind of part of which a node has too few; a GPU that is known to be gone is told as such."""
    for view in scene.snapshot.nodes.values():
        gone = any(lost.gpu.node == view.id for lost in scene.gone)
        for deviation in missing_parts(scene.fabric, view.id):
            if deviation.standing is Standing.MISSING and not gone and view.facts_id:
                yield _finding(deviation, view.facts_id)


def _finding(deviation: Deviation, evidence: str) -> Finding:
    return Finding(
        component=deviation.component,
        fru="gpu-module" if deviation.what == "GPUs" else "baseboard",
        fault_class="gpu-off-bus/unknown" if deviation.what == "GPUs" else "nvlink-fabric/host-side-vm",
        severity=Severity.INFO if _may_be_a_slice(deviation) else Severity.WARNING,
        confidence=Confidence.UNKNOWN if _may_be_a_slice(deviation) else Confidence.POSSIBLE,
        title=f"{deviation.seen} {deviation.what} where its platform has {deviation.expected}: {deviation.reason}",
        evidence=(evidence,),
        argues_against=("a virtual machine or a container may have been given only some of them",),
        next="Compare with `lspci -d 10de:` on the host and with the BMC's inventory.",
        rule=RULE,
    )


def _may_be_a_slice(deviation: Deviation) -> bool:
    """Whether so few are there that a virtual machine, or an output of one GPU, is what one thinks of first."""
    seen, expected = deviation.seen, deviation.expected
    return deviation.what == "GPUs" and seen.isdigit() and expected.isdigit() and 2 * int(seen) <= int(expected)
