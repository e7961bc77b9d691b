"""What rules ask of live nodes beyond what is streamed: settings and states, by read-only commands, when asked.

Quickest and most telling first; what a node lacks is left out. The outputs go into the case like any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..incident.events import NodeState
from ..incident.ids import NodeId

if TYPE_CHECKING:
    from .session import Session

SURVEY: tuple[tuple[str, ...], ...] = (
    ("systemctl", "status", "--no-pager", "nvidia-fabricmanager"),
    ("lsmod",),
    ("cat", "/proc/cmdline"),
    ("nvidia-smi", "-q"),
    ("nvidia-smi", "topo", "-m"),
    ("nvidia-smi", "topo", "-p2p", "r"),
    ("lspci", "-vvv"),
    ("ibstat",),
    ("show_gids",),
    ("ip", "-j", "link"),
    ("df", "/dev/shm"),
)
PER_COMMAND = 20.0
"""Seconds a command may take; nvidia-smi without persistence mode needs up to 10."""
NODES_AT_ONCE = 16


async def survey(session: Session, told: Callable[[str], None] | None = None) -> int:
    """Run it on every live node, one command after the other; how many nodes were asked."""
    live = [view.id for view in session.snapshot().nodes.values() if view.state is NodeState.LIVE]
    gate = asyncio.Semaphore(NODES_AT_ONCE)
    done = 0

    async def ask(node: NodeId) -> None:
        nonlocal done
        async with gate:
            await _ask(session, node, SURVEY)
        done += 1
        if told is not None:
            told(f"asked {done} of {len(live)} nodes")

    await asyncio.gather(*(ask(node) for node in live))
    return len(live)


async def _ask(session: Session, node: NodeId, commands: Sequence[tuple[str, ...]]) -> None:
    for argv in commands:
        session.record_output(await session.source.run_command(node, argv, PER_COMMAND))
