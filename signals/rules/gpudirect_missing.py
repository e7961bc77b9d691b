"""Traffic between nodes crosses host memory on a node whose NICs can't reach GPU memory, while its peers' can.

Link and NIC are as fast as ever (a host-memory ib_write_bw says so), but NCCL gets a part of it.
Source: as of `signals/gpudirect.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import NodeId, host_id
from ..gpudirect import Channels, KernelSide, kernel_sides, network_channels, switched_off
from ..scene import Scene

RULE = "gpudirect_missing"
MOST_NAMED = 4
ASK = (
    "Load it there (modprobe nvidia-peermem, also at boot) or let NCCL use DMA-BUF, run the job again with "
    "NCCL_DEBUG=INFO, and want /GDRDMA on the send and the receive lines of every node."
)


def gpudirect_missing(scene: Scene) -> Iterator[Finding]:
    """One finding for each node that stages, or that has no way not to."""
    channels, kernels = network_channels(scene.readings), kernel_sides(scene.readings)
    off = switched_off(scene.readings)
    direct = [node for node, one in channels.items() if one.direct]
    present = [node for node, one in kernels.items() if one.is_present]
    for node in dict.fromkeys((*channels, *kernels)):
        own, kernel = channels.get(node), kernels.get(node)
        if own is not None and own.is_staged and node in off:
            yield _told_to(node, own, *off[node])
        elif own is not None and own.is_staged and (direct or (kernel is not None and kernel.is_absent)):
            yield _staged(node, own, kernel, {peer: channels[peer] for peer in direct})
        elif kernel is not None and kernel.is_absent and own is None and present:
            yield _not_loaded(node, kernel, {peer: kernels[peer] for peer in present})


def _staged(node: NodeId, own: Channels, kernel: KernelSide | None, peers: Mapping[NodeId, Channels]) -> Finding:
    absent = kernel is not None and kernel.is_absent
    what = f"{node} stages network traffic through host memory: its channels read {own.example} without GDRDMA"
    if peers:
        what += f", those of {_names(peers)} have it"
    return Finding(
        component=host_id(node),
        fru="configuration",
        fault_class="nic-host/gdr-missing",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY if absent and peers and own.receives else Confidence.POSSIBLE,
        title=f"{what}; {_module(node, kernel)}" if absent else what,
        evidence=(
            *own.evidence,
            *(kernel.evidence if absent and kernel else ()),
            *(id_ for one in peers.values() for id_ in one.evidence),
        ),
        argues_against=tuple(_against(own, kernel, bool(peers))),
        next=ASK if absent else f"Read lsmod and /sys/kernel/mm/memory_peers on {node}: is nvidia-peermem there? {ASK}",
        rule=RULE,
    )


def _module(node: NodeId, kernel: KernelSide | None) -> str:
    if kernel is not None and kernel.refused and kernel.loaded is not False:
        return f"NCCL finds no peer memory module on {node}"
    return f"no peer memory module (nvidia-peermem, nv_peer_mem) is loaded on {node}"


def _against(own: Channels, kernel: KernelSide | None, has_peers: bool) -> Iterator[str]:
    if kernel is not None and kernel.is_present:
        yield "the kernel has a way to GPU memory: the path between GPU and NIC may be too far, or a setting forbids it"
    if not own.receives:
        yield "only sends were seen without it, which NCCL chooses so on GPUs before Ampere"
    if not has_peers:
        yield "no other node is shown to have it"


def _told_to(node: NodeId, own: Channels, setting: str, evidence: str) -> Finding:
    return Finding(
        component=host_id(node),
        fru="configuration",
        fault_class="nic-host/gdr-missing",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        title=f"{node} stages network traffic through host memory because it was told to: {setting}, and its channels "
        f"read {own.example} without GDRDMA",
        evidence=tuple(dict.fromkeys((evidence, *own.evidence))),
        next=f"Take {setting} out of the job's environment on {node} and want /GDRDMA on its channel lines.",
        rule=RULE,
    )


def _not_loaded(node: NodeId, kernel: KernelSide, peers: Mapping[NodeId, KernelSide]) -> Finding:
    return Finding(
        component=host_id(node),
        fru="configuration",
        fault_class="nic-host/gdr-missing",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"{_module(node, kernel)}, on {_names(peers)} one is: GPUDirect RDMA (GDRDMA) may be missing there",
        evidence=(*kernel.evidence, *(id_ for one in peers.values() for id_ in one.evidence)),
        argues_against=("with DMA-BUF NCCL needs no such module; no channel line shows what it chose",),
        next=f"Run with NCCL_DEBUG=INFO and compare the NET lines of the nodes. {ASK}",
        rule=RULE,
    )


def _names(nodes: Mapping[NodeId, object]) -> str:
    named = list(nodes)
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return ", ".join(named[:MOST_NAMED]) + more
