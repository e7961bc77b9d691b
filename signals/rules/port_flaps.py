"""A network link that goes down and comes back, again and again, as the kernel logs it.

Several ports that go at the same moment share a cause beyond any of them: a switch, or a reboot of it.
Source: causes of link flaps in counters.toml `link_downed`; Linux mlx5 `Link up` and `Link down`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...parsers.logs.nic_events import NicLink
from ..logs import Burst
from ..nic_names import nic_of
from ..scene import Scene
from ..wording import span, times

RULE = "port_flaps"
FEWEST = 2
"""Times that a link must have gone down: once is a reboot or a hand at the cable."""
TOGETHER = 5.0
"""Seconds within which several ports are taken to have gone together."""


def port_flaps(scene: Scene) -> Iterator[Finding]:
    """One finding for each port whose link went down several times, others staying up."""
    downs: dict[ComponentId, list[Burst]] = {}
    ups: dict[ComponentId, list[Burst]] = {}
    for burst in scene.bursts:
        if isinstance(burst.reading, NicLink):
            (ups if burst.reading.up else downs).setdefault(burst.component, []).append(burst)
    for port, told in downs.items():
        alone = [burst for burst in told if not _went_together(burst, port, downs)]
        count = sum(burst.count for burst in alone)
        if count >= FEWEST and port in ups:
            yield _finding(_named(scene, alone[0]), alone, count, len(downs) > 1)


def _named(scene: Scene, burst: Burst) -> ComponentId:
    """The adapter; by the name in the line where nobody else names what sits at the address."""
    if burst.component.kind == "nic" or not isinstance(burst.reading, NicLink):
        return burst.component
    return nic_of(scene, burst.node, burst.reading.name)


def _went_together(burst: Burst, port: ComponentId, downs: Mapping[ComponentId, Sequence[Burst]]) -> bool:
    return any(
        abs(other.first - burst.first) <= TOGETHER
        for peer, told in downs.items()
        if peer != port and peer.node == port.node
        for other in told
    )


def _finding(port: ComponentId, told: Sequence[Burst], count: int, others_too: bool) -> Finding:
    return Finding(
        component=port,
        fru="cable",
        fault_class="net-link/flap",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if count > FEWEST and not others_too else Confidence.POSSIBLE,
        title=f"the link of {port.within} on {port.node} went down {times(count)} and came back, "
        f"{span(told[0].first, told[-1].last)}",
        evidence=tuple(burst.ids[0] for burst in told[:8]),
        argues_against=(
            "the switch port or its transceiver may be what drops it",
            *(("links of other ports went down too, at other times",) if others_too else ()),
        ),
        next="Read mlxlink -m -c -e at both ends; clean and reseat the cable, then exchange its switch end with that "
        "of a good link: errors that move with it speak against the cable, those that stay against the switch port.",
        rule=RULE,
    )
