"""A network port is down that was active, or whose equals are. A port somebody disabled is no finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...incident.snapshot import NodeView, Series
from ...parsers.logs.nic_events import NicLink
from ..columns import by_name
from ..health import PHYS_DISABLED, PORT_ACTIVE
from ..scene import Scene

RULE = "port_down"
PHYS_LINK_UP = 5.0
WORKING = (PORT_ACTIVE, 5.0)
"""Active, or active but deferred."""


def port_down(scene: Scene) -> Iterator[Finding]:
    """One finding for each port that ought to be up and is not."""
    for view in scene.snapshot.nodes.values():
        series = view.series.get("ib")
        column = by_name(series.fields).get("port_state") if series else None
        if series is None or column is None:
            continue
        states: Mapping[ComponentId, float] = dict(zip(column.components, series.last[column.at], strict=True))
        before: Mapping[ComponentId, float] = dict(zip(column.components, series.first[column.at], strict=True))
        for nic, state in states.items():
            if not isnan(state) and state not in WORKING:
                yield from _judge(scene, view, series, nic, states, before[nic] in WORKING)


def _judge(
    scene: Scene,
    view: NodeView,
    series: Series,
    nic: ComponentId,
    states: Mapping[ComponentId, float],
    was_active: bool,
) -> Iterator[Finding]:
    phys = series.value(nic, "phys_state")
    equals = [other for other in states if other != nic and _is_equal(view, nic, other)]
    active = sum(states[other] in WORKING for other in equals)
    if phys == PHYS_DISABLED or not (was_active or active):
        return
    logged = tuple(
        burst.ids[-1]
        for burst in scene.bursts
        if burst.component == nic and isinstance(burst.reading, NicLink) and not burst.reading.up
    )
    evidence = (series.ids[-1], *((view.facts_id,) if view.facts_id else ()), *logged)
    yield _no_manager(nic, evidence) if phys == PHYS_LINK_UP else _down(nic, evidence, was_active, active, len(equals))


def _is_equal(view: NodeView, nic: ComponentId, other: ComponentId) -> bool:
    return view.fact(nic, "link_layer") == view.fact(other, "link_layer")


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
