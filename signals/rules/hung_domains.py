"""Calls into the driver or the kernel that never came back on a node."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import host_id
from ...incident.snapshot import HungDomain, NodeView
from ..scene import Scene
from ..wording import clock

RULE = "hung_domains"
_CALLS = {
    "nvml": "NVIDIA driver",
    "ib": "InfiniBand driver (sysfs)",
    "pci": "PCIe configuration (sysfs)",
    "kmsg": "kernel log",
}
_STATES = {"D": "uninterruptible sleep", "R": "running", "S": "sleep", "T": "stopped"}


def hung_domains(scene: Scene) -> Iterator[Finding]:
    """One finding for each worker that is stuck, and one where the GPUs of a node can't be read at all."""
    for view in scene.snapshot.nodes.values():
        for hung in view.hung:
            yield _hung(view, hung)
        if "nvml" in view.unreadable and view.components("gpu"):
            yield _unreadable(view, view.unreadable["nvml"])


def _hung(view: NodeView, hung: HungDomain) -> Finding:
    series = view.series.get(hung.domain)
    state = _STATES.get(hung.process_state, f"state {hung.process_state}")
    where = f", in {hung.wchan}" if hung.wchan not in ("", "0") else ""
    call = _CALLS.get(hung.domain, hung.domain)
    evidence = (hung.event_id, series.ids[-1] if series else "", view.event_id)
    return Finding(
        component=host_id(view.id),
        fru="software",
        fault_class="software/driver",
        severity=Severity.CRITICAL if hung.domain == "nvml" else Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"a call into the {call} of {view.id} hangs since {clock(hung.since)} ({state}{where})",
        evidence=tuple(id_ for id_ in evidence if id_),
        argues_against=("a GPU or NIC that no longer answers makes its driver hang too: look for errors just before",),
        next="Save the kernel log and the stack of the stuck process before anyone reboots the node.",
        rule=f"{RULE}:{hung.domain}",
    )


def _unreadable(view: NodeView, why: str) -> Finding:
    return Finding(
        component=host_id(view.id),
        fru="software",
        fault_class="software/driver",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"the GPUs of {view.id} can't be read: {why}",
        evidence=tuple(id_ for id_ in (view.facts_id, view.event_id) if id_),
        next="Check that the driver is loaded and that its library and kernel module are of one version.",
        rule=f"{RULE}:unreadable",
    )
