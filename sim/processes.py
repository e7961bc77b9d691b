"""Processes below the fleet's server: finding them, reaping those that nobody waits for, ending all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

TERM_GRACE = 1.0
KILL_GRACE = 2.0


class Reaper:
    """Reaps orphans that came to this process, and leaves those that somebody waits for."""

    def __init__(self) -> None:
        self._waited: set[int] = set()

    def expect(self, pid: int) -> None:
        """Somebody waits for this child."""
        self._waited.add(pid)

    def done(self, pid: int) -> None:
        """That child has been waited for."""
        self._waited.discard(pid)

    def reap(self) -> None:
        """Reap all dead children that nobody waits for."""
        for pid, parent, state in _processes():
            if parent == os.getpid() and state == "Z" and pid not in self._waited:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def descendants(root: int) -> list[int]:
    """All living processes below `root`; zombies don't count."""
    children: dict[int, list[tuple[int, str]]] = {}
    for pid, parent, state in _processes():
        children.setdefault(parent, []).append((pid, state))
    found: list[int] = []
    waiting = [root]
    while waiting:
        for pid, state in children.get(waiting.pop(), []):
            waiting.append(pid)
            if state != "Z":
                found.append(pid)
    return found


async def end_descendants(root: int, reaper: Reaper) -> None:
    """End everything below `root`: TERM, and KILL for what stays."""
    for number, grace in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, KILL_GRACE)):
        left = round(grace / 0.05)
        while (alive := descendants(root)) and left:
            for pid in alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            await asyncio.sleep(0.05)
            reaper.reap()
            left -= 1


def _processes() -> list[tuple[int, int, str]]:
    """Process id, parent and state of all processes."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                found.append((int(folder.name), int(fields[1]), fields[0]))
    return found
