"""One printed value: a number with its unit, or the words with which tools say that there is none."""

from __future__ import annotations

import re

from .parsed import Missing

_NUMBER = re.compile(r"\s*([+-]?\d{1,30}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?)\s*(?:([A-Za-z%/°µ][\w%/.°µ-]{0,15}))?\s*")
_WORDS: tuple[tuple[re.Pattern[str], Missing], ...] = (
    (re.compile(r"gpu is lost|device is lost", re.IGNORECASE), Missing.LOST),
    (re.compile(r"insufficient permissions?|permission denied|not permitted", re.IGNORECASE), Missing.NOT_PERMITTED),
    (re.compile(r"unknown error|err!|error reading|\[unknown\]|not found", re.IGNORECASE), Missing.UNREADABLE),
    (re.compile(r"not supported|deprecated|unsupported", re.IGNORECASE), Missing.NOT_SUPPORTED),
    (re.compile(r"n/?a|none|-+|--|ns|disabled", re.IGNORECASE), Missing.NOT_APPLICABLE),
)
"""Looked for in this order; the last stands only for a whole value."""


def missing_of(text: str) -> Missing | None:
    """Why the value is not there, None where there is one: `[N/A]`, `N/A`, `-`, `GPU is lost`, `ERR!`, ..."""
    value = text.strip().strip("[]()<>").strip()
    for words, why in _WORDS[:-1]:
        if words.search(value[:200]):
            return why
    words, why = _WORDS[-1]
    return why if not value or words.fullmatch(value) else None


def number_of(text: str) -> float | None:
    """`77.67 W` -> 77.67, `16x` -> None, `N/A` -> None: the number that begins a value, its unit left aside."""
    found = _NUMBER.fullmatch(text[:80])
    return float(found[1]) if found else None


def integer_of(text: str) -> int | None:
    """`143771 MiB` -> 143771; None for anything that is no whole number. Exact: counters have up to 64 bits."""
    found = _NUMBER.fullmatch(text[:80])
    if not found:
        return None
    if found[1].lstrip("+-").isdecimal():
        return int(found[1])
    number = float(found[1])
    return int(number) if number.is_integer() else None
