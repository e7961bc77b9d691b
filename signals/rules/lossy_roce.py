"""RoCE over a network that drops: flow control is off or differs, and requests are sent again.

RoCE needs a network that stops its senders before it drops (priority flow control) or slows them in time (ECN); each
lost packet costs a resend of all behind it. Resends without discards on the host point at the switches between.
Source: counters.toml for what each counter means; RoCEv2 annex A17 of the InfiniBand specification; NVIDIA's guides on
lossless RoCE configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, NodeId, host_id
from ...parsers.infiniband.roce_settings import FlowControl
from ..moved_counts import Moved, moved_counts
from ..odd_ones import difference
from ..readings import UNKNOWN_NODE, Witness, in_order
from ..scene import Scene

RULE = "lossy_roce"
RESENDS = frozenset({"out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err"})
DISCARDS = ("_discards", "_cong_discard", "rx_discards_phy")
"""How counters of packets end that the adapter itself dropped."""
NOT_RECEIVED = frozenset({"tx_discards_phy"})
MOST_NAMED = 4
NEXT = (
    "Compare mlnx_qos (PFC, trust) and ECN on both ends and on every switch port between; read these counters and the "
    "switches' discards before and after a run."
)


def lossy_roce(scene: Scene) -> Iterator[Finding]:
    """One finding for each node that loses or resends, and for each whose flow control differs from its peers'."""
    settings = _settings(scene)
    moved = moved_counts(scene.readings)
    told_of = set()
    for node, counts in moved.items():
        lost = [one for one in counts if _is_loss(one)]
        resent = [one for one in counts if one.name in RESENDS]
        own = settings.get(node)
        if _counts_enough(lost, resent, own):
            told_of.add(node)
            yield _loss(node, lost, resent, own, settings)
    yield from _differs(settings, told_of)


def _settings(scene: Scene) -> Mapping[NodeId, Witness[FlowControl]]:
    """The newest of each node, of one that is off before one that is on."""
    found: dict[NodeId, Witness[FlowControl]] = {}
    for told in in_order(scene.readings.of(FlowControl)):
        before = found.get(told.node)
        if told.node != UNKNOWN_NODE and (before is None or before.reading.priorities or not told.reading.priorities):
            found[told.node] = told
    return found


def _is_loss(one: Moved) -> bool:
    return one.name.endswith(DISCARDS) and one.name not in NOT_RECEIVED and not one.name.startswith("tx")


def _counts_enough(lost: Sequence[Moved], resent: Sequence[Moved], own: Witness[FlowControl] | None) -> bool:
    """What moved within the readings; of totals since boot only both kinds, or one kind without flow control."""
    if any(one.in_session for one in (*lost, *resent)):
        return True
    is_off = own is not None and not own.reading.priorities
    return bool(lost and resent) or (is_off and bool(lost or resent))


def _loss(
    node: NodeId,
    lost: Sequence[Moved],
    resent: Sequence[Moved],
    own: Witness[FlowControl] | None,
    settings: Mapping[NodeId, Witness[FlowControl]],
) -> Finding:
    counts = [*lost, *resent]
    moving = [one for one in counts if one.in_session]
    is_off = own is not None and not own.reading.priorities
    with_it = [peer for peer, told in settings.items() if told.reading.priorities]
    shown = ", ".join(
        f"{one.name} {'+' if one.in_session else ''}{one.count}" for one in (moving or counts)[:MOST_NAMED]
    )
    return Finding(
        component=_part(node, moving or counts),
        fru="configuration",
        fault_class="net-fabric/lossy-roce",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if moving and lost and is_off else Confidence.POSSIBLE,
        title=f"{node} loses packets of RoCE: {shown}"
        + ("; priority flow control (PFC) is off there" if is_off else "")
        + (f", on {with_it[0]} it is on" if is_off and with_it else ""),
        evidence=tuple(dict.fromkeys((*(id_ for one in counts for id_ in one.evidence), *((own.id,) if own else ())))),
        argues_against=(
            *(() if moving else ("the counters stand since boot: when they moved is not shown",)),
            *(() if own else ("how flow control is set on this node is not shown",)),
            "a bad cable shows as resends too, with symbol errors beside them",
        ),
        next=NEXT,
        rule=RULE,
    )


def _part(node: NodeId, counts: Sequence[Moved]) -> ComponentId:
    devices = {one.device for one in counts} - {""}
    return node / next(iter(devices)) if len(devices) == 1 else host_id(node)


def _differs(settings: Mapping[NodeId, Witness[FlowControl]], told_of: set[NodeId]) -> Iterator[Finding]:
    found = difference({node: told.reading.priorities for node, told in settings.items()})
    if found is None:
        return
    for node in found.odd or [node for node, priorities in found.said.items() if not priorities]:
        if node not in told_of:
            yield Finding(
                component=host_id(node),
                fru="configuration",
                fault_class="net-fabric/lossy-roce",
                severity=Severity.WARNING,
                confidence=Confidence.POSSIBLE,
                title=f"priority flow control (PFC) of {node} is {_words(found.said[node])}, of its peers "
                f"{_words(next(one for one in found.said.values() if one != found.said[node]))}",
                evidence=tuple(told.id for told in list(settings.values())[:16]),
                argues_against=("no counter shows that anything was lost",),
                next=NEXT,
                rule=RULE,
            )


def _words(priorities: tuple[int, ...]) -> str:
    return f"on for priority {', '.join(map(str, priorities))}" if priorities else "off"
