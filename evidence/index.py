"""The evidence index: for every id that a statement names, where the thing itself is and what it says."""

from __future__ import annotations

import re
import shlex
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ..incident.errors import EvidenceError, Unresolved
from ..incident.events import (
    AnyJournalEvent,
    BeliefUpdated,
    Blob,
    CommandEnded,
    Entry,
    FactsRead,
    Field,
    LogRead,
    NodeStateChanged,
    SampleTaken,
    SchemaDeclared,
    TrialEnded,
    VerdictReached,
    encode_event,
)
from ..incident.ids import ComponentId
from ..incident.snapshot import Snapshot
from .cut import Cut, StoredChunk
from .names import raw_folders

if TYPE_CHECKING:
    from .case import Case

QUOTE = 240
"""Characters quoted at most."""
FIELDS_QUOTED = 12

Evidence = dict[str, Any]
"""`source`, `quote`, `command` and / or `path`, `lines` and / or `time`; paths as in a bundle's `data/` folder."""
Parts = Mapping[str, set[ComponentId]]
"""Event id -> the parts that are said to be at fault because of it."""


def evidence_index(snapshot: Snapshot, case: Case) -> dict[str, Evidence]:
    """Evidence by id, for all ids that findings, beliefs and the verdict of the snapshot name and the case holds."""
    with case.cut() as cut:
        return _Finder(snapshot, case, cut).found()


def check_resolved(snapshot: Snapshot, index: Mapping[str, Evidence]) -> None:
    """Raise Unresolved for the first statement that names an id which the index lacks."""
    for statement, ids in _statements(snapshot):
        for id_ in ids:
            if id_ not in index:
                raise Unresolved(f"{statement} stands on {id_!r}, which is not in the case; nothing was written")


def named_by(snapshot: Snapshot) -> dict[str, set[ComponentId]]:
    """Every id that a statement of the snapshot names, with the parts it is about."""
    named: dict[str, set[ComponentId]] = defaultdict(set)
    for finding in snapshot.findings:
        for id_ in (*finding.evidence, *finding.argues_against):
            named[id_].add(finding.component)
    for id_, _ in snapshot.beliefs:
        named.setdefault(id_, set())
    if snapshot.verdict is not None:
        named.setdefault(snapshot.verdict_id, set())
        for verdict in snapshot.verdict.verdicts:
            for id_ in verdict.evidence:
                named[id_].add(verdict.component)
    return dict(named)


def _statements(snapshot: Snapshot) -> Iterator[tuple[str, tuple[str, ...]]]:
    for finding in snapshot.findings:
        yield f"the finding {finding.title!r}", finding.evidence
    for id_, belief in snapshot.beliefs:
        yield f"the belief after round {belief.round}", (id_,)
    if snapshot.verdict is not None:
        yield "the verdict", (snapshot.verdict_id,)
        for verdict in snapshot.verdict.verdicts:
            yield f"the verdict on {verdict.component}", verdict.evidence


class _Finder:
    """Looks the named ids up in one cut."""

    def __init__(self, snapshot: Snapshot, case: Case, cut: Cut) -> None:
        self._case, self._cut = case, cut
        self._named: Parts = named_by(snapshot)
        self._folders = raw_folders(snapshot.commands)
        self._schemas: dict[tuple[str, str], tuple[Field, ...]] = {}

    def found(self) -> dict[str, Evidence]:
        index = dict(self._from_journal())
        samples = {id_ for id_ in self._named if id_ not in index and _number(id_) is not None}
        if samples:
            index |= self._from_recording(samples)
        return {id_: index[id_] for id_ in sorted(index)}

    def _from_journal(self) -> Iterator[tuple[str, Evidence]]:
        for number, line in enumerate(self._cut.lines(), 1):
            if line.id not in self._named and line.kind != SchemaDeclared.__name__:
                continue
            try:
                event = line.entry().event
            except msgspec.ValidationError:
                continue
            if isinstance(event, SchemaDeclared):
                self._schemas[event.node, event.schema] = event.fields
            if line.id in self._named and not isinstance(event, SampleTaken):
                yield line.id, {**self._where(line.id, event, number), **self._said(line.id, event)}

    def _where(self, id_: str, event: AnyJournalEvent, line: int) -> Evidence:
        if isinstance(event, CommandEnded) and id_ in self._folders:
            lines = self._text(event.stdout).count("\n")
            return {"path": f"{self._folders[id_]}/stdout", "lines": [1, max(1, lines)], "time": event.started}
        return {"path": "journal.jsonl", "lines": [line, line], "time": event.time}

    def _said(self, id_: str, event: AnyJournalEvent) -> Evidence:
        match event:
            case CommandEnded():
                command = shlex.join(event.argv)
                shown = self._text(event.stdout).strip() or self._text(event.stderr).strip() or event.why
                return {"source": f"{event.node}: command", "command": command, "quote": shown[:QUOTE]}
            case LogRead():
                return {"source": f"{event.node}: {event.source}", "quote": event.text[:QUOTE]}
            case NodeStateChanged():
                return {"source": f"{event.node}: connection", "quote": f"{event.state}: {event.reason}"[:QUOTE]}
            case TrialEnded():
                return _trial(event)
            case BeliefUpdated():
                return {"source": f"belief after round {event.round}", "quote": _belief(event)[:QUOTE]}
            case VerdictReached():
                convicted = ", ".join(f"{one.component} ({one.posterior:.3f})" for one in event.verdicts) or "no part"
                return {"source": "verdict", "quote": f"{event.outcome}: {convicted}; {event.reason}"[:QUOTE]}
            case FactsRead():
                parts = self._named[id_]
                told = [f"{f.component.within} {f.key}={f.value}" for f in event.facts if _about(f.component, parts)]
                return {"source": f"{event.node}: facts", "quote": ", ".join(told)[:QUOTE]}
        return {"source": type(event).__name__, "quote": encode_event(event).decode()[:QUOTE]}

    def _text(self, blob: Blob) -> str:
        try:
            return self._case.bytes_of(blob).decode(errors="replace")
        except EvidenceError:
            return ""

    def _from_recording(self, ids: set[str]) -> dict[str, Evidence]:
        found: dict[str, Evidence] = {}
        for stored in self._cut.chunks:
            if any(_may_hold(stored, id_) for id_ in ids):
                for entry in self._cut.samples(stored):
                    if entry.id in ids:
                        found[entry.id] = self._sample(entry, stored.entry.domain)
        return found

    def _sample(self, entry: Entry, domain: str) -> Evidence:
        sample = entry.event
        assert isinstance(sample, SampleTaken)
        fields = self._schemas.get((sample.node, sample.schema), ())
        told = [
            f"{column.component.within} {column.name}={value:.12g}"
            for column, value in zip(fields, sample.values.tolist(), strict=False)
            if _about(column.component, self._named[entry.id])
        ]
        return {
            "source": f"{sample.node}: samples of {domain}",
            "path": "recording/idx.jsonl",
            "time": sample.time,
            "quote": ", ".join(told[:FIELDS_QUOTED])[:QUOTE],
        }


def _about(component: ComponentId, parts: Iterable[ComponentId]) -> bool:
    """Whether a reading is of one of the parts, or of something on it."""
    return any(component == part or component.startswith(f"{part}/") for part in parts)


def _trial(event: TrialEnded) -> Evidence:
    trial = event.trial
    pieces = [event.error] if event.error else []
    if event.windows:
        middle = statistics.median(event.windows)
        pieces.append(f"{len(event.windows)} windows, median {middle:.1f}, lowest {min(event.windows):.1f} GB/s")
    pieces += [f"{move.component.within} {move.counter} +{move.step:g}" for move in event.moves if move.step]
    return {
        "source": f"{trial.node}: probe {trial.probe}" + (f" by {event.measured_by}" if event.measured_by else ""),
        "command": " ".join([trial.probe, *(target.within for target in trial.targets)]),
        "time": event.started,
        "quote": "; ".join(pieces)[:QUOTE],
    }


def _belief(event: BeliefUpdated) -> str:
    most = ", ".join(f"{suspect.component} {suspect.posterior:.3f}" for suspect in event.suspects[:3]) or "no suspect"
    return f"{most}; no fault {event.no_fault:.3f}; {event.probes} trials in {event.seconds:.1f} s"


def _may_hold(stored: StoredChunk, id_: str) -> bool:
    node = id_.rpartition("#")[0]
    first, last = (_number(end) for end in (stored.entry.first_id, stored.entry.last_id))
    return node == stored.entry.node and (first is None or last is None or first <= (_number(id_) or 0) <= last)


def _number(id_: str) -> int | None:
    found = re.search(r"#(\d{1,18})$", id_)
    return int(found[1]) if found else None
