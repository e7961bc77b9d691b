"""The runs of the node program `nccl` that carry out a trial: one a rank, joined by the trial's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..incident.errors import ProbeError
from ..incident.events import Trial
from ..incident.ids import NodeId
from ..incident.source import Task
from ..topology.fabric import Fabric
from .nccl_ways import nics_of
from .probe import Need

PROGRAM = "nccl"
NCCL = Need("libnccl.so.2", "libnccl2")
WINDOWS = 16
WINDOW_MS = 30.0
WARM_MS = 40.0
SECONDS = 0.6
ANY: Mapping[str, bool] = {}
"""NCCL may use what it likes best."""
WITH_P2P = {"P2P": True}
NO_NVLS = {"NVLS": False}
NO_P2P = {"P2P": False, "NVLS": False, "SHM": True}
ONLY_NET = {"P2P": False, "SHM": False, "NVLS": False}


def rank_tasks(
    trial: Trial, fabric: Fabric, op: str, size: int, transports: Mapping[str, bool], by_nics: bool
) -> tuple[tuple[NodeId, Task], ...]:
    """A task for each target, rank 0 the first; raises ProbeError for a GPU whose bus address is not known.

    `size` in bytes. With `by_nics` a rank gets no NICs to use but those of its node's targets, and reads its own."""
    made = []
    for rank, gpu in enumerate(trial.targets):
        address = fabric.bus_address(gpu)
        if address is None:
            raise ProbeError(f"{gpu} can't be probed: its PCI bus address is not known; read the node's facts again")
        arguments: dict[str, Any] = {
            "op": op,
            "gpus": [address],
            "rank0": rank,
            "ranks": len(trial.targets),
            "windows": WINDOWS,
            "window_ms": WINDOW_MS,
            "warm_ms": WARM_MS,
            "bytes": size,
            "transports": dict(transports),
        }
        if by_nics:
            beside = [target for target in trial.targets if target.node == gpu.node]
            arguments["hca"] = [nic.name for nic in nics_of(fabric, beside)]
            arguments["nics"] = [nic.name for nic in nics_of(fabric, (gpu,))]
        made.append((gpu.node, Task(f"{trial.id}.{rank}", PROGRAM, arguments, joint=trial.id)))
    return tuple(made)
