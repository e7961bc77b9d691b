"""GPU memory that goes on losing rows, told from the single row that a reset replaces for good.

Source: NVIDIA's row remapping guide (one remap and a clean reset is wear; a remap that failed is an RMA); operators'
practice for memory that keeps remapping although the failure flag is not set yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId
from ..memory_wear import MemoryWear, equals_without, memory_wear
from ..scene import Scene
from ..wording import listed, several

RULE = "memory_degrading"
TIMES = 3
"""Separate times at which rows were marked, from which it goes on by itself, whatever counts say."""


def memory_degrading(scene: Scene) -> Iterator[Finding]:
    """At most one finding a GPU: that replacing failed, that it goes on, or that a reset is due."""
    found = memory_wear(scene.readings, scene.fabric)
    for wear in found.values():
        last = wear.counts[-1] if wear.counts else None
        if last and last.failure:
            yield _failed(wear)
        elif wear.growth > 0 or len(wear.marked) >= TIMES:
            yield _degrading(wear, equals_without(found, wear))
        elif last and last.pending:
            yield _pending(wear)


def _hbm(wear: MemoryWear) -> ComponentId:
    return wear.gpu / "hbm" if wear.gpu.kind == "gpu" else wear.gpu


def _name(wear: MemoryWear) -> str:
    name = wear.gpu.within if wear.gpu.kind == "gpu" else "the GPU"
    return f"{name} ({wear.address})" if wear.address else name


def _degrading(wear: MemoryWear, equals: int) -> Finding:
    both = wear.growth > 0 and bool(wear.errors)
    counted = f": Remapped Rows went from {wear.span[0]} to {wear.span[1]}" if wear.span and wear.growth > 0 else ""
    logged = f", {several(len(wear.marked), 'time')} a row was marked (Xid 63)" if wear.marked else ""
    where = f", all in {next(iter(wear.regions))}" if len(wear.regions) == 1 else ""
    alone = f", while {several(equals, 'other GPU')} of the node lost none" if equals else ""
    under = f", under {listed(wear.programs)}" if len(wear.programs) > 1 else ""
    return Finding(
        component=_hbm(wear),
        fru="gpu-module",
        fault_class="gpu-memory/hbm-degrading",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY if both or len(wear.programs) > 1 else Confidence.POSSIBLE,
        title=f"the memory of {_name(wear)} of {wear.gpu.node} keeps losing rows{counted}{logged}{under}{where}{alone}",
        evidence=wear.evidence,
        argues_against=("Remapping Failure is not set yet; that flag comes late",),
        next=(
            f"Take {_name(wear)} out of service, save nvidia-bug-report, run the field diagnostic or `dcgmi diag -r "
            "3`, and open an RMA with the counts and their times."
        ),
        rule=RULE,
    )


def _failed(wear: MemoryWear) -> Finding:
    return Finding(
        component=_hbm(wear),
        fru="gpu-module",
        fault_class="gpu-memory/row-remap-failure",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY,
        title=f"{_name(wear)} of {wear.gpu.node} could not replace a bad memory row: its row remapper failed",
        evidence=wear.evidence,
        next="Reset the GPU and read the flag again; if it stands, run the field diagnostic and open an RMA.",
        rule=RULE,
    )


def _pending(wear: MemoryWear) -> Finding:
    return Finding(
        component=_hbm(wear),
        fru="gpu-module",
        fault_class="gpu-memory/row-remap-pending",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        title=f"a memory row of {_name(wear)} of {wear.gpu.node} waits for a GPU reset to be replaced",
        evidence=wear.evidence,
        argues_against=("a first remap after which the flag clears is ordinary wear",),
        next="Reset the GPU when idle, then read the counts again: the flag must clear and the count stand still.",
        rule=RULE,
    )
