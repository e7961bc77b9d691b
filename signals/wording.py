"""Numbers and times as they are read out on a call. Coarse on purpose: a title must not change with every tick."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from math import floor, log10

EARLIEST = 1e9
"""Seconds since the epoch (2001) before which a time is some clock of the node's own: since boot, or of day."""


NO_DAY = 86400.0 * 10_000
"""Midnight of the day that stands for one nobody told, where a log's stamps are times of day alone."""


def is_dayless(time: float) -> bool:
    """Whether a time is one of a day that nobody told."""
    return NO_DAY <= time < NO_DAY + 86400.0


def clock(time: float) -> str:
    """`21:33 UTC`; `6781741.5 s on the node's clock` of a log whose stamps count from boot."""
    if is_dayless(time):
        return datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S")
    if time < EARLIEST:
        return f"{time:.1f} s on the node's clock"
    return datetime.fromtimestamp(time, UTC).strftime("%H:%M UTC")


def span(first: float, last: float) -> str:
    """`at 21:33 UTC`, or `21:33 to 21:40 UTC`."""
    start, end = clock(first), clock(last)
    if first < EARLIEST and not is_dayless(first):
        return f"at {start}" if start == end else f"{first:.1f} to {end}"
    return f"at {start}" if start == end else f"{start.removesuffix(' UTC')} to {end}"


def rate(per_second: float) -> str:
    """`about 5 a minute`: the unit in which the number is at least one, rounded to 1, 2 or 5."""
    for unit, seconds in (("second", 1.0), ("minute", 60.0), ("hour", 3600.0)):
        if per_second * seconds >= 1:
            return f"about {_round(per_second * seconds):,.0f} a {unit}"
    return "less than one an hour"


def times(count: int) -> str:
    """`once`, `twice`, `7 times`, and coarse above ten."""
    if count <= 2:
        return ("never", "once", "twice")[count]
    return f"{count} times" if count <= 10 else f"more than {_floor(count)} times"


def several(count: int, noun: str) -> str:
    """`1 lane`, `5 lanes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Iterable[str], most: int = 6) -> str:
    """`n1`, `n1 and n2`, `n1, n2 and n3`; of many, the first and how many more."""
    told = list(names)
    if len(told) > most:
        return f"{', '.join(told[: most - 1])} and {len(told) - most + 1} more"
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)


def quoted(text: str, longest: int = 100) -> str:
    """Words of a node inside a title: one line, printable, bounded."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:longest]).strip()


def _round(value: float) -> float:
    power = float(10 ** floor(log10(value)))
    return min((step * power for step in (1, 2, 5, 10)), key=lambda step: abs(log10(step / value)))


def _floor(count: int) -> int:
    power = int(10 ** floor(log10(count)))
    return max(step * power for step in (1, 2, 5) if step * power <= count)
