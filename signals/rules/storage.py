"""Jobs that wait for files: what the clients of network file systems say in the kernel log.

One server that many nodes miss is slow itself or cut off; one node that misses several servers has a network of its own
to look at. GPUs that idle together without any error are how a job shows it.
Source: as of `parsers/logs/storage_events.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ...incident.events import LogRead
from ...incident.findings import Confidence, Finding, Severity
from ...incident.ids import NodeId, host_id
from ...incident.snapshot import NodeView
from ...parsers.logs.kernel_log import KernelLine
from ...parsers.logs.storage_events import READERS, StorageServer
from ..identity import cached_by_identity
from ..readings import UNKNOWN_NODE
from ..scene import Scene
from ..wording import several, times

RULE = "storage"
SEVERAL = 2
"""Nodes or servers from which on it is no longer one's own trouble."""


@dataclass(slots=True)
class _Story:
    """What one node says of one server."""

    lost: int = 0
    answers: bool = False
    """Its last word."""
    evidence: list[str] = field(default_factory=list)


Stories = Mapping[tuple[NodeId, str], _Story]


def storage(scene: Scene) -> Iterator[Finding]:
    """One finding for each server that several nodes miss, else for each node."""
    stories = {key: story for key, story in _stories(scene).items() if story.lost}
    shared = {server for _, server in stories if sum(other == server for _, other in stories) >= SEVERAL}
    for server in sorted(shared):
        yield _server({node: story for (node, other), story in stories.items() if other == server}, server)
    for node in dict.fromkeys(node for node, server in stories if server not in shared):
        own = {server: story for (one, server), story in stories.items() if one == node and server not in shared}
        yield _node(node, own, len(scene.snapshot.nodes) + len(scene.readings.nodes) > 1)


def _stories(scene: Scene) -> Stories:
    found: dict[tuple[NodeId, str], _Story] = {}
    streamed = tuple(_streamed(scene.snapshot.nodes.values()))
    already = {node for node, _, _ in streamed}
    printed = (told for told in _printed(scene) if told[0] not in already)
    for node, reading, id_ in (*streamed, *printed):
        story = found.setdefault((node, reading.server), _Story())
        story.answers = reading.answers
        story.lost += not reading.answers
        story.evidence.append(id_)
    return found


def _streamed(views: Iterable[NodeView]) -> Iterator[tuple[NodeId, StorageServer, str]]:
    for view in views:
        yield from ((view.id, reading, id_) for reading, id_ in _of_logs(view.logs))


@cached_by_identity(size=4096)
def _of_logs(logs: tuple[tuple[str, LogRead], ...]) -> tuple[tuple[StorageServer, str], ...]:
    return tuple(
        (reading, id_)
        for id_, line in logs
        for mark, read in READERS
        if mark in line.text and (reading := read(line.text))
    )


def _printed(scene: Scene) -> Iterator[tuple[NodeId, StorageServer, str]]:
    for told in scene.readings.of(KernelLine):
        line = told.reading
        if isinstance(line.reading, StorageServer):
            yield NodeId(line.host) if line.host and told.node == UNKNOWN_NODE else told.node, line.reading, told.id


def _server(told: Mapping[NodeId, _Story], server: str) -> Finding:
    waiting = [node for node, story in told.items() if not story.answers]
    first = next(iter(told))
    return Finding(
        component=host_id(first),
        fru="none",
        fault_class="storage/slow-server",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title=f"the storage server {server} did not answer {several(len(told), 'node')}"
        + (f"; {several(len(waiting), 'node')} still waiting" if waiting else "; it answers again"),
        evidence=tuple(dict.fromkeys(id_ for story in told.values() for id_ in story.evidence[:2])),
        argues_against=("the network between may have been down rather than the server",),
        next=f"Look at {server} itself at that time (load, failover, its own log), then at the switches between.",
        victims=tuple(host_id(node) for node in told if node != first),
        rule=RULE,
    )


def _node(node: NodeId, own: Mapping[str, _Story], has_peers: bool) -> Finding:
    lost = sum(story.lost for story in own.values())
    waiting = not all(story.answers for story in own.values())
    several_servers = len(own) >= SEVERAL
    named = ", ".join(list(own)[:3])
    return Finding(
        component=host_id(node),
        fru="none",
        fault_class="storage/network" if several_servers else "storage",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE if several_servers or waiting else Confidence.UNKNOWN,
        title=f"{node} lost its storage {times(lost)} ({named})" + ("" if waiting else "; it answers again"),
        evidence=tuple(dict.fromkeys(id_ for story in own.values() for id_ in story.evidence[:4])),
        argues_against=(
            "no other node is shown to miss it" if has_peers else "whether other nodes missed it too is not shown",
            *(() if waiting else ("it answered again",)),
        ),
        next="Compare with the logs of other clients of the same server; if this node is alone, look at its storage "
        "network (link, MTU, errors) and its mounts.",
        rule=RULE,
    )
