"""A network port that is active at less than its equals, that is down while they are up, or that errs more than it may.

Equals are adapters of one type on one kind of network, of the node first, else of all nodes. What streams from a live
node has rules of its own; this reads what ibstat, ibv_devinfo and mlxlink printed.
Source: rdma-core ibstat; NVIDIA MFT manual; effective BER above 1e-12 as in counters.toml and ibdiagnet's limits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...parsers.infiniband.ibstat import Hca, HcaPort
from ...parsers.infiniband.mlxlink import MlxlinkReport
from ..readings import UNKNOWN_NODE, Witness, in_order
from ..scene import Scene

RULE = "port_speed"
ENOUGH = 3
"""Equals that must agree before the one that differs is likely wrong rather than different on purpose."""
WORST_RATE = 1e-12
"""Effective bit error rate of a link that is still good."""
SWAP = (
    "Clean and reseat the cable, then exchange its switch end with that of a good link: what moves with it is the "
    "cable, what stays at the switch its port."
)

Ports = Mapping[ComponentId, Witness[HcaPort]]


def port_speed(scene: Scene) -> Iterator[Finding]:
    """One finding for each port below its equals, and for each whose link errs."""
    ports = _ports(scene)
    types = {told.node / told.reading.device: told.reading.ca_type for told in scene.readings.of(Hca)}
    for port, told in ports.items():
        equals = _equals(port, told, ports, types)
        if told.reading.state == "Active":
            yield from _slower(port, told, equals)
        elif told.reading.state and not _streams(scene, port):
            yield from _not_active(port, told, equals)
    yield from _error_rates(scene)


def _ports(scene: Scene) -> Ports:
    """The newest word on each first port; others are told apart by their number in the tools alone."""
    return {
        told.node / told.reading.device: told
        for told in in_order(scene.readings.of(HcaPort))
        if told.node != UNKNOWN_NODE and told.reading.port == 1
    }


def _equals(
    port: ComponentId, told: Witness[HcaPort], ports: Ports, types: Mapping[ComponentId, str | None]
) -> Sequence[Witness[HcaPort]]:
    alike = [
        other
        for peer, other in ports.items()
        if peer != port
        and other.reading.link_layer == told.reading.link_layer
        and types.get(peer) == types.get(port)
        and other.reading.state == "Active"
    ]
    own = [other for other in alike if other.node == told.node]
    return own if len(own) >= ENOUGH else alike


def _slower(port: ComponentId, told: Witness[HcaPort], equals: Sequence[Witness[HcaPort]]) -> Iterator[Finding]:
    rates = Counter(other.reading.rate_gbps for other in equals if other.reading.rate_gbps)
    if not rates:
        return
    usual, count = rates.most_common(1)[0]
    rate = told.reading.rate_gbps
    if usual is None or rate is None or rate >= usual or 2 * count <= sum(rates.values()):
        return
    sure = count >= ENOUGH and len(rates) == 1
    yield Finding(
        component=port,
        fru="cable",
        fault_class="net-link/speed",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
        title=f"{port.within} of {port.node} is active at {rate:g} Gb/s, {count} equal ports at {usual:g} Gb/s",
        evidence=tuple(dict.fromkeys((told.id, *(other.id for other in equals[:8])))),
        argues_against=(
            "the switch port may be set or built for that speed",
            *(() if sure else ("with so few equals it may be meant so",)),
        ),
        next=f"Read mlxlink -m -c at both ends: width, speed and what limits them. {SWAP}",
        rule=RULE,
    )


def _streams(scene: Scene, port: ComponentId) -> bool:
    """Whether the port's state is sampled: then the rule on samples speaks."""
    view = scene.snapshot.nodes.get(port.node)
    series = view.series.get("ib") if view else None
    return series is not None and (port, "port_state") in series.index


def _not_active(port: ComponentId, told: Witness[HcaPort], equals: Sequence[Witness[HcaPort]]) -> Iterator[Finding]:
    state, physical = told.reading.state, told.reading.phys_state
    if state in ("Initializing", "Armed"):
        yield Finding(
            component=port,
            fru="configuration",
            fault_class="net-fabric/sm",
            severity=Severity.WARNING,
            confidence=Confidence.POSSIBLE,
            title=f"{port.within} of {port.node} has a link but is {state}: no subnet manager has configured it",
            evidence=(told.id, *dict.fromkeys(other.id for other in equals[:4] if other.id != told.id)),
            argues_against=("a port that has just come up passes through this state for some seconds",),
            next="Check that a subnet manager runs and sees this port (sminfo, ibdiagnet).",
            rule=RULE,
        )
    elif state == "Down" and physical != "Disabled" and equals:
        yield Finding(
            component=port,
            fru="cable",
            fault_class="net-link/down",
            severity=Severity.WARNING,
            confidence=Confidence.POSSIBLE,
            title=f"{port.within} of {port.node} is down ({physical or state}); {len(equals)} equal ports are active",
            evidence=tuple(dict.fromkeys((told.id, *(other.id for other in equals[:4])))),
            argues_against=("it was never seen active here: it may have no cable by design",),
            next=f"Read the port's state at the switch. {SWAP}",
            rule=RULE,
        )


def _error_rates(scene: Scene) -> Iterator[Finding]:
    for told in in_order(scene.readings.of(MlxlinkReport)):
        effective = told.reading.effective_rate
        if effective is None or effective.is_floor or effective.rate is None or effective.rate <= WORST_RATE:
            continue
        minutes = told.reading.minutes_since_clear
        yield Finding(
            component=told.node / "host",
            fru="cable",
            fault_class="net-link/ber",
            severity=Severity.WARNING,
            confidence=Confidence.POSSIBLE,
            title=f"a port of {told.node} has an effective bit error rate of {effective.rate:g} "
            f"(a good link stays below {WORST_RATE:g})"
            + (f", over {minutes:g} minutes" if minutes is not None else "")
            + (f": {told.reading.recommendation}" if told.reading.recommendation else ""),
            evidence=(told.id,),
            argues_against=(
                "which adapter was asked is not printed; the transceiver at either end may be the cause",
                *(
                    ("a few minutes after clearing the rate is not settled",)
                    if minutes is not None and minutes < 5
                    else ()
                ),
            ),
            next=f"Clear the counters, load the link for five minutes and read both ends again. {SWAP}",
            rule=RULE,
        )
