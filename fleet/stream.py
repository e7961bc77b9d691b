"""Lines out of a channel, with a bound on everything the node may send.

asyncssh's readline gives back 2 MiB without complaint when no newline comes, so framing is done here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import asyncssh

STDERR_TAIL = 2000
"""Bytes kept of the end of standard error."""


class LineTooLong(Exception):
    """The node sent more than a line may hold without a newline."""


class LineFramer:
    """Cuts bytes into lines of at most `longest` bytes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._rest = bytearray()

    @property
    def rest(self) -> bytes:
        """What came after the last newline."""
        return bytes(self._rest)

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their newlines; raises LineTooLong."""
        start = data.rfind(b"\n") + 1
        if start == 0:
            if len(self._rest) + len(data) > self._longest:
                raise LineTooLong
            self._rest += data
            return []
        lines = (bytes(self._rest) + data[: start - 1]).split(b"\n")
        self._rest = bytearray(data[start:])
        if max(map(len, lines)) > self._longest or len(self._rest) > self._longest:
            raise LineTooLong
        return lines


class LineSession(asyncssh.SSHClientSession[bytes]):
    """A program on the node that speaks in lines; `take` gets each of them at once, on the event loop."""

    def __init__(self, take: Callable[[bytes], None], longest: int) -> None:
        self._take = take
        self._framer = LineFramer(longest)
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self.ended = asyncio.Event()
        self.too_long = False
        self.exit_status: int | None = None
        self.exit_signal: str | None = None
        self.lost: Exception | None = None
        self.stderr = b""
        """The end of what the program wrote to standard error."""

    @property
    def rest(self) -> bytes:
        """The line that was not finished."""
        return self._framer.rest

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        """The channel is open."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Bytes came."""
        if datatype == asyncssh.EXTENDED_DATA_STDERR:
            self.stderr = (self.stderr + data)[-STDERR_TAIL:]
            return
        if self.too_long:
            return
        try:
            lines = self._framer.feed(data)
        except LineTooLong:
            self.too_long = True
            if self._channel is not None:
                self._channel.abort()
            return
        for line in lines:
            self._take(line)

    def pause(self) -> None:
        """Read no more for now: the window fills, and the node waits."""
        if self._channel is not None:
            self._channel.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._channel is not None and not self._channel.is_closing():
            self._channel.resume_reading()

    def exit_status_received(self, status: int) -> None:
        """The program ended."""
        self.exit_status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        """The program was killed."""
        self.exit_signal = signal

    def connection_lost(self, exc: Exception | None) -> None:
        """The channel closed."""
        self.lost = exc
        self.ended.set()

    def how_it_ended(self) -> str:
        """The end in words, with the last line of standard error."""
        if self.exit_signal is not None:
            end = f"killed by signal {self.exit_signal}"
        elif self.exit_status is not None:
            end = f"exit status {self.exit_status}"
        else:
            end = "the channel closed"
        said = one_line(self.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
        return f"{end}: {said}" if said else end


def one_line(text: str, most: int = 200) -> str:
    """Untrusted text made fit for one line of a sentence: printable, bounded."""
    clean = "".join(character if character.isprintable() else " " for character in text[: 4 * most])
    return " ".join(clean.split())[:most]
