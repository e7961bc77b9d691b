"""One GPU to pinned host memory: the other direction of the links that `h2d` loads."""

from __future__ import annotations

import math

from ..incident.events import Trial
from ..incident.ids import NodeId
from ..incident.source import Task
from ..topology.fabric import Fabric
from .copies import copy_task
from .h2d import HostToDeviceCopy
from .probe import Targets

METRIC = "d2h_pinned"


class DeviceToHostCopy(HostToDeviceCopy):
    """Copies to the GPU's own socket: parts as in `h2d`, and each direction of a link has lanes of its own."""

    name = "d2h"
    title = "GPU to host copy"
    searches = False

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `cuda_copy`, the GPU by bus address."""
        return ((trial.node, copy_task(trial, "d2h", fabric)),)

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What a pinned copy reaches over the link this platform is built with, GB/s."""
        platform = fabric.platform_of(targets[0].node)
        if platform is None or METRIC not in platform.expect:
            return math.nan
        return platform.expect[METRIC].value
