"""What tests themselves found: wrong values in a burn-in, wrong values after a collective, a diagnostic that failed.

A wrong value is a fault of its own, whatever the bandwidth was. What a test names is the part; of what kind its fault
is, most don't say.
Source: causes.md 1, 7 and 21; NVIDIA/nccl-tests (`#wrong` counts elements that differ from what was expected).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import ComponentId, gpu_id
from ...parsers.bandwidth.gpu_burn import BurnVerdict, BurnWindow
from ...parsers.bandwidth.nccl_tests import CollectiveRank, CollectiveTime
from ...parsers.dcgm.diag import DiagMessage, DiagResult, DiagStatus
from ..cells import named_node
from ..frus import fru_of
from ..readings import Output, Witness
from ..scene import Scene
from ..wording import listed, quoted, several

RULE = "failed_tests"
DISCERNS = 2
"""GPUs burnt from which on one that fails stands out against its equals."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a failed test of the diagnostic shows."""

    words: tuple[str, ...]
    """In the test's name, or in what it said."""
    fault_class: str
    fru: str = ""
    """Empty: that of the part."""


_KINDS = (
    _Kind(("memory", "memtest", "page retirement"), "gpu-memory"),
    _Kind(("inforom",), "gpu-firmware"),
    _Kind(("pcie",), "pcie-link", "none"),
    _Kind(("software", "denylist", "nvml", "cuda main", "permission", "persistence", "environment", "graphics"),
          "software", "software"),
)  # fmt: skip
"""By the names of dcgmi diag's tests; the first that fits."""
_SAID = (
    _Kind(("thermal violation", "temperature"), "gpu-throttle/thermal", "none"),
    _Kind(("power violation", "power brake"), "gpu-throttle", "none"),
)
"""What a test said goes before its name: a test of memory may fail because the GPU was hot."""
_ANY = _Kind((), "unknown")
_WRONG_BITS = ("ecc", "mismatch", "dbe", "miscompare", "remap", "corrupt")
"""Words of a memory test that found wrong bits, rather than too little free memory."""


def failed_tests(scene: Scene) -> Iterator[Finding]:
    """Findings of burn-in, collectives and diagnostics."""
    yield from _burnt(scene)
    yield from _collectives(scene)
    yield from _diagnostics(scene)


def _burnt(scene: Scene) -> Iterator[Finding]:
    for output in scene.readings.printed_by("gpu-burn"):
        verdicts = {one.gpu: one.ok for one in output.readings if isinstance(one, BurnVerdict)}
        windows = [one for one in output.readings if isinstance(one, BurnWindow)]
        wrong = {gpu: sum(one.errors.value for one in windows if one.gpu == gpu) for gpu in verdicts}
        faulty = [gpu for gpu, ok in verdicts.items() if not ok]
        alone = len(verdicts) >= DISCERNS and len(faulty) < len(verdicts)
        for gpu in faulty:
            yield _faulty(output, gpu, wrong[gpu], len(verdicts) - len(faulty), alone)


def _faulty(output: Output, gpu: int, wrong: int, good: int, alone: bool) -> Finding:
    part = gpu_id(output.node, gpu)
    counted = f", {several(wrong, 'wrong value')}" if wrong else ""
    return Finding(
        component=part,
        fru=fru_of(part),
        fault_class="unknown",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY if alone else Confidence.POSSIBLE,
        title=f"GPU {gpu} of {output.node} is FAULTY in gpu-burn{counted}, {several(good, 'other')} OK",
        evidence=(output.id,),
        argues_against=(
            "wrong values tell neither memory from compute units nor either from power and heat",
            *(() if alone else ("no other GPU passed in this run, so the run itself may be at fault",)),
        ),
        next=f"Read ECC and row remapper of GPU {gpu}, repeat the burn on it alone, then run the field diagnostic.",
        rule=RULE,
    )


def _collectives(scene: Scene) -> Iterator[Finding]:
    for output in scene.readings.printed_by("nccl-tests"):
        rows = [one for one in output.readings if isinstance(one, CollectiveTime) and one.wrong]
        if rows:
            yield _corrupted(output, rows)


def _corrupted(output: Output, rows: list[CollectiveTime]) -> Finding:
    told = dict.fromkeys(one.host for one in output.readings if isinstance(one, CollectiveRank))
    hosts = [host for host in map(named_node, told) if host is not None] or [output.node]
    wrong = sum(row.wrong or 0 for row in rows)
    return Finding(
        component=hosts[0],
        fru="none",
        fault_class="unknown",
        severity=Severity.CRITICAL,
        confidence=Confidence.POSSIBLE if len(hosts) == 1 else Confidence.UNKNOWN,
        title=(
            f"data arrive wrong in a collective on {listed(hosts)}: #wrong {wrong} over {several(len(rows), 'row')}, "
            f"first at {rows[0].size} bytes"
        ),
        evidence=(output.id,),
        argues_against=("a sum shows that data are wrong, not where; software that races its buffers does the same",),
        next="Run the test on halves of its GPUs until one GPU or one link is left, with the NCCL version unchanged.",
        rule=RULE,
    )


def _diagnostics(scene: Scene) -> Iterator[Finding]:
    failed: dict[tuple[ComponentId, _Kind], list[Witness[DiagResult]]] = {}
    for told in scene.readings.of(DiagResult):
        if told.reading.status is DiagStatus.FAIL:
            kind = _kind(told.reading.test, _said(told, scene))
            failed.setdefault((_part(told), kind), []).append(told)
    for (part, kind), results in failed.items():
        if part.kind == "gpu" or not any(other.node == part and other.kind == "gpu" for other, _ in failed):
            yield _diagnosed(part, kind, results, _said(results[0], scene))


def _part(told: Witness[DiagResult]) -> ComponentId:
    result = told.reading
    return gpu_id(told.node, result.gpu) if result.entity in ("GPU", "") and result.gpu is not None else told.node


def _said(told: Witness[DiagResult], scene: Scene) -> str:
    """Why the test failed, in its own words; empty where it does not say."""
    result = told.reading
    for message in scene.readings.of(DiagMessage, told.node):
        same = message.reading.test in (None, result.test) and message.reading.gpu in (None, result.gpu)
        if message.id == told.id and same and message.reading.kind != "Info":
            return message.reading.text[:400]
    return ""


def _diagnosed(part: ComponentId, kind: _Kind, results: list[Witness[DiagResult]], said: str) -> Finding:
    is_gpu = part.kind == "gpu"
    tests = ", ".join(dict.fromkeys(quoted(one.reading.test, 40) for one in results))
    where = f"GPU {part.number} of {part.node}" if is_gpu else str(part)
    wrong_bits = is_gpu and kind.fault_class == "gpu-memory" and any(word in said.lower() for word in _WRONG_BITS)
    return Finding(
        component=part,
        fru=kind.fru or (fru_of(part) if is_gpu else "none"),
        fault_class=kind.fault_class,
        severity=Severity.WARNING if kind.fault_class == "software" else Severity.CRITICAL,
        confidence=Confidence.LIKELY if wrong_bits else Confidence.POSSIBLE,
        title=f"the DCGM diagnostic fails on {where} in {tests}{': ' if said else ''}{quoted(said, 120)}",
        evidence=tuple(dict.fromkeys(one.id for one in results)),
        argues_against=("programs on the GPU, clocks set by hand or a missing service fail a diagnostic as well",),
        next="Save logs and counters, then run the same test again on the idle part, and on an equal one beside it.",
        rule=RULE,
    )


def _kind(test: str, said: str) -> _Kind:
    told, name = said.lower(), test.lower().replace("_", " ")
    by_words = next((kind for kind in _SAID if any(word in told for word in kind.words)), None)
    return by_words or next((kind for kind in _KINDS if any(word in name for word in kind.words)), _ANY)
