"""Ports of several nodes that are down behind one leaf: the leaf is told, and not each port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ..dead_ports import DeadPort
from ..scene import Scene

RULE = "leaf_down"


def leaf_down(scene: Scene) -> Iterator[Finding]:
    """One finding a leaf, its ports as victims."""
    for leaf, ports in scene.leaves_down.items():
        yield _finding(leaf, ports)


def _finding(leaf: ComponentId, ports: Sequence[DeadPort]) -> Finding:
    nodes = dict.fromkeys(port.nic.node for port in ports)
    during = all(port.was_active for port in ports)
    return Finding(
        component=leaf,
        fru="switch",
        fault_class="net-link/down",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY if during else Confidence.POSSIBLE,
        title=f"{len(ports)} ports of {len(nodes)} nodes on {leaf} are down, while ports on other leaves are up",
        evidence=tuple(dict.fromkeys(id_ for port in ports for id_ in port.evidence)),
        argues_against=("its power, its firmware, or somebody at work on it look the same from the nodes",),
        next=f"Look at {leaf} itself: power, its own log, and who worked on it, before any cable or NIC is touched.",
        victims=tuple(port.nic for port in ports),
        rule=RULE,
    )
