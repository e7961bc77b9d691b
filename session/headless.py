"""The same incident without a screen: settle, localize, propose, each a step that scripts and the demo share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from ..incident.errors import NodeError, NoPython
from ..incident.events import NodeState
from ..incident.ids import NodeId
from ..incident.snapshot import NodeView, Snapshot
from .investigation import Investigation, probeable
from .session import Session

Progress = Callable[[str], None]

SETTLE_DEADLINE = 30.0
"""Seconds for nodes to answer or to fail with a reason."""

WATCH = 4.0
"""Seconds of watching before probing, so that the first findings stand (rates need differences)."""

_DOMAINS = {"nvml", "ib", "pci"}
"""Hang domains that a node has to be heard of from, or say why not."""

_DECIDED = (NodeState.FAILED, NodeState.LOST, NodeState.CLOSED, NodeState.BACKOFF)


async def settle(session: Session, progress: Progress) -> None:
    """Wait until every node either streams or has said why not, then watch for a few ticks."""
    if not await session.until(_all_decided, SETTLE_DEADLINE):
        waiting = [str(view.id) for view in session.snapshot().nodes.values() if not _decided(view)]
        progress(f"no answer yet from {', '.join(waiting)}; going on with the others")
    snapshot = session.snapshot()
    for view in snapshot.nodes.values():
        if view.state is not NodeState.LIVE:
            progress(f"{view.id}: {view.state}: {view.reason}")
    progress(f"{snapshot.up()} of {len(snapshot.nodes)} nodes live")
    if snapshot.up():
        await asyncio.sleep(WATCH)


async def localize(
    session: Session,
    nodes: Sequence[NodeId],
    budget: float | None,
    progress: Progress,
    without: Collection[str] = (),
    drained: bool = False,
) -> Investigation:
    """Run rounds until a verdict or the budget is spent; raises NodeError when no node can be probed."""
    chosen = probeable(session.snapshot(), nodes)
    if not chosen:
        raise NodeError(f"no node can be probed: {_reasons(session.snapshot())}; connect to a live node and try again")
    investigation = session.investigate(chosen, budget, approve_all=True, without=without, drained=drained)
    reporter = asyncio.create_task(_report(session, progress))
    try:
        await investigation.wait()
    finally:
        reporter.cancel()
    return investigation


async def propose(
    session: Session,
    nodes: Sequence[NodeId],
    budget: float | None,
    without: Collection[str] = (),
    drained: bool = False,
) -> Investigation:
    """Plan the first round and run nothing; `proposal` holds it, or the investigation ended without one."""
    chosen = probeable(session.snapshot(), nodes)
    if not chosen:
        raise NodeError(f"no node can be probed: {_reasons(session.snapshot())}; connect to a live node and try again")
    investigation = session.investigate(chosen, budget, without=without, drained=drained)
    await session.until(lambda _: investigation.state != "planning", SETTLE_DEADLINE)
    return investigation


def exit_code(snapshot: Snapshot) -> int:
    """0 nothing found, 1 fault found, 2 undecided or a node failed, 3 could not tell or run."""
    reached = snapshot.verdict
    if reached is None or reached.outcome == "not_run":
        return 3
    if reached.outcome == "localized":
        return 1
    all_up = snapshot.up() == len(snapshot.nodes)
    return 0 if reached.outcome == "none" and all_up else 2


async def _report(session: Session, progress: Progress) -> None:
    """Say after each round where the belief stands."""
    told = 0
    while True:
        belief = session.snapshot().belief
        if belief is not None and belief.round > told:
            told = belief.round
            top = belief.suspects[0] if belief.suspects else None
            leader = f"{top.component} {100 * top.posterior:.0f} %" if top else "nobody suspected"
            progress(
                f"round {belief.round}: {belief.probes} probes, {belief.seconds:.1f} s; "
                f"{leader}, nothing wrong {100 * belief.no_fault:.0f} %"
            )
        await asyncio.sleep(0.1)


def _all_decided(snapshot: Snapshot) -> bool:
    return bool(snapshot.nodes) and all(_decided(view) for view in snapshot.nodes.values())


def _decided(view: NodeView) -> bool:
    if view.state is not NodeState.LIVE:
        return view.state in _DECIDED
    if view.code == NoPython.code:
        return view.last_heard > 0
    hung = {hung.domain for hung in view.hung}
    return view.series.keys() | view.unreadable.keys() | hung >= _DOMAINS


def _reasons(snapshot: Snapshot) -> str:
    """Why no node can be probed, node by node."""
    return "; ".join(
        f"{view.id} is {view.state} ({view.reason or 'it has not told of its GPUs yet'})"
        for view in snapshot.nodes.values()
    )
