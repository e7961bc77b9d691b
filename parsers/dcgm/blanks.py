"""The numbers with which DCGM says that it has no value: the last below 2^63, or 2^47 and up where it is a float.

Source: NVIDIA/DCGM dcgmlib/dcgm_structs.h (DCGM_INT64_BLANK, DCGM_FP64_BLANK and what is counted from them).
"""

from __future__ import annotations

from ..parsed import Missing

BLANK_INT64 = 0x7FFFFFFFFFFFFFF0
BLANK_FP64 = 140737488355328.0
_REASONS = (Missing.NOT_APPLICABLE, Missing.UNREADABLE, Missing.NOT_SUPPORTED, Missing.NOT_PERMITTED)
"""Blank, not found, not supported, not permitted: in this order from the blank on."""
_RESERVED = 16


def missing_of_number(number: int | float) -> Missing | None:
    """Why there is no value; None of a value. 2^47 as an integer is one."""
    blank = BLANK_FP64 if isinstance(number, float) else BLANK_INT64
    above = number - blank
    if not 0 <= above < _RESERVED:
        return None
    return _REASONS[int(above)] if above < len(_REASONS) else Missing.UNREADABLE
