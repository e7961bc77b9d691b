"""What a parser gives back: readings, what it could not read, and what the tool says does not apply. Nothing raises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

SHOWN = 300
"""Characters kept of a line that could not be read: node output is untrusted and unbounded."""


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

    def add(self, reading: T) -> None:
        """Keep a reading."""
        self.readings.append(reading)

    def cannot_read(self, number: int, line: str, why: str = "fits no known form") -> None:
        """Note a line that was not understood."""
        self.unread.append(Unread(number, line.strip()[:SHOWN], why))

    def not_applicable(self, subject: str, reason: str) -> None:
        """Note that the tool declines to answer for `subject`, in its own words."""
        self.absent.append(NotApplicable(subject, reason[:SHOWN]))


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1; carriage returns and other line ends inside a line stay in it."""
    for number, line in enumerate(text.split("\n"), 1):
        yield number, line.rstrip("\r")
