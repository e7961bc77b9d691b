"""What NCCL itself says is wrong: versions that don't fit, no interface to start over, no RDMA where there should be.

Source: as of `signals/nccl_complaints.py`; NCCL user guide, NCCL_SOCKET_IFNAME and NCCL_IB_HCA.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import NodeId, host_id
from ...parsers.host.paths import MissingPath
from ...parsers.infiniband.ibstat import HcaPort
from ...parsers.nccl.log_messages import NcclVersion, NetworkInUse, Setting
from ...parsers.nccl.log_warnings import IbCompletionError
from ..nccl_complaints import NO_INTERFACE, VERSIONS, complaints
from ..nccl_hosts import by_host
from ..odd_ones import difference
from ..readings import UNKNOWN_NODE, Witness
from ..scene import Scene
from ..wording import quoted, several

RULE = "nccl_complaints"
SOCKETS = "Socket"
RETRIES, FLUSHED = 12, 5
"""ibv_wc_status: a peer or a path that did not answer, and what follows an earlier error on the same queue."""
DEVICES = "/dev/infiniband"
LOOK_INSIDE = (
    f"Inside the job: ls {DEVICES}, ibv_devinfo, and whether libibverbs is there; give the container its devices "
    f"(--device={DEVICES}, IPC_LOCK) and run with NCCL_DEBUG=INFO again."
)


def nccl_complaints(scene: Scene) -> Iterator[Finding]:
    """What each node's ranks say."""
    yield from _versions(scene)
    yield from _no_interface(scene)
    yield from _sockets(scene)
    yield from _unanswered(scene)


def _versions(scene: Scene) -> Iterator[Finding]:
    warned = complaints(scene.readings, VERSIONS)
    for node, told in warned.items():
        yield _mismatch(node, quoted(told[0].reading.text), [one.id for one in told[:4]], Confidence.LIKELY, ())
    if warned:
        return
    said = {
        NodeId(one.reading.host or one.node): one
        for one in scene.readings.of(NcclVersion)
        if one.reading.host or one.node != UNKNOWN_NODE
    }
    found = difference({node: one.reading.version for node, one in said.items()})
    if found is None:
        return
    for node in found.odd or tuple(said)[-1:]:
        other = next(peer for peer in said if found.said[peer] != found.said[node])
        title = f"{node} runs NCCL {found.said[node]}, {other} {found.said[other]}"
        against = ("the outputs may be of different jobs",)
        yield _mismatch(node, title, [said[node].id, said[other].id], Confidence.POSSIBLE, against)


def _mismatch(
    node: NodeId, title: str, evidence: Sequence[str], confidence: Confidence, against: tuple[str, ...]
) -> Finding:
    return Finding(
        component=host_id(node),
        fru="software",
        fault_class="software/nccl-version",
        severity=Severity.WARNING,
        confidence=confidence,
        title=f"ranks of one job run different versions of NCCL: {title}" if not against else title,
        evidence=tuple(dict.fromkeys(evidence)),
        argues_against=against,
        next="Start all ranks from one image; look at LD_LIBRARY_PATH and the framework's own libnccl on that node.",
        rule=RULE,
    )


def _no_interface(scene: Scene) -> Iterator[Finding]:
    for node, told in complaints(scene.readings, NO_INTERFACE).items():
        yield Finding(
            component=host_id(node),
            fru="configuration",
            fault_class="host-config",
            severity=Severity.WARNING,
            confidence=Confidence.LIKELY,
            title=f"NCCL finds no network interface to start over on {node}: {quoted(told[0].reading.text)}",
            evidence=tuple(one.id for one in told[:4]),
            next="Compare NCCL_SOCKET_IFNAME with ip link on that node (and inside the container: host network?).",
            rule=RULE,
        )


def _sockets(scene: Scene) -> Iterator[Finding]:
    """Nodes whose ranks talk over sockets though others, or their own active adapters, have RDMA."""
    in_use = {node: told[-1] for node, told in by_host(scene.readings, NetworkInUse).items()}
    over_rdma = [node for node, told in in_use.items() if told.reading.network != SOCKETS]
    disabled = _rdma_disabled(scene)
    for node, told in in_use.items():
        if told.reading.network != SOCKETS:
            continue
        active = [one for one in scene.readings.of(HcaPort, node) if one.reading.state == "Active"]
        gone = [one for one in scene.readings.of(MissingPath, node) if one.reading.path.startswith(DEVICES)]
        if node in disabled or over_rdma or active or gone:
            yield _fallback(node, told, over_rdma, active, gone, disabled.get(node))


def _rdma_disabled(scene: Scene) -> Mapping[NodeId, Witness[Setting]]:
    return {
        node: one
        for node, told in by_host(scene.readings, Setting).items()
        for one in told
        if one.reading.name == "NCCL_IB_DISABLE" and one.reading.value not in ("", "0")
    }


def _fallback(
    node: NodeId,
    told: Witness[NetworkInUse],
    over_rdma: Sequence[NodeId],
    active: Sequence[Witness[HcaPort]],
    gone: Sequence[Witness[MissingPath]],
    disabled: Witness[Setting] | None,
) -> Finding:
    why = ""
    if disabled:
        why = f": {disabled.reading.name}={disabled.reading.value} is set"
    elif gone:
        why = f": {gone[0].reading.path} is not there"
    elif active:
        why = f", though {several(len({one.reading.device for one in active}), 'adapter')} of it is active"
    elif over_rdma:
        why = f", those of {over_rdma[0]} over RDMA"
    return Finding(
        component=host_id(node),
        fru="configuration",
        fault_class="host-config" if disabled else "host-config/container-devices",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if disabled or (gone and active) else Confidence.POSSIBLE,
        title=f"ranks on {node} talk over TCP sockets{why}",
        evidence=(told.id, *(one.id for one in (*active[:2], *gone[:2])), *((disabled.id,) if disabled else ())),
        argues_against=()
        if disabled or gone
        else ("why NCCL took no adapter is not shown: devices, library or setting",),
        next=f"Take {disabled.reading.name} out of the environment." if disabled else LOOK_INSIDE,
        rule=RULE,
    )


def _unanswered(scene: Scene) -> Iterator[Finding]:
    """Requests over RDMA that nobody answered: a lead to the peer that most of them name."""
    errors = [one for one in scene.readings.of(IbCompletionError) if one.reading.status != FLUSHED]
    timed_out = [one for one in errors if one.reading.status == RETRIES]
    if not timed_out:
        return
    peers = Counter(one.reading.peer for one in timed_out)
    peer, count = peers.most_common(1)[0]
    node = NodeId(timed_out[0].reading.host)
    hca = next((one.reading.hca for one in timed_out if one.reading.hca), "")
    yield Finding(
        component=node / hca if hca else host_id(node),
        fru="none",
        fault_class="net-fabric",
        severity=Severity.WARNING,
        confidence=Confidence.UNKNOWN,
        title=f"requests over RDMA ran out of retries: {peer} did not answer {node} "
        f"({several(count, 'completion')} with status 12)",
        evidence=tuple(dict.fromkeys(one.id for one in timed_out[:8])),
        argues_against=("the peer's process may have died first: then this is only a consequence",),
        next=f"Read the state, error counters, MTU and GIDs of the adapters on both ends ({node} and {peer}), and "
        "ib_write_bw between the two.",
        rule=RULE,
    )
