"""NCCL send and receive from one GPU to another: within a node by P2P or by the NICs, and between nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path, peer_copy_path
from .nccl_answers import Carrier, read_ranks
from .nccl_tasks import NCCL, ONLY_NET, SECONDS, WITH_P2P, rank_tasks
from .nccl_ways import in_words, lanes_of, nics_of, through_nics
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Targets, addressed_gpus

OP = "sendrecv"
P2P_BYTES = 256 << 20
"""The copy is by the GPUs' cores, and must take longer than handing it over."""
NET_BYTES = 64 << 20
NET_METRIC = "ib_write_bw"


class PeerSend:
    """Send and receive by NVLink or PCIe: the way of `p2p`, by NCCL's kernels in place of a copy engine."""

    name = "nccl_p2p"
    title = "NCCL send within a node"
    aim = Aim.PAIR
    measure = Measure.BANDWIDTH
    searches = False
    seconds = SECONDS
    disturbs = Disturbs.GPU | Disturbs.NVLINK
    needs = (CUDA, NCCL)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """Ordered pairs of GPUs whose bus address is known."""
        return tuple(permutations(addressed_gpus(fabric, node), 2))

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The lanes of either GPU, the NVSwitches between them; PCIe where there is no NVLink."""
        return peer_copy_path(fabric, *targets)

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """All lanes of both GPUs."""
        return lanes_of(fabric, targets)

    def cost(self, targets: Targets) -> str:
        """`loads GPU3 and GPU5 of gpu-017 and their NVLinks for 0.6 s`."""
        return f"loads {in_words(targets)} and their NVLinks for {self.seconds:.1f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A rank on either GPU; the first sends."""
        return rank_tasks(trial, fabric, OP, P2P_BYTES, WITH_P2P, by_nics=False)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Windows of the slower end and lane counters; data that went through host memory measure nothing here."""
        return read_ranks(outputs, trial, fabric, self.counted(fabric, trial.targets), Carrier.P2P)

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: nobody has published what NCCL's send measures on these platforms."""
        return math.nan


class _NetworkSend:
    """What the probes have in common whose data leave by one GPU's NIC and arrive by the other's."""

    measure = Measure.BANDWIDTH
    seconds = SECONDS
    disturbs = Disturbs.GPU | Disturbs.PCIE | Disturbs.NETWORK
    needs = (CUDA, NCCL)

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """From the GPU over its NIC, cable and leaf, through the network, and in again."""
        return through_nics(fabric, *targets)

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """Both NICs."""
        return nics_of(fabric, targets)

    def cost(self, targets: Targets) -> str:
        """`loads GPU3 of gpu-001 and GPU5 of gpu-002, their NICs and the network between them for 0.6 s`."""
        return f"loads {in_words(targets)}, their NICs and the network between them for {self.seconds:.1f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A rank on either GPU with its NIC; the first sends."""
        return rank_tasks(trial, fabric, OP, NET_BYTES, ONLY_NET, by_nics=True)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Windows of the slower end and NIC counters; data that went by sockets or other NICs measure nothing here."""
        return read_ranks(outputs, trial, fabric, self.counted(fabric, trial.targets), Carrier.NET)

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What ib_write_bw shows between GPU memories over one NIC of the slower end's platform, GB/s."""
        rates = [_nic_rate(fabric, gpu.node) for gpu in targets]
        return math.nan if any(math.isnan(rate) for rate in rates) else min(rates)


class PeerSendByNics(_NetworkSend):
    """Send and receive between GPUs of one node, kept from NVLink and host memory, so that they go by the NICs."""

    name = "nccl_p2p_net"
    title = "NCCL send within a node by its NICs"
    aim = Aim.PAIR
    searches = False

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """Ordered pairs of GPUs whose bus address and NICs are known."""
        return tuple(permutations(_with_nics(fabric, node), 2))


class NetworkPair(_NetworkSend):
    """Send and receive between GPUs of two nodes by the NIC of each: the search's probe of the network."""

    name = "net_pair"
    title = "NCCL send between two nodes"
    aim = Aim.ACROSS
    searches = True

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """The ends in this node, each alone: the GPUs whose bus address and NICs are known."""
        return tuple((gpu,) for gpu in _with_nics(fabric, node))


def _with_nics(fabric: Fabric, node: NodeId) -> list[ComponentId]:
    return [gpu for gpu in addressed_gpus(fabric, node) if nics_of(fabric, (gpu,))]


def _nic_rate(fabric: Fabric, node: NodeId) -> float:
    """GB/s of one NIC; NaN where nobody has measured it."""
    platform = fabric.platform_of(node)
    known = platform.expect.get(NET_METRIC) if platform is not None else None
    return known.value / 8 if known is not None and known.unit == "Gb/s" else math.nan
