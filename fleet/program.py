"""A channel to a program that was sent to a node: JSON lines both ways, a lease kept alive, an end for certain."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

import asyncssh
import orjson

from .stream import LineSession, one_line

MOST_WAITING = 50_000
"""Lines held for a reader that is behind; above it the channel is paused."""
LEASES = 3
"""Signs of life in one lease."""


class ProgramChannel:
    """A running program; `stderr` holds the end of what it complained about."""

    def __init__(self, connection: asyncssh.SSHClientConnection, longest: int, most: int) -> None:
        self._connection = connection
        self._session = LineSession(self._take, longest)
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._lines: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._most = most
        self._taken = 0
        self._paused = False
        self._lease: asyncio.Task[None] | None = None
        self.too_much = False
        """The program said more than it may; the channel was cut."""

    async def open(self, command: str, payload: bytes, window: int, lease: float | None = None) -> None:
        """Start it: `command` on the node, `payload` on its standard input. With a `lease` (seconds) a `k` line is sent
        several times in it; without one the program's user keeps it alive."""
        self._channel, _ = await self._connection.create_session(
            lambda: self._session, command, encoding=None, window=window, request_pty=False
        )
        with contextlib.suppress(BrokenPipeError):  # it has ended already: what it said and its status tell why
            self._channel.write(payload)
        if lease is not None:
            self._lease = asyncio.create_task(self._keep(lease))

    @property
    def stderr(self) -> str:
        """The end of standard error, in one line."""
        return one_line(self._session.stderr.decode("utf-8", "replace"))

    @property
    def exit_status(self) -> int | None:
        """None while it runs, or when it was killed or lost."""
        return self._session.exit_status

    @property
    def ended(self) -> bool:
        """Whether the channel has closed."""
        return self._session.ended.is_set()

    def how_it_ended(self) -> str:
        """The end in words."""
        if self.too_much:
            return "it said more than a program may, and was cut off"
        if self._session.too_long:
            return "it sent a line without end, and was cut off"
        return self._session.how_it_ended()

    async def send(self, message: Mapping[str, Any]) -> None:
        """One JSON line to the program. Raises OSError when the channel is closed."""
        if self._channel is None or self._channel.is_closing():
            raise BrokenPipeError(f"the program has ended: {self.how_it_ended()}")
        self._channel.write(orjson.dumps(message) + b"\n")

    async def receive(self, deadline: float | None = None) -> Mapping[str, Any] | None:
        """The next JSON object, noise before it passed over; None when the program has ended.

        Raises TimeoutError after `deadline` seconds of silence."""
        while (line := await self.receive_line(deadline)) is not None:
            try:
                message = orjson.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                return message
        return None

    async def receive_line(self, deadline: float | None = None) -> bytes | None:
        """The next line; None when the program has ended. Raises TimeoutError after `deadline` seconds of silence."""
        async with asyncio.timeout(deadline):
            while not self._lines:
                if self.ended:
                    return None
                self._news.clear()
                waiters = [asyncio.create_task(self._news.wait()), asyncio.create_task(self._session.ended.wait())]
                try:
                    await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for waiter in waiters:
                        waiter.cancel()
        line = self._lines.popleft()
        if self._paused and len(self._lines) < MOST_WAITING // 2:
            self._paused = False
            self._session.resume()
        return line

    async def lines(self) -> AsyncIterator[bytes]:
        """All lines until the program ends."""
        while (line := await self.receive_line()) is not None:
            yield line

    async def close(self, grace: float = 0.3) -> None:
        """End it: close its standard input, then cut. What it started dies with that."""
        if self._lease is not None:
            self._lease.cancel()
        if self._channel is None:
            return
        with contextlib.suppress(OSError, asyncssh.Error):
            if not self._channel.is_closing():
                self._channel.write_eof()
        try:
            async with asyncio.timeout(grace):
                await self._session.ended.wait()
        except TimeoutError:
            pass
        finally:
            self._channel.abort()

    def _take(self, line: bytes) -> None:
        self._taken += len(line)
        if self._taken > self._most:
            if not self.too_much and self._channel is not None:
                self.too_much = True
                self._channel.abort()
            return
        self._lines.append(line)
        self._news.set()
        if len(self._lines) > MOST_WAITING and not self._paused:
            self._paused = True
            self._session.pause()

    async def _keep(self, lease: float) -> None:
        """Say `k` while the channel stands."""
        while self._channel is not None and not self._channel.is_closing():
            self._channel.write(b"k\n")
            await asyncio.sleep(lease / LEASES)
