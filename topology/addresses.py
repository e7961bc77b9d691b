"""Names in one form: bus addresses however a tool writes them, ids in the order people count in."""

from __future__ import annotations

import re
from functools import lru_cache

_DIGITS = re.compile(r"([0-9]{1,18})")


@lru_cache(maxsize=1 << 14)
def canonical_address(address: str) -> str:
    """A PCI address in the form of sysfs: `00000000:19:00.0` and `19:00.0` read `0000:19:00.0`; lower case."""
    text = address.strip().lower()
    if text.count(":") == 1:
        text = f"0000:{text}"
    domain, _, rest = text.partition(":")
    return f"{domain.lstrip('0').rjust(4, '0')}:{rest}"


def canonical_guid(guid: str) -> str:
    """A GUID as 16 lower-case digits: `0xa088c203:0012:0034`, `a088:c203:0012:0034` and short forms read alike."""
    return guid.strip().lower().removeprefix("0x").replace(":", "").rjust(16, "0")


def natural(component: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key that reads numbers as numbers: gpu2 before gpu10."""
    pieces: list[tuple[int, int | str]] = [(1, piece) for piece in _DIGITS.split(component)]
    pieces[1::2] = [(0, int(digits)) for _, digits in pieces[1::2]]
    return tuple(pieces)
