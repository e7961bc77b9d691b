"""How much is read of what was handed in: of one file, and of all that one archive unpacks to."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import BinaryIO

from ...evidence import limits
from ...parsers.packed import FREE, MOST_RATIO

MOST_READ = 1 << 30
"""Bytes read of one file or member, as they are stored: about a minute for a log."""
MOST_HELD = 64 << 20
"""Bytes of a zip archive inside another archive, which has to be held in memory to be read."""


@dataclass(slots=True)
class Allowance:
    """What one archive, with those inside it, may still unpack to."""

    bytes_left: int
    members_left: int = limits.MEMBERS

    def take(self, size: int) -> bool:
        """Count what came out; false once it is too much."""
        self.bytes_left -= size
        return self.bytes_left >= 0

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more may be read."""
        return self.bytes_left < 0 or self.members_left <= 0

    @classmethod
    def of_size(cls, size: int) -> Allowance:
        """By what bundles are held to, and by the ratio that compressed files are held to."""
        return cls(min(limits.UNPACKED_BYTES, max(FREE, MOST_RATIO * size)))


class Bounded(io.RawIOBase):
    """A stream that ends when it was read far enough, and then says so; never seeks."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        super().__init__()
        self._stream = stream
        self._most = self._left = most
        self.trouble = ""
        """Why something was not read; known at the end."""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes of those that may be read."""
        wanted = self._left if size < 0 else min(size, self._left)
        found = self._stream.read(max(wanted, 1)) or b""
        if len(found) > self._left:
            self.trouble = f"only the first {self._most >> 20} MiB were read, the rest was not"
            return b""
        self._left -= len(found)
        return found


class Joined(io.RawIOBase):
    """A stream whose beginning was read already."""

    def __init__(self, beginning: bytes, stream: BinaryIO) -> None:
        super().__init__()
        self._beginning, self._stream = beginning, stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes."""
        if self._beginning:
            first, self._beginning = (
                (self._beginning, b"") if size < 0 else (self._beginning[:size], self._beginning[size:])
            )
            return first
        return self._stream.read(size) or b""
