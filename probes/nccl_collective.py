"""NCCL collectives over a group of GPUs, and the same with one transport turned off: which transport is it?

A group that is slow with all transports and well without one of them has its fault there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..incident.errors import Unparsable
from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path
from .nccl_answers import Carrier, read_ranks, uses_nvls
from .nccl_tasks import ANY, NCCL, NO_NVLS, NO_P2P, ONLY_NET, SECONDS, rank_tasks
from .nccl_ways import all_by_default, all_by_host, all_by_nics, in_words, lanes_of, nics_of
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Need, Targets, addressed_gpus

ALL_REDUCE, ALL_TO_ALL = "allreduce", "alltoall"
GROUP_BYTES = 256 << 20
NET_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective with the transports it may use; reports the bus bandwidth of the slowest rank."""

    name: str
    title: str
    op: str
    transports: Mapping[str, bool] = field(default_factory=lambda: ANY)
    carrier: Carrier = Carrier.ANY
    way: Callable[[Fabric, Targets], Path] = all_by_default
    loads: str = "their NVLinks"
    """What is loaded beside the GPUs, in words."""
    disturbs: Disturbs = Disturbs.GPU | Disturbs.NVLINK
    by_nics: bool = False
    aim: Aim = Aim.GROUP
    measure: Measure = Measure.BANDWIDTH
    searches: bool = False
    seconds: float = SECONDS
    needs: tuple[Need, ...] = (CUDA, NCCL)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """All GPUs of the node whose bus address is known, as one group; people choose smaller and larger ones."""
        gpus = addressed_gpus(fabric, node)
        if len(gpus) < 2 or (self.by_nics and not all(nics_of(fabric, (gpu,)) for gpu in gpus)):
            return ()
        return (gpus,)

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """What joins neighbours of a ring over each node, and over the nodes."""
        return self.way(fabric, targets)

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """The GPUs' lanes, or their NICs where data can't use the lanes."""
        return nics_of(fabric, targets) if self.by_nics else lanes_of(fabric, targets)

    def cost(self, targets: Targets) -> str:
        """`loads 8 GPUs of gpu-017 and their NVLinks for 0.6 s`."""
        return f"loads {in_words(targets)} and {self.loads} for {self.seconds:.1f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A rank on each GPU."""
        size = NET_BYTES if self.by_nics else GROUP_BYTES
        return rank_tasks(trial, fabric, self.op, size, self.transports, self.by_nics)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Windows of the slowest rank and the counters of all."""
        if self.transports.get("NVLS") is False and uses_nvls(outputs):
            raise Unparsable(
                f"{trial.id} used NVLS, which was turned off; look for a NCCL configuration file on the node"
            )
        return read_ranks(outputs, trial, fabric, self.counted(fabric, trial.targets), self.carrier)

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: published bus bandwidths are those of 8 to 16 GiB, which no half second holds."""
        return math.nan


_BY_HOST = Disturbs.GPU | Disturbs.PCIE | Disturbs.HOST_MEMORY
_BY_NICS = Disturbs.GPU | Disturbs.PCIE | Disturbs.NETWORK

COLLECTIVES: tuple[Collective, ...] = (
    Collective("allreduce_subset", "NCCL all-reduce", ALL_REDUCE),
    Collective("alltoall_subset", "NCCL all-to-all", ALL_TO_ALL),
    Collective("allreduce_nvls_off", "NCCL all-reduce without NVLS", ALL_REDUCE, NO_NVLS),
    Collective(
        "allreduce_p2p_off", "NCCL all-reduce through host memory", ALL_REDUCE, NO_P2P,
        carrier=Carrier.NOT_P2P, way=all_by_host, loads="host memory", disturbs=_BY_HOST,
    ),
    Collective(
        "allreduce_net", "NCCL all-reduce by the NICs", ALL_REDUCE, ONLY_NET,
        carrier=Carrier.NET, way=all_by_nics, loads="their NICs", disturbs=_BY_NICS, by_nics=True,
    ),
)  # fmt: skip
