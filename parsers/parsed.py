"""What a parser gives back: readings, what it could not read, and what the tool says does not apply. Nothing raises.

All of it is bounded, since what is read may come from a node that is sick or hostile; what was left out is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")

SHOWN = 300
"""Characters kept of a line that could not be read."""
MOST_READINGS = 200_000
MOST_UNREAD = 1_000
LONGEST_LINE = 65_536
"""Characters of one line that are looked at."""


class Missing(StrEnum):
    """Why a value that was asked for is not there. None of these is a zero."""

    NOT_APPLICABLE = "not applicable"
    """`N/A`, `[N/A]`, `-`: the part has no such thing, or not in this mode."""
    NOT_SUPPORTED = "not supported"
    """`[Not Supported]`, `[Requested functionality has been deprecated]`."""
    NOT_PERMITTED = "not permitted"
    """`Insufficient Permissions`."""
    LOST = "lost"
    """`GPU is lost`."""
    UNREADABLE = "unreadable"
    """`ERR!`, `Unknown Error`: the read itself failed."""


@dataclass(frozen=True, slots=True)
class Count:
    """A counter's value, which a counter that has reached its ceiling only bounds from below."""

    value: int
    at_least: bool = False
    """True of a saturated counter."""

    def __str__(self) -> str:
        return f"at least {self.value}" if self.at_least else str(self.value)


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that fitted no form the parser knows."""

    number: int
    """Line number, from 1."""
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The tool says that this part has no such thing, or can't be asked for it now."""

    subject: str
    reason: str


@dataclass(slots=True)
class Parsed(Generic[T]):
    """The outcome of reading one text."""

    readings: list[T] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    absent: list[NotApplicable] = field(default_factory=list)
    left_out: int = 0
    """Readings past the first MOST_READINGS."""
    unread_left_out: int = 0
    """Unread lines past the first MOST_UNREAD."""

    def add(self, reading: T) -> None:
        """Keep a reading."""
        if len(self.readings) < MOST_READINGS:
            self.readings.append(reading)
        else:
            self.left_out += 1

    def cannot_read(self, number: int, line: str, why: str = "fits no known form") -> None:
        """Note a line that was not understood."""
        if len(self.unread) < MOST_UNREAD:
            self.unread.append(Unread(number, line[:SHOWN].strip(), why))
        else:
            self.unread_left_out += 1

    def not_applicable(self, subject: str, reason: str) -> None:
        """Note that the tool declines to answer for `subject`, in its own words."""
        if len(self.absent) < MOST_UNREAD:
            self.absent.append(NotApplicable(subject[:SHOWN], reason[:SHOWN]))


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1, none longer than LONGEST_LINE; a carriage return inside a line stays in it."""
    start, number = 0, 1
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield number, text[start : min(end, start + LONGEST_LINE)].rstrip("\r")
        start, number = end + 1, number + 1
