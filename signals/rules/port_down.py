"""A network port is down that was active, or whose equals are. A port somebody disabled is no finding."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...parsers.logs.nic_events import NicLink
from ..scene import Scene

RULE = "port_down"
PHYS_LINK_UP = 5.0


def port_down(scene: Scene) -> Iterator[Finding]:
    """One finding for each port that ought to be up and is not; ports that went with their leaf are its victims."""
    with_leaf = {port.nic for ports in scene.leaves_down.values() for port in ports}
    for port in scene.dead_ports:
        if port.nic in with_leaf:
            continue
        evidence = (*port.evidence, *_logged(scene, port.nic))
        if port.phys_state == PHYS_LINK_UP:
            yield _no_manager(port.nic, evidence)
        else:
            yield _down(port.nic, evidence, port.was_active, port.active, port.equals)


def _logged(scene: Scene, nic: ComponentId) -> tuple[str, ...]:
    return tuple(
        burst.ids[-1]
        for burst in scene.bursts
        if burst.component == nic and isinstance(burst.reading, NicLink) and not burst.reading.up
    )


def _down(nic: ComponentId, evidence: tuple[str, ...], was_active: bool, active: int, equals: int) -> Finding:
    how = "went down during this session" if was_active else "is down"
    return Finding(
        component=nic,
        fru="cable",
        fault_class="net-link/down",
        severity=Severity.CRITICAL if was_active else Severity.WARNING,
        confidence=Confidence.LIKELY if was_active else Confidence.POSSIBLE,
        title=f"the port of {nic.within} {how}; {active} of {equals} equal ports of the node are active",
        evidence=evidence,
        argues_against=(
            "the switch port or the far end may be down instead of this side",
            *(() if was_active else ("it was never seen active here: it may have no cable by design",)),
        ),
        next="Read the port's state at the switch, then clean and reseat the cable at both ends.",
        rule=RULE,
    )


def _no_manager(nic: ComponentId, evidence: tuple[str, ...]) -> Finding:
    return Finding(
        component=nic,
        fru="configuration",
        fault_class="net-fabric/sm",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"the link of {nic.within} is up but its port is not active: no subnet manager configured it",
        evidence=evidence,
        argues_against=("a port that has just come up passes through this state for some seconds",),
        next="Check that a subnet manager runs and sees this port.",
        rule=RULE,
    )
