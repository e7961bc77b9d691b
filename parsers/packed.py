"""The bytes of a file that may be gzip-compressed, with limits on what little may unpack into much."""

from __future__ import annotations

import zlib
from typing import BinaryIO, Protocol

CHUNK = 1024 * 1024
"""Bytes read or unpacked at once."""
MOST_UNPACKED = 64 * 1024**3
"""Bytes that a compressed file may unpack to."""
FREE = 64 * 1024**2
"""Bytes that it may unpack to whatever its size."""
MOST_RATIO = 250
"""Past FREE: how many times its size. Logs pack 10 to 40 times; a decompression bomb a thousand."""
_MAGIC = b"\x1f\x8b"
_GZIP = 31
"""zlib's window bits for the gzip form."""


class Source(Protocol):
    """Bytes in order."""

    trouble: str
    """Why they end before the file does, in words; empty where they don't. Known once the last were read."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""


def unpacked(stream: BinaryIO) -> Source:
    """What stands in the file, unpacked where it begins as gzip does."""
    beginning = stream.read(len(_MAGIC)) or b""
    plain = _Plain(stream, beginning)
    return _Gunzip(plain) if beginning == _MAGIC else plain


class _Plain:
    """A stream whose first bytes were looked at already."""

    def __init__(self, stream: BinaryIO, beginning: bytes) -> None:
        self._stream, self._beginning = stream, beginning
        self.trouble = ""

    def read(self, size: int) -> bytes:
        if self._beginning:
            first, self._beginning = self._beginning[:size], self._beginning[size:]
            return first
        return self._stream.read(size) or b""


class _Gunzip:
    """One gzip member after another, each bit of input unpacked no further than asked for."""

    def __init__(self, packed: _Plain) -> None:
        self._packed = packed
        self._inflate = zlib.decompressobj(_GZIP)
        self._input = b""
        self._taken = self._given = 0
        self.trouble = ""

    def read(self, size: int) -> bytes:
        while not self.trouble and self._more_input():
            try:
                found = self._inflate.decompress(self._input, size)
            except zlib.error:
                self.trouble = f"the compressed data are damaged after {self._given} unpacked bytes"
                break
            self._input = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            self._given += len(found)
            self._judge()
            if found:
                return found
        return b""

    def _more_input(self) -> bool:
        """Have bytes to unpack; false at the end of the file, which may come too early."""
        if self._inflate.eof:
            if not self._input:
                self._fill()
            if self._input[:1] != _MAGIC[:1]:
                return False
            self._inflate = zlib.decompressobj(_GZIP)
        elif not self._input:
            self._fill()
            if not self._input:
                self.trouble = f"the compressed data break off after {self._given} unpacked bytes"
        return bool(self._input)

    def _fill(self) -> None:
        self._input = self._packed.read(CHUNK)
        self._taken += len(self._input)

    def _judge(self) -> None:
        used = max(1, self._taken - len(self._input))
        if self._given > MOST_UNPACKED or (self._given > FREE and self._given > MOST_RATIO * used):
            self.trouble = f"{used} compressed bytes unpack to {self._given} and more: stopped there"
