"""What some files mean: the same rules as on a live fleet, over the events that the files tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...incident.events import Entry
from ...incident.findings import Finding, Severity
from ...incident.fold import Incident
from ...incident.ids import NodeId
from ...incident.snapshot import Snapshot
from ...incident.source import ReadOutput
from ...parsers.parsed import Unread
from ...signals.judge import judge
from ...signals.readings import Output, Readings
from ...topology.fabric import Fabric
from ..outputs import output_of_file
from .missing import missing
from .source import FileSource

MOST_UNREAD = 200


@dataclass(frozen=True, slots=True)
class NotRead:
    """A line, or a whole file, that could not be used."""

    path: str
    line: int
    """0 of a whole file."""
    why: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that follows from some files."""

    snapshot: Snapshot
    fabric: Fabric
    readings: Readings
    findings: tuple[Finding, ...]
    """What is wrong, or looks wrong and is right; the gravest and surest first."""
    consequences: tuple[Finding, ...]
    """What only follows from one of these."""
    missing: tuple[str, ...]
    """Sentences: what would be needed to be sure."""
    unread: tuple[NotRead, ...]
    remarks: tuple[str, ...] = ()
    """What ought to be known of outputs that were read: cut, taken for a host's, known from documentation alone."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Where each event's output or line stands, for people."""
    symptom: str = ""
    hardware: str = ""

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """Nodes that anything is of."""
        return tuple(self.snapshot.nodes)

    @property
    def faults(self) -> tuple[Finding, ...]:
        """Findings that are more than information."""
        return tuple(finding for finding in self.findings if finding.is_fault)

    @property
    def exit_code(self) -> int:
        """0 nothing wrong is found, 1 a fault is, 3 nothing could be read."""
        if not any(output.readings for output in self.readings.outputs):
            return 3
        return 1 if self.faults else 0


def diagnose(paths: Sequence[Path], symptom: str = "", hardware: str = "") -> Diagnosis:
    """Read and judge; raises InputError for a path that is not there. `symptom` and `hardware` are kept as context."""
    source = FileSource(paths)
    incident = Incident()
    outputs: list[Output] = []
    unread: list[NotRead] = []
    remarks: list[str] = []
    where: dict[str, str] = {}
    for number, item in enumerate(source.told(), start=1):
        event = item.event if isinstance(item, ReadOutput) else item
        id_ = f"J{number}"
        incident.apply(Entry(number, id_, event))
        if isinstance(item, ReadOutput):
            outputs.append(output_of_file(id_, item))
            where[id_] = outputs[-1].where
        elif path := getattr(event, "source", ""):
            where[id_] = str(path)
    for one in source.outputs:
        section = one.section
        if section.tool is None:
            unread.append(NotRead(section.name, 0, "; ".join(section.notes)))
        elif section.parsed is not None:
            unread += [_not_read(section.name, line) for line in section.parsed.unread]
            remarks += [f"{section.name}: {note}" for note in section.notes]
    snapshot, readings = incident.snapshot(), Readings(tuple(outputs))
    found = judge(snapshot, source.fabric, readings)
    findings, consequences = told_apart(found)
    return Diagnosis(
        snapshot=snapshot,
        fabric=source.fabric,
        readings=readings,
        findings=findings,
        consequences=consequences,
        missing=tuple(missing(snapshot, readings, findings)),
        unread=tuple(unread[:MOST_UNREAD]),
        remarks=tuple(dict.fromkeys(remarks))[:MOST_UNREAD],
        where=where,
        symptom=symptom,
        hardware=hardware,
    )


def _not_read(path: str, line: Unread) -> NotRead:
    return NotRead(path, line.number, f"{line.why}: {line.text[:120]}")


def told_apart(found: Sequence[Finding]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """What is said first, in order, and what is said under consequences.

    Victims of another finding, and what another rule says less surely of the same kind of fault on the same part."""
    victims = {victim for finding in found for victim in finding.victims if finding.is_fault}
    own = [finding for finding in found if finding.component not in victims]
    follows = [finding for finding in found if finding.component in victims]
    order = {severity: at for at, severity in enumerate((Severity.CRITICAL, Severity.WARNING, Severity.INFO))}
    sure = {word: at for at, word in enumerate(("confirmed", "likely", "possible", "unknown"))}
    own.sort(key=lambda finding: (not finding.is_fault, sure[finding.confidence], order[finding.severity]))
    leading: dict[tuple[str, str], Finding] = {}
    for finding in own:
        what = (str(finding.component), finding.fault_class.partition("/")[0])
        first = leading.setdefault(what, finding)
        if first is not finding and first.rule != finding.rule and first.is_fault:
            follows.append(finding)
    return tuple(finding for finding in own if finding not in follows), tuple(follows)
