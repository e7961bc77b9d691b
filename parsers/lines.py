"""Bytes to numbered lines of text, whatever they are: decoded with replacement, or named as binary and not decoded."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from .packed import CHUNK, Source
from .parsed import LONGEST_LINE
from .tool import HEAD

_BEGINNING = 4 * HEAD
"""Bytes at the beginning by which text is told from other things; four a character at most."""
_MOST_STRANGE = 0.05
"""Share of bytes that no text holds, above which it is none."""
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_FORMATS = (
    (0, b"\x7fELF", "a program"),
    (0, b"PK\x03\x04", "a zip archive"),
    (0, b"\xfd7zXZ\x00", "xz-compressed twice"),
    (0, b"BZh", "bzip2-compressed twice"),
    (0, b"\x28\xb5\x2f\xfd", "zstd-compressed"),
    (0, b"\x1f\x8b", "gzip-compressed twice"),
    (257, b"ustar", "a tar archive"),
    (0, b"LPKSHHRH", "a binary journal of systemd (journalctl prints it)"),
    (0, b"SQLite format 3\x00", "a database"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"\x89PNG", "a picture"),
    (0, b"\xff\xd8\xff", "a picture"),
)
_HOLE = re.compile(rb"\x00{16,}")
"""A run of NUL bytes, as a crash leaves them in the log that was being written."""
_STRANGE = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x07\x1b") + b"\x7f"


class TextLines:
    """The text of one source, read once: either line by line, or whole up to a limit."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._beginning = self._read(_BEGINNING)
        self.empty = not self._beginning
        self.binary = binary_kind(self._beginning)
        """What it is instead of text; empty of text."""
        mark = next(
            ((mark, name) for mark, name in _BYTE_ORDER_MARKS if self._beginning.startswith(mark)), (b"", "utf-8")
        )
        self._beginning = self._beginning[len(mark[0]) :]
        self.encoding = mark[1]
        self.long_lines = 0
        """Lines longer than LONGEST_LINE, of which the beginning is given."""
        self.first_long_line = 0
        self.undecodable = False
        """Whether bytes had to be replaced."""
        self.nuls = 0
        """NUL characters left out."""
        self.cut = False
        """Whether `whole` left something out."""

    def head(self) -> str:
        """The first HEAD characters, by which a tool's output is recognized."""
        return self._beginning.decode(self.encoding, "replace").replace("\x00", "")[:HEAD]

    def lines(self, first: int = 1) -> Iterator[tuple[int, str]]:
        """All lines with their numbers from `first`, none longer than LONGEST_LINE, in memory of one chunk."""
        number, pending = first, ""
        for piece in self._pieces():
            *whole, pending = (pending + piece).split("\n")
            for line in whole:
                yield number, self._bounded(number, line)
                number += 1
            pending = pending[: LONGEST_LINE + 1]
        if pending:
            yield number, self._bounded(number, pending)

    def whole(self, limit: int) -> str:
        """The text of the first `limit` bytes; lines keep their length."""
        beyond = self._beginning[limit:]
        text = "".join(self._pieces(limit))
        self.cut = bool(beyond or self._source.read(1))
        return text

    def _bounded(self, number: int, line: str) -> str:
        if len(line) > LONGEST_LINE:
            self.first_long_line = self.first_long_line or number
            self.long_lines += 1
            line = line[:LONGEST_LINE]
        return line.rstrip("\r")

    def _pieces(self, limit: int | None = None) -> Iterator[str]:
        """Decoded text in the order of its bytes."""
        decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        data, self._beginning = self._beginning[:limit], b""
        taken = 0
        while data:
            taken += len(data)
            yield self._cleaned(decoder.decode(data))
            wanted = CHUNK if limit is None else min(CHUNK, limit - taken)
            data = self._source.read(wanted) if wanted > 0 else b""
        yield self._cleaned(decoder.decode(b"", final=True))

    def _cleaned(self, text: str) -> str:
        self.undecodable = self.undecodable or "\ufffd" in text
        if "\x00" in text:
            self.nuls += text.count("\x00")
            text = text.replace("\x00", "")
        return text

    def _read(self, size: int) -> bytes:
        """`size` bytes where the source has so many, however few it gives at once."""
        pieces, left = [], size
        while left > 0 and (piece := self._source.read(left)):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)


def binary_kind(beginning: bytes) -> str:
    """What bytes are that are no text; empty of text in UTF-8, in marked UTF-16, or in ASCII with something more.

    Holes of NUL bytes and a few strange bytes don't make a log binary: a crashed machine leaves both.
    """
    for offset, magic, kind in _FORMATS:
        if beginning.startswith(magic, offset):
            return kind
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ""
    told = _HOLE.sub(b"", beginning)
    if beginning and not told:
        return "NUL bytes only"
    strange = len(told) - len(told.translate(None, _STRANGE))
    return "binary data" if strange > _MOST_STRANGE * len(told) else ""
