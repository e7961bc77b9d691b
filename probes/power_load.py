"""One GPU at its power limit for ten seconds: does heat or the hardware hold its clocks down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..incident.errors import NotTested
from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Crossing, Path
from .answers import mappings, number
from .burns import (
    PROGRAM,
    REASONS,
    Burn,
    burn_task,
    looks_of,
    range_of,
    read_burns,
    reasons_of,
    tflops_in_words,
    wrong_in_words,
)
from .copies import measured_by
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Need, Targets, addressed_gpus, parts_in_words

KIND, IDLE = "wmma", "gpu_idle"
NVML = Need("libnvidia-ml.so.1", "the NVIDIA driver")
FAULTY = ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake")
"""What may not hold clocks down in a healthy machine room; the power limit does at every such load."""


class PowerLoad:
    """Tensor-core load, with power, heat, clock and what holds it down looked at ten times a second."""

    name = "power_load"
    title = "GPU power and heat under load"
    aim = Aim.GPU
    measure = Measure.CHECK
    searches = False
    seconds = 10.0
    disturbs = Disturbs.GPU | Disturbs.POWER
    needs = (CUDA, NVML)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """Each GPU whose bus address is known."""
        return tuple((gpu,) for gpu in addressed_gpus(fabric, node))

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The GPU alone."""
        return tuple(Crossing(gpu, 1.0) for gpu in targets)

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """Nothing."""
        return ()

    def cost(self, targets: Targets) -> str:
        """`runs GPU3 of gpu-017 up to its power limit for 10 s`."""
        return f"runs {parts_in_words(targets)} up to its power limit for {self.seconds:.0f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of `burn`, the GPU by bus address."""
        return ((trial.node, burn_task(trial, fabric, (KIND,), self.seconds)),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Wrong where the hardware or heat held the clocks down, or results were wrong; good at the power limit."""
        (burn,) = read_burns(outputs[0], trial, (KIND,))
        looks, with_reasons = looks_of(burn)
        if not looks:
            raise NotTested(f"{trial.node} has no {NVML.name} ({NVML.package}), so nobody looked at {trial.targets[0]}")
        if not with_reasons:
            raise NotTested(f"the driver of {trial.node} does not tell what holds the clocks of a GPU down")
        faulty = burn.wrong_warps or any(reason in FAULTY for reason in reasons_of(burn))
        said = measured_by(PROGRAM, mappings(outputs[0].lines), 0)
        return Measured((), (), said, "wrong" if faulty else "good", "; ".join(_sentences(burn)))

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: it is held down or it is not."""
        return math.nan


def _sentences(burn: Burn) -> Iterator[str]:
    """What held the clocks down, the worst first, then the highest power and heat, the clock, the rate."""
    _, looks = looks_of(burn)
    reasons = sorted(reasons_of(burn).items(), key=lambda reason: (reason[0] not in FAULTY, -reason[1]))
    reasons = [reason for reason in reasons if reason[0] != IDLE]  # the load had not begun, or had ended
    held = [f"{REASONS.get(name, f'reason {name}')} ({min(times, looks)} of {looks} looks)" for name, times in reasons]
    yield f"clocks held down by {', '.join(held)}" if held else f"nothing held the clocks down in {looks} looks"
    if burn.wrong_warps:
        yield wrong_in_words(burn)
    _, _, power = range_of(burn, "power_w")
    if not math.isnan(power):
        limit = number(burn.vitals.get("power_limit_w"))
        yield f"up to {power:.0f} W" + ("" if math.isnan(limit) else f" of {limit:.0f} W")
    _, _, heat = range_of(burn, "temperature_c")
    if not math.isnan(heat):
        yield f"up to {heat:.0f} °C"
    low, middle, _ = range_of(burn, "sm_mhz")
    if not math.isnan(middle) and not math.isnan(low):
        yield f"SM clock {middle:.0f} MHz, never below {low:.0f}"
    if rate := tflops_in_words(burn):
        yield rate
