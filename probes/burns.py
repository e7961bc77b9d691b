"""Reading what the node program `burn` answers: were all results right, and how did the GPU fare meanwhile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..incident.errors import Unparsable
from ..incident.events import Trial
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from .answers import all_of, count, digits, first_of, mappings, number
from .copies import bus_of

PROGRAM = "burn"
KINDS: Mapping[str, str] = {"integer": "integer", "fma": "single precision", "wmma": "tensor cores"}
REASONS: Mapping[str, str] = {
    "gpu_idle": "idle",
    "applications_clocks": "clocks set for applications",
    "sw_power_cap": "the power limit",
    "hw_slowdown": "hardware slowdown",
    "sync_boost": "clocks kept equal to other GPUs'",
    "sw_thermal_slowdown": "heat, by the driver",
    "hw_thermal_slowdown": "heat, by the hardware",
    "hw_power_brake": "the power brake from outside the GPU",
    "display_clocks": "clocks set for a display",
}
"""What holds clocks down, as NVML names it (nvmlClocksEventReason*), in words."""
LISTED = 4


@dataclass(frozen=True, slots=True)
class Burn:
    """One kind of load."""

    kind: str
    warps: int
    wrong_warps: int
    launches: int
    sms: tuple[int, ...]
    """Multiprocessors on which results were wrong, the worst first."""
    wrong_sms: int
    digest: str
    """Of the right results of a warp: GPUs of one kind agree on it."""
    known: bool
    """Whether the right results were known beforehand."""
    tflops: float
    """Median; NaN where not told."""
    vitals: Mapping[str, Any]
    """As NVML told them; see `range_of` and `reasons_of`."""


def burn_task(trial: Trial, fabric: Fabric, kinds: Sequence[str], seconds: float) -> Task:
    """The task that loads a GPU; raises ProbeError where its bus address is not known."""
    arguments = {"gpus": [bus_of(fabric, trial.targets[0])], "kinds": list(kinds), "seconds": seconds}
    return Task(trial.id, PROGRAM, arguments)


def read_burns(output: TaskOutput, trial: Trial, kinds: Sequence[str]) -> tuple[Burn, ...]:
    """All kinds in their order; raises Unparsable when one is missing or makes no sense."""
    found = {burn.kind: burn for line in all_of(mappings(output.lines), "burn") if (burn := _burn(line)) is not None}
    if missing := [KINDS[kind] for kind in kinds if kind not in found]:
        raise Unparsable(f"{trial.id} on {trial.node} does not say what its load computed: {', '.join(missing)}")
    return tuple(found[kind] for kind in kinds)


def _burn(line: Mapping[str, Any]) -> Burn | None:
    kind, digest = line.get("kind"), digits(line.get("digest"), 16)
    warps, wrong, launches = (count(line.get(key)) for key in ("warps", "wrong_warps", "launches"))
    if not isinstance(kind, str) or kind not in KINDS or not digest or not warps or wrong is None or wrong > warps:
        return None
    rows = line.get("sms")
    sms = [count(row.get("sm")) for row in mappings(rows if isinstance(rows, list | tuple) else ())]
    return Burn(
        kind=kind,
        warps=warps,
        wrong_warps=wrong,
        launches=launches or 0,
        sms=tuple(sm for sm in sms if sm is not None)[:LISTED],
        wrong_sms=count(line.get("wrong_sms")) or 0,
        digest=digest,
        known=line.get("known") is True,
        tflops=number(first_of([line], "tflops").get("median")),
        vitals=first_of([line], "vitals"),
    )


def wrong_in_words(burn: Burn) -> str:
    """`tensor cores: 3 of 1056 warps computed something else, on SM 17`."""
    said = f"{KINDS[burn.kind]}: {burn.wrong_warps} of {burn.warps} warps computed something else"
    if burn.sms:
        more = ", ..." if burn.wrong_sms > len(burn.sms) else ""
        said += f", on SM {', '.join(map(str, burn.sms))}{more}"
    return said


def range_of(burn: Burn, name: str) -> tuple[float, float, float]:
    """Least, median and most of `power_w`, `temperature_c` or `sm_mhz`; NaN where NVML did not tell."""
    told = first_of([burn.vitals], name)
    low, middle, high = (number(told.get(key)) for key in ("min", "median", "max"))
    return low, middle, high


def reasons_of(burn: Burn) -> dict[str, int]:
    """What held the clocks down, and in how many looks; a reason this product has no word for by its number."""
    told = burn.vitals.get("reasons")
    found = {}
    for name, looks in told.items() if isinstance(told, Mapping) else ():
        times = count(looks)
        if times and isinstance(name, str) and (name in REASONS or name.removeprefix("0x").isalnum()):
            found[name[:20]] = times
    return found


def looks_of(burn: Burn) -> tuple[int, int]:
    """How often NVML was asked, and how often it told what holds the clocks down."""
    looks, without = count(burn.vitals.get("looks")) or 0, count(burn.vitals.get("looks_without_reasons")) or 0
    return looks, max(0, looks - without)


def tflops_in_words(burn: Burn) -> str:
    """`51.2 TFLOP/s`; empty where not told."""
    return "" if math.isnan(burn.tflops) else f"{burn.tflops:.1f} {'TOP/s' if burn.kind == 'integer' else 'TFLOP/s'}"
