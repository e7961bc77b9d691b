"""Nodes that can't be followed, and why."""

from __future__ import annotations

from collections.abc import Iterator

from ...incident.events import NodeState
from ...incident.findings import Confidence, Finding, Severity
from ...incident.snapshot import NodeView, Snapshot
from ..scene import Scene
from ..wording import clock

RULE = "node_states"
TROUBLED = frozenset({NodeState.STALE, NodeState.LOST, NodeState.FAILED, NodeState.BACKOFF})


def node_states(scene: Scene) -> Iterator[Finding]:
    """One finding for each node that is lost, refused, or silent."""
    for view in scene.snapshot.nodes.values():
        evidence = _evidence(view)
        if evidence and (why := _trouble(scene.snapshot, view)):
            yield _finding(view, why, evidence)


def _trouble(snapshot: Snapshot, view: NodeView) -> str:
    if view.state in TROUBLED:
        return view.reason or f"its connection is {view.state}"
    if view.state is NodeState.LIVE and view.last_heard > 0 and snapshot.is_stale(view.id):
        return f"silent since {clock(view.last_heard)} though its connection stands"
    return ""


def _evidence(view: NodeView) -> tuple[str, ...]:
    newest = [series.ids[-1] for series in view.series.values() if view.state is NodeState.LIVE]
    return tuple(id_ for id_ in (view.event_id, *newest) if id_)


def _finding(view: NodeView, why: str, evidence: tuple[str, ...]) -> Finding:
    return Finding(
        component=view.id,
        fru="none",
        fault_class="unknown",
        severity=Severity.WARNING,
        confidence=Confidence.UNKNOWN,
        title=f"{view.id}: {why}",
        evidence=evidence,
        argues_against=("what can't be reached is not known to be broken",),
        next="Look at the node's console or BMC; nothing it last said is thrown away.",
        rule=RULE,
    )
