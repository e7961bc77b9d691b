"""NCCL's bus ids: a PCI address as one hexadecimal number, `9b000` for 0000:9b:00.0.

From the right: function (1 digit), device (2), bus (2), domain. Source: NVIDIA/nccl src/misc/utils.cc busIdToInt64.
"""

from __future__ import annotations

import re

_BUS_ID = re.compile(r"(?:0x)?([0-9a-f]{1,12})", re.IGNORECASE)
_SHORTEST = 3
"""Digits of the bus id of a device on bus 0; a device index is never as long."""


def address_of_bus_id(text: str) -> str | None:
    """`18000` -> `0000:18:00.0`, `1801000` -> `0018:01:00.0`; None for anything else."""
    found = _BUS_ID.fullmatch(text)
    if not found:
        return None
    number = int(found[1], 16)
    domain, bus, device, function = number >> 20, number >> 12 & 0xFF, number >> 4 & 0xFF, number & 0xF
    return f"{domain:04x}:{bus:02x}:{device:02x}.{function:x}" if function < 8 and device < 32 else None


def index_or_address(text: str) -> tuple[int | None, str | None]:
    """What stands in the brackets behind a rank: a device index since 2.15 or so, the bus id before."""
    if len(text) < _SHORTEST and text.isascii() and text.isdigit():
        return int(text), None
    return None, address_of_bus_id(text) if len(text) >= _SHORTEST else None
