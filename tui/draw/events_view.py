"""Log lines and what was done, of the fleet or of one node, newest last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest

from ...incident.events import OutputRead, PartSwapped
from ...incident.ids import NodeId
from ...incident.snapshot import Snapshot
from .fleet_view import matches
from .words import plural

SHOWN = 500
"""Newest lines a screen holds; older ones are in the journal."""


@dataclass(frozen=True)
class EventLine:
    """One line: when, where, what kind, the words."""

    time: float
    id: str
    node: str
    kind: str
    text: str


def event_lines(snapshot: Snapshot, nodes: Iterable[NodeId] | None = None, pattern: str = "") -> tuple[EventLine, ...]:
    """The newest lines that match, oldest first."""
    chosen = list(snapshot.nodes) if nodes is None else list(nodes)
    lines = [line for node in chosen for line in _logs(snapshot, node)]
    names = set(chosen)
    lines += [
        EventLine(ended.ended, id_, ended.node, "command", _command_words(ended.argv, ended.exit_status, ended.why))
        for id_, ended in snapshot.commands
        if ended.node in names
    ]
    lines += [
        EventLine(read.taken or 0.0, id_, read.node, "file", _file_words(read))
        for id_, read in snapshot.outputs
        if read.node in names
    ]
    for id_, note in snapshot.notes:
        kind = "swap" if isinstance(note, PartSwapped) else "note"
        lines.append(EventLine(note.time, id_, "", kind, note.text))
    kept = [line for line in lines if matches(f"{line.node} {line.kind} {line.text}", pattern)]
    return tuple(sorted(nlargest(SHOWN, kept, key=lambda line: line.time), key=lambda line: line.time))


def _logs(snapshot: Snapshot, node: NodeId) -> Iterable[EventLine]:
    view = snapshot.nodes[node]
    offset = view.clock_offset or 0.0
    for id_, log in view.logs:
        when = log.time if log.node_time is None else log.node_time - offset
        yield EventLine(when, id_, node, log.source, _said(log.source, log.text))


def _said(source: str, text: str) -> str:
    """What a line says, without the numbers that the kernel puts before it: `4,1013,13000000,-;mlx5_core ...`."""
    head, mark, said = text.partition(";")
    return said if source == "kmsg" and mark and head[:1].isdigit() and "," in head else text


def _file_words(read: OutputRead) -> str:
    """`q.txt: nvidia-smi -q, 9 readings`, or why nothing was read of it."""
    what = f"{read.tool}, {plural(read.readings, 'reading')}" if read.tool else "not read"
    return f"{read.path}: {'; '.join((what, *read.notes))}"


def _command_words(argv: tuple[str, ...], status: int | None, why: str) -> str:
    ended = f"exit {status}" if status is not None else why or "no exit status"
    return f"{' '.join(argv)} → {ended}"
