"""Where the end of a long file begins."""

from __future__ import annotations

from typing import BinaryIO

CHUNK = 4 << 20


def tail_of(stream: BinaryIO, size: int, most: int) -> int:
    """Move to the first whole line of the last `most` bytes; gives its number, from 1."""
    line = 1
    stream.seek(0)
    for start in range(0, size - most, CHUNK):
        line += stream.read(min(CHUNK, size - most - start)).count(b"\n")
    while piece := stream.readline(CHUNK):
        if piece.endswith(b"\n"):
            return line + 1
    return line
