"""Pinned host memory to one GPU, every byte compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..incident.events import Trial
from ..incident.ids import NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path, host_copy_path, path
from .h2d import HostToDeviceCopy
from .probe import Measure, Measured, Targets
from .together import largest_shares
from .verified import SECONDS, read_verified, verify_task


class HostToDeviceVerify(HostToDeviceCopy):
    """Copies of a pattern to the GPU and back: data that a link corrupts and does not replay."""

    name = "h2d_verify"
    title = "Host to GPU copy, data compared"
    measure = Measure.CHECK
    searches = False
    seconds = SECONDS

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The PCIe links above the GPU both ways, its socket's memory and its own."""
        memory = targets[0] / "hbm"
        return largest_shares([host_copy_path(fabric, targets[0]), path(fabric, memory, memory)])

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `verify_copy`, the GPU by bus address."""
        return ((trial.node, verify_task(trial, "h2d", fabric)),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Good or wrong with what is to blame, GB/s of each copy, the link's replays."""
        return read_verified(outputs[0], trial, fabric, self.counted(fabric, trial.targets))

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: the data are right or wrong."""
        return math.nan
