"""What the registers of an Xid 74 say: the NVLink errors of Ampere and Hopper, bit by bit.

Typed from `facts/xid.toml` `xid74`, after the NVLink workflow of NVIDIA's Xid catalog.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from .codes import Hardware, Part
from .facts import table

CODE = 74


class RegisterBits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bits of one register that mean the same."""

    register: int
    """1 to 7, in the order printed."""
    bits: tuple[int, ...]
    component: Part
    hw_fault_likely: Hardware
    action: str
    """A word of `codes.action_texts("xid")`."""
    repeat_rule: str = ""
    """How often before the action is due; empty for at once."""
    meaning: str
    source: str


@dataclass(frozen=True, slots=True)
class SetBits:
    """Bits that are set, and their row."""

    row: RegisterBits
    bits: tuple[int, ...]


@cache
def register_bits() -> tuple[RegisterBits, ...]:
    """All rows in the order of the sheet."""
    return tuple(msgspec.convert(table("xid")["xid74"]["bits"], list[RegisterBits]))


def decode(registers: Sequence[int]) -> tuple[SetBits, ...]:
    """What each set bit means, together with others that mean the same; bits that no row lists come last."""
    found: dict[RegisterBits, list[int]] = {}
    unlisted: list[SetBits] = []
    for number, value in enumerate(registers, start=1):
        unknown = []
        for bit in _set_bits(value):
            row = next((row for row in register_bits() if row.register == number and bit in row.bits), None)
            if row is None:
                unknown.append(bit)
            else:
                found.setdefault(row, []).append(bit)
        if unknown:
            unlisted.append(SetBits(_unlisted(number, tuple(unknown)), tuple(unknown)))
    return (*(SetBits(row, tuple(bits)) for row, bits in found.items()), *unlisted)


def _set_bits(value: int) -> list[int]:
    return [bit for bit in range(32) if value >> bit & 1]


def _unlisted(register: int, bits: tuple[int, ...]) -> RegisterBits:
    facts: dict[str, Any] = table("xid")["xid74"]
    return RegisterBits(
        register=register,
        bits=bits,
        component=facts["component_default"],
        hw_fault_likely="possible",
        action=facts["unlisted_bits"],
        meaning="Not listed",
        source=facts["source"],
    )
