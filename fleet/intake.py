"""What comes from the nodes on its way to whoever reads it: one queue for all, bounded by pausing the nodes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from ..incident.source import Intake as Item

CAPACITY = 20_000
"""Items above which the channels are paused; each then fills its window, and the node waits."""


class Intake:
    """Items in order of arrival. Putting never blocks; a reader that is behind makes `crowded` true."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._items: deque[Item] = deque()
        self._capacity = capacity
        self._news = asyncio.Event()
        self._closed = False
        self._resume: list[Callable[[], None]] = []

    @property
    def crowded(self) -> bool:
        """Whether the reader is behind."""
        return len(self._items) > self._capacity

    def put(self, item: Item) -> None:
        """Take an item; nothing is taken any more once closed."""
        if not self._closed:
            self._items.append(item)
            self._news.set()

    def when_eased(self, resume: Callable[[], None]) -> None:
        """Call `resume` once the reader has caught up by half."""
        self._resume.append(resume)

    def close(self) -> None:
        """Let the reader come to its end after what is here."""
        self._closed = True
        self._news.set()

    async def items(self) -> AsyncIterator[Item]:
        """All items until closed."""
        while True:
            while self._items:
                yield self._items.popleft()
                if self._resume and len(self._items) < self._capacity // 2:
                    self._ease()
            if self._closed:
                return
            self._news.clear()
            await self._news.wait()

    def _ease(self) -> None:
        waiting, self._resume = self._resume, []
        for resume in waiting:
            resume()
