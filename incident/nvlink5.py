"""What the register words of Xid 144 to 150 say: the NVLink errors of Blackwell, by unit and status.

Typed from `facts/xid.toml` `nvlink5`, the decoding sheet of NVIDIA's Xid catalog. Drivers from R575 on lay out the
first word differently from older ones; a line does not tell its driver, so both layouts are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Literal

import msgspec

from .facts import table

CODES = range(144, 151)


class Layout(StrEnum):
    """How the driver lays out the first word."""

    BEFORE_R575 = "drivers before R575"
    FROM_R575 = "drivers from R575 on"


class SubCode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the decoding sheet."""

    xid: int
    unit: str
    """`RLW_SRC_TRACK`; two names divided by a slash where drivers differ."""
    mask_before_r575: str
    """32 characters from bit 31 down: `0`, `1`, or `-` for any."""
    mask_from_r575: str
    promoted_mask_before_r575: str = ""
    """The same for an event that was made graver than it is by itself."""
    promoted_mask_from_r575: str = ""
    promoted_action: str = ""
    error_status: str
    """`0x00000008`, several divided by a slash, or empty for any."""
    nvidia_immediate: str
    nvidia_investigate: str
    action: str
    investigate: str
    severity: Literal["non-fatal", "fatal", "link fatal"]
    domain: Literal["hardware", "software", "firmware", "either", "none"]
    local_effect: tuple[str, ...]
    """What else this GPU logs because of it."""
    remote_effect: tuple[str, ...]
    """What its peers may see."""
    down_reason_bits: str = ""
    down_side: str = ""
    """Which side took the link down: `local`, `peer`, `cable`, `si`, ..."""
    down_reason: str = ""
    note: str = ""
    source: str

    @property
    def units(self) -> tuple[str, ...]:
        """Its names."""
        return tuple(self.unit.split("/"))

    @property
    def statuses(self) -> tuple[int, ...]:
        """Values of the second word; none for any."""
        return tuple(int(word, 16) for word in self.error_status.split("/") if word)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A row that fits, and how."""

    row: SubCode
    layout: Layout
    promoted: bool
    """Made graver than it is by itself: `row.promoted_action` stands."""

    @property
    def action(self) -> str:
        """What to do at once, in the words of the Xid table."""
        return self.row.promoted_action if self.promoted else self.row.action


@cache
def sub_codes() -> tuple[SubCode, ...]:
    """All rows in the order of the sheet."""
    return tuple(msgspec.convert(table("xid")["nvlink5"]["decode"], list[SubCode]))


def decode(xid: int, unit: str, words: Sequence[int]) -> tuple[Decoded, ...]:
    """The rows that an event fits: one, mostly; none where the words are too few or not known.

    Several where a status has several bits, or where an older driver does not tell two pipes of one unit apart.
    """
    if len(words) < 2:
        return ()
    fitting = [found for row in sub_codes() if row.xid == xid and unit in row.units if (found := _fit(row, words[0]))]
    exact = tuple(found for found in fitting if not found.row.statuses or words[1] in found.row.statuses)
    return exact or tuple(found for found in fitting if _is_among(found.row, words[1]))


def _fit(row: SubCode, interrupt: int) -> Decoded | None:
    for layout, mask, promoted in (
        (Layout.FROM_R575, row.mask_from_r575, False),
        (Layout.BEFORE_R575, row.mask_before_r575, False),
        (Layout.FROM_R575, row.promoted_mask_from_r575, True),
        (Layout.BEFORE_R575, row.promoted_mask_before_r575, True),
    ):
        if mask and _matches(mask, interrupt):
            return Decoded(row, layout, promoted)
    return None


def _matches(mask: str, word: int) -> bool:
    care = int("".join("0" if bit == "-" else "1" for bit in mask), 2)
    wanted = int(mask.replace("-", "0"), 2)
    return word & care == wanted


def _is_among(row: SubCode, status: int) -> bool:
    """True where the row's single bit is one of several that are set."""
    return any(value.bit_count() == 1 and value & status for value in row.statuses)
