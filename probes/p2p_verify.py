"""One GPU's memory to another's in the same node, every byte compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..incident.events import Trial
from ..incident.ids import NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Crossing, Path, host_copy_path, peer_copy_path
from .p2p import PeerCopy, check_is_peer
from .probe import Disturbs, Measure, Measured, Targets, parts_in_words
from .together import largest_shares
from .verified import SECONDS, read_verified, verify_task


class PeerVerify(PeerCopy):
    """Copies of a pattern between two GPUs, written from the host and read back to it."""

    name = "p2p_verify"
    title = "GPU to GPU copy, data compared"
    measure = Measure.CHECK
    searches = False
    seconds = SECONDS
    disturbs = PeerCopy.disturbs | Disturbs.PCIE

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The way between the GPUs, the memory of both, and the PCIe links by which the pattern comes and goes."""
        source, target = targets
        ways = [peer_copy_path(fabric, source, target), *(host_copy_path(fabric, gpu) for gpu in targets)]
        memories = tuple(Crossing(gpu / "hbm", 1.0) for gpu in targets)
        return largest_shares([*ways, memories])

    def cost(self, targets: Targets) -> str:
        """`loads GPU3 and GPU5 of gpu-017, their NVLinks and PCIe links for 1.5 s`."""
        return f"loads {parts_in_words(targets)}, their NVLinks and PCIe links for {self.seconds:.1f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `verify_copy`, both GPUs by bus address."""
        return ((trial.node, verify_task(trial, "p2p", fabric)),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Good or wrong with what is to blame, GB/s of each copy, the lanes' counters."""
        check_is_peer(outputs[0], trial)
        return read_verified(outputs[0], trial, fabric, self.counted(fabric, trial.targets))

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: the data are right or wrong."""
        return math.nan
