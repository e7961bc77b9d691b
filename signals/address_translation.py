"""Whether a node's IOMMU translates what devices ask for, by its command line and its kernel log.

Source: kernel Documentation/admin-guide/kernel-parameters, `iommu=`, `intel_iommu=`, `amd_iommu=`. The default domain
type is printed on machines without an IOMMU too, and alone says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..incident.ids import NodeId
from ..incident.snapshot import NodeView
from ..parsers.kernel_command_line import KernelCommandLine, command_line_of
from ..parsers.logs.iommu_events import IommuDomains, IommuFault, IommuOn
from ..parsers.logs.kernel_log import KernelLine
from .readings import Readings

KERNEL_COMMAND_LINE = "kernel_cmdline"
SWITCHES = ("iommu", "intel_iommu", "amd_iommu")
OFF = ("off", "force_disable")
PASSED = ("pt", "on,pt", "pt,on")
"""Values with which devices reach memory at its own addresses."""


@dataclass(frozen=True, slots=True)
class Translation:
    """What is known of one node."""

    on: bool
    words: tuple[str, ...]
    """What says so: `intel_iommu=on`, `Default domain type: Translated`."""
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Said:
    on: bool = False
    off: bool = False
    passed: bool = False
    translated: bool = False
    words: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


def translations(readings: Readings, views: Mapping[NodeId, NodeView]) -> Mapping[NodeId, Translation]:
    """Nodes of which something is known."""
    found: dict[NodeId, Translation] = {}
    for node in dict.fromkeys((*readings.nodes, *views)):
        said = [*_of_facts(views.get(node)), *_of_readings(readings, node)]
        if not any(one.on or one.off or one.passed for one in said):
            continue
        on = any(one.on for one in said) and not any(one.off or one.passed for one in said)
        ids = dict.fromkeys(id_ for one in said for id_ in one.ids)
        found[node] = Translation(on, tuple(dict.fromkeys(word for one in said for word in one.words)), tuple(ids))
    return found


def faults(readings: Readings, node: NodeId) -> tuple[tuple[IommuFault, str], ...]:
    """What the IOMMU refused, each with the event that says so."""
    lines = readings.of(KernelLine, node)
    return tuple((one.reading.reading, one.id) for one in lines if isinstance(one.reading.reading, IommuFault))


def _of_facts(view: NodeView | None) -> Iterator[_Said]:
    line = str(view.fact(view.id, KERNEL_COMMAND_LINE) or "") if view else ""
    told = command_line_of(line)
    if view and told and view.facts_id:
        yield _of_command_line(told, view.facts_id)


def _of_readings(readings: Readings, node: NodeId) -> Iterator[_Said]:
    for one in readings.of(KernelCommandLine, node):
        yield _of_command_line(one.reading, one.id)
    for line in readings.of(KernelLine, node):
        match line.reading.reading:
            case KernelCommandLine() as told:
                yield _of_command_line(told, line.id)
            case IommuOn(maker=maker):
                yield _Said(on=True, words=(f"{maker} IOMMU found",), ids=(line.id,))
            case IommuDomains(translated=translated):
                words = ("Default domain type: Translated",) if translated else ()
                yield _Said(passed=not translated, translated=translated, words=words, ids=(line.id,))


def _of_command_line(line: KernelCommandLine, id_: str) -> _Said:
    words = [word for name in SWITCHES for word in line.of(name)]
    last = {word.name: word.value or "" for word in words}
    passed = last.get("iommu") in PASSED or any(
        word.value in ("1", "on", "y") for word in line.of("iommu.passthrough")[-1:]
    )
    return _Said(
        on=any(last.get(name, "").startswith("on") for name in ("intel_iommu", "amd_iommu")) and not passed,
        off=any(value in OFF for value in last.values()),
        passed=passed or any(value in PASSED for value in last.values()),
        words=tuple(map(str, words)),
        ids=(id_,) if words else (),
    )
