"""What was not handed in and would help: outputs of the usual set, clocks, names of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...incident.findings import Finding
from ...incident.snapshot import Snapshot
from ...signals.readings import UNKNOWN_NODE, Readings

USUAL = {
    "the kernel log": ("kernel log", "syslog"),
    "nvidia-smi -q": ("nvidia-smi -q", "nvidia-smi -q -x", "nvidia-smi -q excerpt", "nvidia-smi --query-gpu"),
    "nvidia-smi nvlink -s and -e, twice": (
        "nvidia-smi nvlink -s",
        "nvidia-smi nvlink -e",
        "nvidia-smi nvlink -e (NVLink 5)",
    ),
    "lspci -vvv": ("lspci",),
    "the fabric manager's log": ("fabricmanager.log", "journalctl -u nvidia-fabricmanager"),
}
"""What decides most questions, by what it is called, with the tools that print it."""
WANTED_BY = {
    "gpu-off-bus": ("the kernel log", "lspci -vvv"),
    "gpu-memory": ("the kernel log", "nvidia-smi -q"),
    "gpu-throttle": ("nvidia-smi -q",),
    "nvlink-link": ("the kernel log", "nvidia-smi nvlink -s and -e, twice"),
    "nvlink-fabric": ("the kernel log", "the fabric manager's log"),
    "pcie-link": ("the kernel log", "lspci -vvv"),
    "pcie-p2p-path": ("lspci -vvv",),
    "straggler": ("the kernel log", "nvidia-smi -q", "lspci -vvv"),
}
"""By family of a finding: which of them would say more."""


def missing(snapshot: Snapshot, readings: Readings, findings: Sequence[Finding]) -> Iterator[str]:
    """Sentences, the most general first."""
    if count := sum(output.node == UNKNOWN_NODE and bool(output.tool) for output in readings.outputs):
        yield f"Nothing says which node {count} of the outputs are of: put them into a folder named after it."
    logged = [view.id for view in snapshot.nodes.values() if view.logs and view.id != UNKNOWN_NODE]
    if len(logged) > 1:
        yield f"The clocks of {len(logged)} nodes were never compared: the order of events between them is unknown."
    for finding in findings:
        if finding.is_fault:
            yield from _of(finding, readings)


def _of(finding: Finding, readings: Readings) -> Iterator[str]:
    node = finding.component.node
    family = finding.fault_class.partition("/")[0]
    lacking = [
        what for what in WANTED_BY.get(family, ()) if not any(readings.printed_by(tool, node) for tool in USUAL[what])
    ]
    if lacking:
        yield f"For {finding.component}: {' and '.join(lacking)} of {node}."
