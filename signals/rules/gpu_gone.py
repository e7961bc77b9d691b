"""A GPU left the bus; the errors other parts log in the minute after are its consequences."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ...parsers.logs.pcie_events import PcieError
from ..gone import EARLY, Gone
from ..logs import Burst
from ..scene import Scene
from ..timeline import unmeasured
from ..wording import clock, several
from ..xid_facts import OFF_BUS

RULE = "gpu_gone"


def gpu_gone(scene: Scene) -> Iterator[Finding]:
    """One finding for each GPU off the bus, its followers folded under it as victims."""
    for gone in scene.gone:
        yield _finding(scene, gone)


def _finding(scene: Scene, gone: Gone) -> Finding:
    broken = _broken_link(scene, gone)
    followers = [burst for burst in gone.followers if not gone.holds(burst.component)]
    victims = tuple(dict.fromkeys(_victim(burst) for burst in followers))
    evidence = (*gone.evidence, *(burst.ids[0] for burst in broken), *(burst.ids[0] for burst in followers))
    return Finding(
        component=gone.gpu,
        fru="baseboard" if broken else "gpu-module",
        fault_class="gpu-off-bus/link" if broken else "gpu-off-bus/unknown",
        severity=Severity.WARNING if gone.answers_again else Severity.CRITICAL,
        confidence=Confidence.POSSIBLE if gone.said_by == "silence" else Confidence.LIKELY,
        title=_title(scene, gone, len(victims), followers),
        evidence=tuple(dict.fromkeys(evidence)),
        argues_against=tuple(_against(scene, gone, broken, followers)),
        next=_next(gone, broken),
        victims=victims,
        rule=RULE,
    )


def _title(scene: Scene, gone: Gone, victims: int, followers: list[Burst]) -> str:
    name = gone.gpu.within if gone.gpu.kind == "gpu" else f"the GPU at {gone.gpu.name}"
    address = scene.fabric.bus_address(gone.gpu)
    where = f"{name} ({address})" if address else name
    if gone.answers_again:
        state = f"left the bus at {clock(gone.latest)} and answers again"
    elif gone.said_by == "silence":
        state = "answers nothing while the node's other GPUs do"
    else:
        xid = f" (Xid {OFF_BUS})" if gone.is_xid else ""
        state = f"is off the bus{xid}" + (f" since {clock(gone.latest)}" if gone.logged else "")
    told = f"; {several(victims, 'other part')} logged the consequences{_after(gone, followers)}" if victims else ""
    return f"{where} {state}{told}"


def _after(gone: Gone, followers: list[Burst]) -> str:
    """How long after it the first of its own node's parts did."""
    seconds = [burst.first - gone.latest for burst in followers if burst.node == gone.gpu.node]
    return f", from {min(seconds):.0f} s after it on" if gone.logged and seconds and min(seconds) >= 1 else ""


def _broken_link(scene: Scene, gone: Gone) -> list[Burst]:
    """Uncorrected PCIe errors on the way to the GPU just before: then the link went first."""
    chain = {gone.gpu, *scene.fabric.chain(gone.gpu)}
    return [
        burst
        for burst in gone.broken_link
        if burst.component in chain
        and not (isinstance(burst.reading, PcieError) and burst.reading.severity == "corrected")
    ]


def _victim(burst: Burst) -> ComponentId:
    """The GPU or switch that a log line is about."""
    part = burst.component
    return part.parent if part.kind in ("nvlink", "port", "pcie", "hbm") else part


def _against(scene: Scene, gone: Gone, broken: list[Burst], followers: list[Burst]) -> Iterator[str]:
    others = [
        other.gpu.within
        for other in scene.gone
        if other.gpu != gone.gpu and other.gpu.node == gone.gpu.node and abs(other.latest - gone.latest) <= EARLY
    ]
    if others:
        yield f"{', '.join(others)} went within seconds of it: suspect what they share (PCIe switch, board, power zone)"
    if broken:
        yield "the PCIe link above it failed first: slot, retimer or switch may be at fault and the GPU well"
    else:
        yield "a loss of power or heat looks the same from here; the BMC's log of that minute tells"
    far = [burst for burst in followers if burst.node != gone.gpu.node]
    if unmeasured(far):
        yield "the clocks of some nodes were not measured: their place in the order is unknown"


def _next(gone: Gone, broken: list[Burst]) -> str:
    if gone.answers_again:
        return "Save the logs, then watch it under load; a second time means reseat or swap its position."
    if broken:
        return "Save the logs and AER counters of every port above it, then power-cycle and check width and speed."
    return "Save the logs and the BMC's event log, then power the node off and on: a GPU reset can't reach it."
