"""Pinned host memory to one GPU and back at once."""

from __future__ import annotations

import math

from ..incident.events import Trial
from ..incident.ids import NodeId
from ..incident.source import Task
from ..topology.fabric import Fabric
from .copies import copy_task
from .h2d import HostToDeviceCopy
from .probe import Targets


class BothWaysCopy(HostToDeviceCopy):
    """Copies in both directions on two streams; the windows are of their sum. A link that is full-duplex nearly doubles
    what one direction carries; one that does not is short of credits, or something above it is."""

    name = "bidir"
    title = "Host and GPU copy both ways at once"
    searches = False

    def cost(self, targets: Targets) -> str:
        """`loads GPU3 of gpu-017, its PCIe links both ways and its socket's memory for 0.6 s`."""
        return super().cost(targets).replace("its PCIe links", "its PCIe links both ways")

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `cuda_copy`, the GPU by bus address."""
        return ((trial.node, copy_task(trial, "bidir", fabric)),)

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: nobody has measured both ways at once on these platforms."""
        return math.nan
