"""GPUs whose clocks are held down while they work, by what the driver gives as the reason.

A power brake is a wire that the machine pulls: the GPU obeys, and is well. Heat and power caps are told apart from it;
clocks that somebody set are no fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...parsers.host.power_table import PowerTableMiss
from ...parsers.nvidia_smi.gpu_report import GpuReport
from ..clock_reasons import (
    HW_HEAT,
    LOCKED,
    POWER_BRAKE,
    POWER_CAP,
    SW_HEAT,
    SYNC_BOOST,
    Limited,
    device_of,
    limited_as_told,
    limited_now,
)
from ..readings import Witness
from ..scene import Scene
from ..wording import several

RULE = "gpu_throttle"
HEAT = frozenset({HW_HEAT, SW_HEAT})


def gpu_throttle(scene: Scene) -> Iterator[Finding]:
    """For each node one finding a reason, with the GPUs that have it."""
    told = [*limited_as_told(scene.readings, scene.fabric)]
    for view in scene.snapshot.nodes.values():
        told += limited_now(view)
    for node in dict.fromkeys(one.node for one in told):
        mine = [one for one in told if one.node == node]
        if braked := [one for one in mine if POWER_BRAKE in one.reasons]:
            yield _braked(scene, node, braked)
        if hot := [one for one in mine if one.reasons & HEAT and POWER_BRAKE not in one.reasons]:
            yield _hot(node, hot)
        if capped := [one for one in mine if POWER_CAP in one.reasons and not one.reasons & {*HEAT, POWER_BRAKE}]:
            yield _as_set(node, capped, "gpu-throttle/power-cap", "at its power limit")
        for reason, kind, words in (
            (LOCKED, "gpu-throttle/clock-locked", "at clocks that were set for it"),
            (SYNC_BOOST, "gpu-throttle/sync-boost", "at the pace of its boost group"),
        ):
            if held := [one for one in mine if one.reasons == {reason}]:
                yield _as_set(node, held, kind, words)


def _braked(scene: Scene, node: ComponentId, braked: Sequence[Limited]) -> Finding:
    alone = all({POWER_CAP, HW_HEAT} <= one.denied for one in braked)
    misses = _unknown_to_the_bmc(scene, node, braked)
    clocks = sorted({one.clock_mhz for one in braked if one.clock_mhz})
    pace = f" to {clocks[0]} MHz" if clocks else ""
    known = f"; the BMC finds no power table entry for this GPU ({misses[0].reading.device})" if misses else ""
    against = ["the driver tells who pulls the brake as little as the GPU does: the machine's BMC has the reason"]
    if not misses:
        against.append("a power supply that is missing or overloaded pulls it as well")
    return Finding(
        component=ComponentId(f"{node}/host"),
        fru="firmware" if misses else "power",
        fault_class="gpu-throttle/power-brake-external",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY if alone else Confidence.POSSIBLE,
        title=(
            f"the machine holds {_gpus(braked)} of {node} down{pace} by its power brake signal, while neither a power "
            f"cap nor a heat limit is active{known}"
            if alone
            else f"the machine pulls the power brake of {_gpus(braked)} of {node}{pace}{known}"
        ),
        evidence=tuple(dict.fromkeys((*(one.evidence for one in braked), *(miss.id for miss in misses)))),
        argues_against=tuple(against),
        next=(
            "Read the BMC's event log, the state of the power supplies and their redundancy, and check the GPUs' power "
            "cables; ask the vendor whether this GPU part is qualified in this chassis, or for a BMC update."
        ),
        rule=RULE,
    )


def _unknown_to_the_bmc(scene: Scene, node: ComponentId, braked: Sequence[Limited]) -> list[Witness[PowerTableMiss]]:
    """A BMC goes by another name than its machine: what joins them is the GPU's device number."""
    devices = {one.device for one in braked if one.device} | {
        device for told in scene.readings.of(GpuReport) if told.node == node and (device := device_of(told.reading))
    }
    return [miss for miss in scene.readings.of(PowerTableMiss) if miss.reading.device in devices]


def _hot(node: ComponentId, hot: Sequence[Limited]) -> Finding:
    by_hardware = [one for one in hot if HW_HEAT in one.reasons]
    only = hot[0].gpu if len({one.gpu for one in hot}) == 1 and hot[0].gpu else ComponentId(f"{node}/host")
    return Finding(
        component=only,
        fru="none",
        fault_class="gpu-throttle/thermal",
        severity=Severity.CRITICAL if by_hardware else Severity.WARNING,
        confidence=Confidence.LIKELY if any(one.busy for one in hot) else Confidence.POSSIBLE,
        title=f"heat slows {_gpus(hot)} of {node} down",
        evidence=tuple(dict.fromkeys(one.evidence for one in hot)),
        argues_against=("one hot GPU is its heat sink or its seat; all of a node are fans, filters or the room",),
        next="Compare the temperatures of GPUs in the same position on other nodes, then look at fans and air flow.",
        rule=RULE,
    )


def _as_set(node: ComponentId, held: Sequence[Limited], fault_class: str, words: str) -> Finding:
    return Finding(
        component=held[0].gpu if len(held) == 1 and held[0].gpu else ComponentId(f"{node}/host"),
        fru="configuration",
        fault_class=fault_class,
        severity=Severity.INFO,
        confidence=Confidence.POSSIBLE,
        title=f"{_gpus(held)} of {node} run {words}",
        evidence=tuple(dict.fromkeys(one.evidence for one in held)),
        argues_against=("that is ordinary under full load, and may be wanted",),
        next="Compare the limit and the clocks with those of equal GPUs on other nodes.",
        rule=RULE,
    )


def _gpus(limited: Sequence[Limited]) -> str:
    names = sorted({one.gpu.within for one in limited if one.gpu})
    return ", ".join(names) if 0 < len(names) <= 4 else several(len(names) or len(limited), "GPU")
