"""A tool whose output can be read: how its output is told from others', and who reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from .parsed import Parsed

HEAD = 65_536
"""Characters from the beginning of an output by which it is recognized."""

NumberedLines: TypeAlias = Iterable[tuple[int, str]]
"""Lines with their numbers from 1, none longer than `parsed.LONGEST_LINE`."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One form of output of one tool."""

    name: str
    """The command as one would type it: `nvidia-smi nvlink -s`."""
    recognizes: Callable[[str], bool]
    """Told from the first HEAD characters, escapes and carriage returns included; true for no other tool's output."""
    parse: Callable[[str], Parsed[Any]]
    parse_lines: Callable[[NumberedLines], Parsed[Any]] | None = None
    """For logs, which may be larger than memory: reads line by line."""
    file_names: tuple[str, ...] = ()
    """How files with this output tend to be named, as lower-case shell patterns: `nvidia-smi*nvlink*`."""
    unconfirmed: str = ""
    """Where its form is known from, when no real output was at hand: documentation or source, never a guess."""
