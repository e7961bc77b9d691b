"""How nvidia-smi prints single values. Each function gives None for what is no such value."""

from __future__ import annotations

import re
from functools import lru_cache

from ..parsed import SHOWN, Missing
from ..value import missing_of, number_of

_WHOLE = re.compile(r"([+-]?\d{1,19}) {0,4}(?:[A-Za-z%][\w%()/]{0,15})?")
_HEX = re.compile(r"0x([0-9a-fA-F]{1,16})")
_FLAGS = {
    "yes": True,
    "no": False,
    "true": True,
    "false": False,
    "active": True,
    "not active": False,
    "1": True,
    "0": False,
}
_ANSWERS = frozenset({"none", "disabled"})
"""Words that stand for no value with other tools, and for an answer here: recovery action `None`, ECC `Disabled`."""


@lru_cache(maxsize=2048)
def why_missing(text: str) -> Missing | None:
    """Why nothing can be read from `text`, at most SHOWN characters of a value; None where it is a value."""
    return None if text.lower() in _ANSWERS else missing_of(text)


def word(text: str) -> str | None:
    """A mode, name or version."""
    return text[:SHOWN] if why_missing(text[:SHOWN]) is None else None


def status(text: str) -> str | None:
    """How something ended, where `Unknown Error` is an answer and no failure to read."""
    why = why_missing(text[:SHOWN])
    return None if why in (Missing.NOT_APPLICABLE, Missing.LOST, Missing.NOT_PERMITTED) else text[:SHOWN]


def whole(text: str) -> int | None:
    """`143771 MiB`, `16x`, `-8 C`, `640 bank(s)`, `0`."""
    found = _WHOLE.fullmatch(text[:64])
    return int(found[1]) if found else None


def number(text: str) -> float | None:
    """`77.67 W`."""
    return number_of(text)


def flag(text: str) -> bool | None:
    """`Yes`, `False`, `Not Active`."""
    return _FLAGS.get(text.lower()) if len(text) < 16 else None


def bits(text: str) -> int | None:
    """`0x0000000000000004`."""
    found = _HEX.fullmatch(text)
    return int(found[1], 16) if found else None
