"""One walk over the journal for what the documents of a bundle need and a snapshot no longer has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..incident.events import Entry, LogRead, NodeState, NodeStateChanged
from ..incident.ids import NodeId

_AWAY = {NodeState.STALE, NodeState.LOST, NodeState.FAILED, NodeState.BACKOFF}


@dataclass
class LogVolume:
    """What a node's log came to."""

    bytes: int = 0
    lines: int = 0
    first: float = 0.0
    last: float = 0.0


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which a node was not heard."""

    node: NodeId
    begin: float
    end: float
    reason: str


@dataclass
class Survey:
    """Logs, gaps, and what was gathered when."""

    logs: dict[NodeId, LogVolume] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    first: float = 0.0
    last: float = 0.0


def survey(entries: Iterable[Entry]) -> Survey:
    """Walk the entries once; a gap that had not ended ends with the last of them."""
    made = Survey()
    away: dict[NodeId, NodeStateChanged] = {}
    for entry in entries:
        event = entry.event
        made.first = made.first or event.time
        made.last = max(made.last, event.time)
        if isinstance(event, LogRead):
            _count(made.logs.setdefault(event.node, LogVolume()), event)
        elif isinstance(event, NodeStateChanged):
            if event.state in _AWAY:
                away.setdefault(event.node, event)
            elif event.state is NodeState.LIVE and (began := away.pop(event.node, None)):
                made.gaps.append(Gap(event.node, began.time, event.time, began.reason))
    made.gaps += [Gap(node, began.time, made.last, began.reason) for node, began in sorted(away.items())]
    return made


def _count(volume: LogVolume, line: LogRead) -> None:
    volume.first = volume.first or line.time
    volume.last = line.time
    volume.lines += 1
    volume.bytes += len(line.text.encode())
