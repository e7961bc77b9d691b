"""Ends of one network that don't have the same MTU: small packets pass, large ones are lost, and jobs hang at once.

An interface is compared with the one of the same name on other nodes, an adapter's active MTU with that of its equals.
A ping that must not be fragmented and is refused is the proof.
Source: InfiniBand specification 1.4, 9.2 (path MTU); RFC 1191; NVIDIA's RoCE configuration guides (MTU on both ends).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId
from ...parsers.host.ping import PingRun
from ...parsers.infiniband.ibv_devinfo import PortMtu
from ...parsers.infiniband.interface import Interface
from ..nic_names import nic_of
from ..odd_ones import difference
from ..readings import UNKNOWN_NODE, Witness, in_order
from ..scene import Scene

RULE = "mtu"
NOT_OF_THE_NETWORK = (
    "lo", "docker", "virbr", "veth", "cali", "cni", "flannel", "br-", "tun", "tap", "idrac", "usb", "vnet", "lxc",
    "dummy", "kube", "nodelocaldns", "cilium", "tailscale", "wg",
)  # fmt: skip
"""How interfaces begin that no traffic between nodes takes as it is."""
OVERHEAD = 28
"""Bytes of IPv4 and ICMP headers in front of a ping's data."""
TEST = "ping -M do -s {size} from each end to the other"


def mtu(scene: Scene) -> Iterator[Finding]:
    """One finding for each end that differs."""
    yield from _interfaces(scene)
    yield from _adapters(scene)


def _interfaces(scene: Scene) -> Iterator[Finding]:
    said: dict[str, dict[NodeId, Witness[Interface]]] = {}
    for told in in_order(scene.readings.of(Interface)):
        one = told.reading
        if (
            told.node != UNKNOWN_NODE
            and one.mtu
            and one.state != "DOWN"
            and not one.name.startswith(NOT_OF_THE_NETWORK)
        ):
            said.setdefault(one.name, {})[told.node] = told
    for name, by_node in said.items():
        found = difference({node: told.reading.mtu for node, told in by_node.items()})
        if found is None:
            continue
        largest = max(value for value in found.said.values() if value)
        suspects = found.odd or [node for node, value in found.said.items() if value != largest]
        for node in suspects:
            peers = {peer: value for peer, value in found.said.items() if value != found.said[node]}
            yield _finding(scene, node, name, by_node, peers, is_odd=bool(found.odd))


def _finding(
    scene: Scene,
    node: NodeId,
    name: str,
    by_node: Mapping[NodeId, Witness[Interface]],
    peers: Mapping[NodeId, int | None],
    is_odd: bool,
) -> Finding:
    own, peer = by_node[node].reading.mtu or 0, next(iter(peers))
    usual = peers[peer] or 0
    proof = _refusal(scene, min(own, usual))
    others = peer if len(peers) == 1 else f"{len(peers)} other nodes"
    return Finding(
        component=nic_of(scene, node, name),
        fru="configuration",
        fault_class="net-fabric/mtu",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if proof else Confidence.POSSIBLE,
        title=f"{name} of {node} has an MTU of {own}, that of {others} one of {usual}"
        + (f": a packet of {proof.reading.payload or 'that size'} bytes is refused" if proof else ""),
        evidence=(by_node[node].id, *(by_node[one].id for one in peers), *((proof.id,) if proof else ())),
        argues_against=(
            *(() if is_odd else ("with so few nodes it is open which end is meant to be so",)),
            *(() if proof else ("nothing shows that these interfaces talk to each other",)),
        ),
        next=f"{TEST.format(size=max(own, usual) - OVERHEAD)}; then set one MTU on both ends and on all switch ports "
        "between.",
        rule=RULE,
    )


def _refusal(scene: Scene, mtu: int) -> Witness[PingRun] | None:
    """A ping that an interface or router of that MTU refused to send on whole."""
    return next((one for one in scene.readings.of(PingRun) if one.reading.too_long_for in (0, mtu)), None)


def _adapters(scene: Scene) -> Iterator[Finding]:
    said: dict[ComponentId, Witness[PortMtu]] = {}
    for told in in_order(scene.readings.of(PortMtu)):
        if told.node != UNKNOWN_NODE and told.reading.active:
            said[told.node / told.reading.device] = told
    kinds = {nic: told.reading.largest for nic, told in said.items()}
    for kind in dict.fromkeys(kinds.values()):
        equals = {nic: said[nic].reading.active for nic in said if kinds[nic] == kind}
        found = difference(equals)
        if found is None or found.usual is None:
            continue
        for nic in found.odd:
            yield Finding(
                component=nic,
                fru="configuration",
                fault_class="net-fabric/mtu",
                severity=Severity.WARNING,
                confidence=Confidence.POSSIBLE,
                title=f"{nic.within} of {nic.node} runs with an active MTU of {equals[nic]}, {len(found.usual_ones)} "
                f"equal adapters with {found.usual}",
                evidence=(said[nic].id, *dict.fromkeys(said[one].id for one in found.usual_ones[:8])),
                argues_against=("it may serve another network than its equals",),
                next="Compare the MTU of its interface, of its partition (InfiniBand) and of the switch port; set one "
                "for all.",
                rule=RULE,
            )
