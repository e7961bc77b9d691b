"""Arithmetic of one GPU whose results are compared: silent corruption in its cores."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Crossing, Path
from .answers import mappings
from .burns import KINDS, PROGRAM, Burn, burn_task, read_burns, tflops_in_words, wrong_in_words
from .copies import measured_by
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Targets, addressed_gpus, parts_in_words

KINDS_IN_TURN = ("integer", "fma", "wmma")


class Checksum:
    """Integers, single precision and tensor cores in turn, each result compared on the GPU.

    What all warps compute wrongly alike shows as a digest that differs from that of the GPU's equals."""

    name = "checksum"
    title = "GPU arithmetic, results compared"
    aim = Aim.GPU
    measure = Measure.CHECK
    searches = False
    seconds = 3.0
    disturbs = Disturbs.GPU | Disturbs.POWER
    needs = (CUDA,)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """Each GPU whose bus address is known."""
        return tuple((gpu,) for gpu in addressed_gpus(fabric, node))

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The GPU alone: data stay in its registers."""
        return tuple(Crossing(gpu, 1.0) for gpu in targets)

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """Nothing."""
        return ()

    def cost(self, targets: Targets) -> str:
        """`loads all cores of GPU3 of gpu-017 for 3 s`."""
        return f"loads all cores of {parts_in_words(targets)} for {self.seconds:.0f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `burn`, the GPU by bus address."""
        return ((trial.node, burn_task(trial, fabric, KINDS_IN_TURN, self.seconds)),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Good or wrong, and the digests by which GPUs are compared."""
        burns = read_burns(outputs[0], trial, KINDS_IN_TURN)
        wrong = [burn for burn in burns if burn.wrong_warps]
        said = measured_by(PROGRAM, mappings(outputs[0].lines), 0)
        if wrong:
            return Measured((), (), said, "wrong", "; ".join(map(wrong_in_words, wrong)))
        launches = sum(burn.launches for burn in burns)
        detail = f"all warps computed the same in {launches} launches; equal GPUs have these digests alike: "
        digests = tuple(f"{KINDS[burn.kind]} {burn.digest}" for burn in burns)
        return Measured((), (), said, "good", detail + ", ".join(map(_digest, burns)), digests)

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: results are right or wrong."""
        return math.nan


def _digest(burn: Burn) -> str:
    rate = tflops_in_words(burn)
    return f"{KINDS[burn.kind]} {burn.digest}" + (f" ({rate})" if rate else "")
