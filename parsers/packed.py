"""The bytes of a file that may be compressed (gzip, bzip2, xz), with limits on what little may unpack into much."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol, TypeAlias

CHUNK = 1024 * 1024
"""Bytes read or unpacked at once."""
MOST_UNPACKED = 1024**3
"""Bytes that a compressed file may unpack to: about a minute's reading of a log."""
FREE = 64 * 1024**2
"""Bytes that it may unpack to whatever its size."""
MOST_RATIO = 250
"""Past FREE: how many times its size. Logs pack 10 to 40 times; a decompression bomb a thousand."""
MOST_XZ_MEMORY = 128 * 1024**2
"""Bytes that unpacking xz may take; `xz -9` needs 65 MiB."""
_GZIP = 31
"""zlib's window bits for the gzip form."""


class Source(Protocol):
    """Bytes in order."""

    trouble: str
    """Why they end before the file does, in words; empty where they don't. Known once the last were read."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""


class _Inflate:
    """zlib's decompressor with the manners of the other two, but that it hands back input it has not unpacked yet."""

    needs_input = True

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data if self.eof else self._inflate.unconsumed_tail

    def decompress(self, data: bytes, size: int) -> bytes:
        return self._inflate.decompress(data, size)


_Decompressor: TypeAlias = _Inflate | bz2.BZ2Decompressor | lzma.LZMADecompressor
_DAMAGED = (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError)


def _unxz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, MOST_XZ_MEMORY)


_FORMS = ((b"\x1f\x8b", _Inflate), (b"BZh", bz2.BZ2Decompressor), (b"\xfd7zXZ\x00", _unxz))
"""How each begins, and what unpacks it."""
LONGEST_MAGIC = max(len(magic) for magic, _ in _FORMS)


def is_packed(beginning: bytes) -> bool:
    """Whether bytes begin as a compressed file does."""
    return any(beginning.startswith(magic) for magic, _ in _FORMS)


def unpacked(stream: BinaryIO) -> Source:
    """What stands in the file, unpacked where it begins as compressed files do."""
    beginning = b""
    while len(beginning) < LONGEST_MAGIC and (more := stream.read(LONGEST_MAGIC - len(beginning))):
        beginning += more
    plain = _Plain(stream, beginning)
    for magic, decompressor in _FORMS:
        if beginning.startswith(magic):
            return _Unpack(plain, magic, decompressor)
    return plain


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


class _Unpack:
    """One compressed stream after another, each bit of input unpacked no further than asked for."""

    def __init__(self, packed: _Plain, magic: bytes, decompressor: Callable[[], _Decompressor]) -> None:
        self._packed, self._magic, self._new = packed, magic, decompressor
        self._unpack = decompressor()
        self._input = b""
        self._taken = self._given = 0
        self.trouble = ""

    def read(self, size: int) -> bytes:
        while not self.trouble and self._more_input():
            try:
                found = self._unpack.decompress(self._input, size)
            except _DAMAGED:
                self.trouble = f"the compressed data are damaged after {self._given} unpacked bytes"
                break
            self._input = self._unpack.unused_data
            self._given += len(found)
            self._judge()
            if found:
                return found
        return b""

    def _more_input(self) -> bool:
        """Have bytes to unpack; false at the end of the file, which may come too early."""
        if self._unpack.eof:
            if not self._input:
                self._fill()
            if self._input[:1] != self._magic[:1]:
                return False
            self._unpack = self._new()
        elif self._unpack.needs_input and not self._input:
            self._fill()
            if not self._input:
                self.trouble = f"the compressed data break off after {self._given} unpacked bytes"
                return False
        return True

    def _fill(self) -> None:
        self._input = self._packed.read(CHUNK)
        self._taken += len(self._input)

    def _judge(self) -> None:
        used = max(1, self._taken - len(self._input))
        if self._given > MOST_UNPACKED or (self._given > FREE and self._given > MOST_RATIO * used):
            self.trouble = f"{used} compressed bytes unpack to {self._given} and more: stopped there"
