"""Values out of what a node answered: each may be missing, of the wrong kind, or endless."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

LARGEST_COUNT = 1 << 62


def mappings(lines: Iterable[object]) -> list[Mapping[str, Any]]:
    """The JSON objects among some values."""
    return [line for line in lines if isinstance(line, Mapping)]


def first_of(lines: Iterable[Mapping[str, Any]], key: str) -> Mapping[str, Any]:
    """The first JSON object under a key; empty where there is none."""
    return next(iter(all_of(lines, key)), {})


def all_of(lines: Iterable[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """The JSON objects under a key, line by line."""
    return mappings(line.get(key) for line in lines)


def number(value: object) -> float:
    """A finite number as a float; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        found = float(value)
    except OverflowError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def count(value: object) -> int | None:
    """A whole number from 0; None for anything else."""
    return value if type(value) is int and 0 <= value < LARGEST_COUNT else None


def word(value: object, longest: int, but: str = " ") -> str:
    """A short printable word without any character of `but`; empty for anything else."""
    fits = isinstance(value, str) and len(value) <= longest and value.isprintable() and not set(but) & set(value)
    return str(value) if fits else ""


def driver_in_words(head: Mapping[str, Any]) -> str:
    """`, CUDA driver 13.0` of a program's first line; empty where it does not say."""
    driver = number(head.get("driver"))
    if not 1000 <= driver < 1_000_000:
        return ""
    return f", CUDA driver {int(driver) // 1000}.{int(driver) % 1000 // 10}"


def digits(value: object, length: int) -> str:
    """So many hexadecimal digits; empty for anything else."""
    fits = isinstance(value, str) and len(value) == length and all(letter in "0123456789abcdef" for letter in value)
    return str(value) if fits else ""
