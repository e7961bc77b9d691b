"""Whether NICs of a node reach GPU memory: what NCCL chose for its channels, and whether the kernel has a way at all.

NCCL takes GPUDirect RDMA where nvidia-peermem (once nv_peer_mem) is loaded or the driver and kernel offer DMA-BUF.
Sends of GPUs before Ampere may lack it by choice while receives have it, and a GPU far from the NIC in any case.
Source: NVIDIA/nccl src/transport/net_ib (ncclIbGdrSupport), src/graph/paths.cc ncclTopoCheckGdr; NCCL user guide,
"GPUDirect RDMA" and NCCL_NET_GDR_LEVEL; nvidia-peermem documentation of the driver's README.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..incident.ids import NodeId
from ..parsers.host.modules import KernelModule
from ..parsers.host.paths import MEMORY_PEERS, MemoryPeer, MissingPath
from ..parsers.nccl.log_channels import Channel
from ..parsers.nccl.log_messages import GdrSupport, Setting
from .nccl_hosts import by_host
from .readings import Readings

PEERMEM = frozenset({"nvidia_peermem", "nv_peer_mem"})
WHOLE_LIST = 40
"""Modules from which on a list is taken to be whole: a running server has more than a hundred."""
SOCKETS = "Socket"
SWITCHES: Mapping[str, frozenset[str]] = {
    "NCCL_NET_GDR_LEVEL": frozenset({"0", "LOC"}),
    "NCCL_IB_CUDA_SUPPORT": frozenset({"0"}),
    "NCCL_NET_GDR_DISABLE": frozenset({"1"}),
}
"""Settings with which NCCL leaves GPUDirect alone."""


@dataclass(frozen=True, slots=True)
class Channels:
    """The network channels of a node's ranks over RDMA."""

    direct: int
    staged: int
    receives: bool
    """Whether some of those that are staged receive, which no GPU's age explains."""
    example: str
    """`NET/IB/0` of one that is staged, else of one that is direct."""
    evidence: tuple[str, ...]

    @property
    def is_staged(self) -> bool:
        """All of them cross host memory."""
        return not self.direct and self.staged > 0


@dataclass(frozen=True, slots=True)
class KernelSide:
    """Whether a node's kernel lets NICs reach GPU memory; None where nothing shows it."""

    loaded: bool | None
    module: str
    """The one that is loaded."""
    dma_buf: bool | None
    refused: bool
    """NCCL itself found that it has no peer memory module."""
    evidence: tuple[str, ...]

    @property
    def is_absent(self) -> bool:
        """There is no way: no module, and nobody says that DMA-BUF is there."""
        return (self.loaded is False or self.refused) and self.dma_buf is not True

    @property
    def is_present(self) -> bool:
        """There is a way."""
        return self.loaded is True or self.dma_buf is True


def network_channels(readings: Readings) -> Mapping[NodeId, Channels]:
    """By node; only of nodes that have channels over RDMA."""
    found = {}
    for node, told in by_host(readings, Channel).items():
        over = [one for one in told if one.reading.network is not None and one.reading.network != SOCKETS]
        staged = [one for one in over if not one.reading.gdrdma]
        if over:
            example = (staged or over)[0].reading
            found[node] = Channels(
                direct=len(over) - len(staged),
                staged=len(staged),
                receives=any(one.reading.direction != "send" for one in staged),
                example=f"{example.transport}/{example.detail}",
                evidence=tuple(dict.fromkeys(one.id for one in over)),
            )
    return found


def kernel_sides(readings: Readings) -> Mapping[NodeId, KernelSide]:
    """By node; of all nodes that any output is of."""
    support = by_host(readings, GdrSupport)
    nodes = dict.fromkeys((*readings.nodes, *support))
    return {
        node: _kernel_side(readings, node, [(one.reading, one.id) for one in support.get(node, ())]) for node in nodes
    }


def switched_off(readings: Readings) -> Mapping[NodeId, tuple[str, str]]:
    """Nodes whose ranks were told to leave GPUDirect alone: `NCCL_NET_GDR_LEVEL=LOC`, and the output that shows it."""
    found = {}
    for node, told in by_host(readings, Setting).items():
        for one in told:
            if one.reading.value.upper() in SWITCHES.get(one.reading.name, ()):
                found[node] = (f"{one.reading.name}={one.reading.value}", one.id)
    return found


def _kernel_side(readings: Readings, node: NodeId, support: list[tuple[GdrSupport, str]]) -> KernelSide:
    modules = list(_modules(readings, node))
    peers = readings.of(MemoryPeer, node)
    gone = [one for one in readings.of(MissingPath, node) if one.reading.path.startswith(MEMORY_PEERS)]
    loaded: bool | None = None
    if modules or peers or gone:
        loaded = any(name for name, _ in modules) or any("nv" in one.reading.name for one in peers)
    buffers = {one.available for one, _ in support if one.by == "DMA-BUF"}
    by_module = {one.available for one, _ in support if one.by != "DMA-BUF"}
    return KernelSide(
        loaded=True if by_module == {True} else loaded,
        module=next((name for name, _ in modules if name), "nv_mem"),
        dma_buf=None if not buffers else True in buffers,
        refused=by_module == {False},
        evidence=tuple(
            dict.fromkeys(
                (*(id_ for _, id_ in modules), *(w.id for w in (*peers, *gone)), *(id_ for _, id_ in support))
            )
        ),
    )


def _modules(readings: Readings, node: NodeId) -> Iterator[tuple[str, str]]:
    """The peer memory module of each list that would show one, empty where it shows that none is loaded.

    An excerpt would show it in the users of ib_core, which both modules use.
    """
    for output in readings.printed_by("lsmod", node):
        modules = [one for one in output.readings if isinstance(one, KernelModule)]
        names = {one.name for one in modules} & PEERMEM
        core = [one for one in modules if one.name == "ib_core"]
        names |= {user.replace("-", "_") for one in core for user in one.users} & PEERMEM
        if names:
            yield min(names), output.id
        elif core or len(modules) >= WHOLE_LIST:
            yield "", output.id
