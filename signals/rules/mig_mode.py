"""MIG slices a GPU: NVLink and peer-to-peer are off on it, which is right for some jobs and wrong for a collective.

Source: NVIDIA MIG user guide (no peer-to-peer, neither PCIe nor NVLink, between instances of GPUs).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import NodeId, host_id
from ...parsers.nvidia_smi.gpu_report import GpuReport
from ..readings import Witness, by_node, in_order
from ..scene import Scene
from ..wording import several

RULE = "mig_mode"
ON = "Enabled"


def mig_mode(scene: Scene) -> Iterator[Finding]:
    """One finding a node: a warning where some of its GPUs are sliced and others are not."""
    for node, told in by_node(scene.readings.of(GpuReport)).items():
        last = {one.reading.bus_address or one.id: one for one in in_order(told) if one.reading.mig_mode}
        sliced = [one for one in last.values() if one.reading.mig_mode == ON]
        if sliced:
            yield _finding(node, sliced, len(last))


def _finding(node: NodeId, sliced: list[Witness[GpuReport]], of: int) -> Finding:
    mixed = len(sliced) < of
    return Finding(
        component=host_id(node),
        fru="configuration",
        fault_class="host-config/mig",
        severity=Severity.WARNING if mixed else Severity.INFO,
        confidence=Confidence.POSSIBLE,
        title=f"MIG is on on {len(sliced)} of {several(of, 'GPU')} of {node}: these have neither NVLink nor P2P",
        evidence=tuple(dict.fromkeys(one.id for one in sliced)),
        argues_against=("it may be wanted: jobs of one slice need neither",),
        next="If a job over several GPUs is meant to run here, switch MIG off on all of them while they are idle.",
        rule=RULE,
    )
