"""Lines of a log file that may be larger than memory, or hold one endless line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ..parsed import LONGEST_LINE


def numbered_lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1, each cut at LONGEST_LINE bytes; bytes that are no UTF-8 are replaced."""
    number = 1
    while line := file.readline(LONGEST_LINE):
        yield number, line.decode("utf-8", "replace").rstrip("\r\n")
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        number += 1
