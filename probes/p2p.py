"""One GPU's memory to another's in the same node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

from ..incident.errors import Unparsable
from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path, peer_copy_path
from .copies import copy_task, head_of, read_copy
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Targets, addressed_gpus, parts_in_words

METRIC = "nvbandwidth_d2d_write_ce"


class PeerCopy:
    """Copies pushed by the source's copy engine, timed in sub-windows, with the errors of all lanes of both GPUs."""

    name = "p2p"
    title = "GPU to GPU copy"
    aim = Aim.PAIR
    measure = Measure.BANDWIDTH
    searches = True
    seconds = 0.6
    disturbs = Disturbs.GPU | Disturbs.NVLINK
    needs = (CUDA,)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """Ordered pairs of GPUs whose bus address is known."""
        return tuple(permutations(addressed_gpus(fabric, node), 2))

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The lanes of either GPU, the NVSwitches between them; PCIe where there is no NVLink."""
        source, destination = targets
        return peer_copy_path(fabric, source, destination)

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """All lanes of both GPUs."""
        return tuple(lane for gpu in targets for lane in fabric.lanes(gpu))

    def cost(self, targets: Targets) -> str:
        """`loads GPU3 and GPU5 of gpu-017 and their NVLinks for 0.6 s`."""
        return f"loads {parts_in_words(targets)} and their NVLinks for {self.seconds:.1f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `cuda_copy`, both GPUs by bus address."""
        return ((trial.node, copy_task(trial, "p2p", fabric)),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Windows and lane counters; copies staged through host memory crossed no NVLink and measure nothing here."""
        check_is_peer(outputs[0], trial)
        return read_copy(outputs[0], trial, fabric, self.counted(fabric, trial.targets))

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What nvbandwidth's device-to-device write shows on this platform, GB/s."""
        platform = fabric.platform_of(targets[0].node)
        if platform is None or METRIC not in platform.expect:
            return math.nan
        return platform.expect[METRIC].value


def check_is_peer(output: TaskOutput, trial: Trial) -> None:
    """Raise Unparsable for copies that were staged through host memory: they say nothing about NVLink."""
    if head_of(output).get("path", "peer") != "peer":
        raise Unparsable(
            f"{trial.id} on {trial.node} had no peer access from {trial.targets[0].name} to "
            f"{trial.targets[-1].name}, so its copies crossed host memory and no NVLink; "
            "look at the fabric manager and at `nvidia-smi topo -p2p w`"
        )
