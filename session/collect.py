"""What a bundle takes along: the nodes' volatile state as their own tools print it, collected before anyone resets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..evidence.bundle import write_bundle
from ..evidence.names import LIKELIHOODS
from ..incident.events import BundleWritten, NodeState
from ..incident.ids import NodeId

if TYPE_CHECKING:
    from .session import Session

COLLECTORS: tuple[tuple[str, ...], ...] = (
    ("nvidia-smi",),
    ("nvidia-smi", "-q"),
    ("nvidia-smi", "topo", "-m"),
    ("nvidia-smi", "nvlink", "-s"),
    ("nvidia-smi", "nvlink", "-e"),
    ("nvidia-smi", "nvlink", "-R"),
    ("dmesg",),
    ("lspci", "-vvv"),
    ("ibstat",),
    ("uname", "-a"),
)
"""Read-only commands, quickest evidence first."""

PER_COMMAND = 20.0
"""Seconds a command may take; nvidia-smi without persistence mode needs up to 10 (transport.md section 2)."""

AT_ONCE = 3
"""Commands at a time on one node: below sshd's MaxSessions of 10 with room for collector and probes."""


async def collect_and_write(
    session: Session, out: Path | None, deadline: float, progress: Callable[[str], None]
) -> BundleWritten:
    """Run `COLLECTORS` on every live node, then write the bundle; a cut-off still yields a valid partial bundle."""
    until = time.monotonic() + deadline
    live = [view.id for view in session.snapshot().nodes.values() if view.state is NodeState.LIVE]
    done = 0

    async def collect(node: NodeId) -> None:
        nonlocal done
        await _collect_node(session, node, until)
        done += 1
        progress(f"collected from {done} of {len(live)} nodes")

    await asyncio.gather(*(collect(node) for node in live))
    progress("writing the bundle")
    session.case.flush()
    snapshot, fabric = session.snapshot(), session.fabric()
    target = out if out is not None else session.case_path / _default_name(session)
    left = max(5.0, until - time.monotonic())
    table = session.investigation.table if session.investigation else None
    written = await asyncio.to_thread(
        write_bundle,
        session.case,
        snapshot,
        fabric.to_json(),
        target,
        deadline=left,
        progress=progress,
        further={LIKELIHOODS: table} if table else None,
    )
    event = BundleWritten(time=time.time(), path=str(written.path), root=written.root)
    session.record(event)
    return event


async def _collect_node(session: Session, node: NodeId, until: float) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def run(argv: tuple[str, ...]) -> None:
        async with gate:
            left = min(PER_COMMAND, until - time.monotonic())
            if left > 0:
                session.record_output(await session.source.run_command(node, argv, left))

    await asyncio.gather(*(run(argv) for argv in COLLECTORS))


def _default_name(session: Session) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{session.case_path.name}-{stamp}.evb.zip"
