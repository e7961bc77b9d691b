"""Pinned host memory to one GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path, host_copy_path
from .copies import copy_task, read_copy
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Targets, addressed_gpus, parts_in_words

METRIC = "h2d_pinned"


class HostToDeviceCopy:
    """Copies from the GPU's own socket, timed in sub-windows, with the replays of the GPU's PCIe link."""

    name = "h2d"
    title = "Host to GPU copy"
    aim = Aim.GPU
    measure = Measure.BANDWIDTH
    searches = True
    seconds = 0.6
    disturbs = Disturbs.GPU | Disturbs.PCIE | Disturbs.HOST_MEMORY
    needs = (CUDA,)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """Each GPU whose bus address is known."""
        return tuple((gpu,) for gpu in addressed_gpus(fabric, node))

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The PCIe links above the GPU up to its socket's memory."""
        return host_copy_path(fabric, targets[0])

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """The GPU's PCIe link."""
        return tuple(gpu / "pcie" for gpu in targets)

    def cost(self, targets: Targets) -> str:
        """`loads GPU3 of gpu-017, its PCIe links and its socket's memory for 0.6 s`."""
        return f"loads {parts_in_words(targets)}, its PCIe links and its socket's memory for {self.seconds:.1f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `cuda_copy`, the GPU by bus address."""
        return ((trial.node, copy_task(trial, "h2d", fabric)),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Windows and the link's replays."""
        return read_copy(outputs[0], trial, fabric, self.counted(fabric, trial.targets))

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What a pinned copy reaches over the link this platform is built with, GB/s.

        By what the link can be, never by what it is trained to at this moment: an idle link is not degraded.
        """
        platform = fabric.platform_of(targets[0].node)
        if platform is None or METRIC not in platform.expect:
            return math.nan
        return platform.expect[METRIC].value
