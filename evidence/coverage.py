"""Coverage: what was asked of which node and what came back. What is missing stands here and is never left out."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from ..incident.events import CommandEnded
from ..incident.ids import NodeId
from ..incident.snapshot import NodeView, Snapshot
from .chunk import ChunkEntry
from .survey import LogVolume

SAMPLED = ("nvml", "ib", "pci")
"""Hang domains every node is asked for, beside its log (`kmsg`) and its facts."""
TAIL = 400
"""Characters kept of what a failed command said."""

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit statuses of a shell that could not start a command."""


class Status(StrEnum):
    """How asking a node for one thing ended."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    DENIED = "denied"
    ABSENT = "absent"
    TRUNCATED = "truncated"


class Covered(msgspec.Struct, frozen=True, kw_only=True):
    """One collector on one node."""

    node: str
    collector: str
    status: Status
    bytes: int = 0
    duration: float = 0.0
    """Seconds the command ran, or samples and log lines span."""
    detail: str = ""
    """Why it is not ok: a reason, or the end of stderr."""


def coverage(
    snapshot: Snapshot, chunks: Iterable[ChunkEntry], logs: Mapping[NodeId, LogVolume], stderr: Mapping[str, bytes]
) -> list[Covered]:
    """Every collector of every node; `stderr`: what each command (by event id) printed there."""
    sampled = _sampled(chunks)
    rows = []
    for node, view in sorted(snapshot.nodes.items()):
        rows += [_domain(view, domain, sampled.get((str(node), domain))) for domain in SAMPLED]
        rows += [_log(view, logs.get(node)), _facts(view)]
        rows += [_command(event, stderr.get(id_, b"")) for id_, event in snapshot.commands if event.node == node]
    return rows


def counts(rows: Iterable[Covered]) -> dict[str, int]:
    """How many collectors were expected, and how many ended in each status."""
    found = Counter(row.status for row in rows)
    return {"expected": found.total(), **{status.value: found[status] for status in Status}}


def _sampled(chunks: Iterable[ChunkEntry]) -> dict[tuple[str, str], tuple[int, float, float]]:
    """(node, domain) -> bytes, first and last time."""
    found: dict[tuple[str, str], tuple[int, float, float]] = {}
    for entry in chunks:
        size, first, last = found.get((entry.node, entry.domain), (0, entry.first_time, entry.last_time))
        spans = (min(first, entry.first_time), max(last, entry.last_time))
        found[entry.node, entry.domain] = (size + entry.length, *spans)
    return found


def _domain(view: NodeView, domain: str, got: tuple[int, float, float] | None) -> Covered:
    size, first, last = got or (0, 0.0, 0.0)
    status, detail = (Status.OK, "") if got else _nothing_from(view)
    if reason := view.unreadable.get(domain):
        status, detail = _denied_or(Status.FAILED, reason), reason
    for hung in view.hung:
        if hung.domain == domain:
            status, detail = Status.TIMEOUT, f"stuck in {hung.wchan or 'a call'} ({hung.process_state})"
    return _row(view, domain, status, detail, size, last - first)


def _log(view: NodeView, volume: LogVolume | None) -> Covered:
    if reason := view.unreadable.get("kmsg"):
        return _row(view, "kmsg", _denied_or(Status.FAILED, reason), reason)
    if volume is None:
        heard = view.last_heard > 0
        return _row(view, "kmsg", *((Status.OK, "nothing was logged") if heard else _nothing_from(view)))
    return _row(view, "kmsg", Status.OK, "", volume.bytes, volume.last - volume.first)


def _facts(view: NodeView) -> Covered:
    return _row(view, "facts", Status.OK, "") if view.facts else _row(view, "facts", *_nothing_from(view))


def _nothing_from(view: NodeView) -> tuple[Status, str]:
    """Why a node gave nothing: it wasn't let in, or it was not there, or it has no such thing."""
    if view.code in ("refused", "host-key-changed", "host-key-unknown", "denied"):
        return Status.DENIED, view.reason
    return Status.ABSENT, view.reason or "the node gave nothing"


def _command(event: CommandEnded, stderr: bytes) -> Covered:
    said = stderr[-4 * TAIL :].decode(errors="replace").strip()[-TAIL:]
    status = _status(event, said)
    detail = "" if status is Status.OK else event.why or said or f"exit status {event.exit_status}"
    return Covered(
        node=str(event.node),
        collector=shlex.join(event.argv),
        status=status,
        bytes=event.stdout.size + event.stderr.size,
        duration=round(event.ended - event.started, 6),
        detail=detail[:TAIL],
    )


def _status(event: CommandEnded, said: str) -> Status:
    if event.truncated or event.why.startswith("truncated"):
        return Status.TRUNCATED
    if event.exit_status == 0:
        return Status.OK
    if event.exit_status is None:
        late = any(word in event.why.lower() for word in ("deadline", "in time", "timed out", "timeout"))
        return Status.TIMEOUT if late else _denied_or(Status.FAILED, event.why)
    if event.exit_status == NOT_FOUND:
        return Status.ABSENT
    return Status.DENIED if event.exit_status == NOT_EXECUTABLE else _denied_or(Status.FAILED, said)


def _denied_or(status: Status, text: str) -> Status:
    lower = text.lower()
    refused = any(words in lower for words in ("permission denied", "not permitted", "insufficient permissions"))
    return Status.DENIED if refused else status


def _row(view: NodeView, collector: str, status: Status, detail: str, size: int = 0, duration: float = 0.0) -> Covered:
    return Covered(
        node=str(view.id),
        collector=collector,
        status=status,
        bytes=size,
        duration=round(duration, 6),
        detail=detail[:TAIL],
    )
