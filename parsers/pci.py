"""PCI bus addresses, which every tool writes its own way, in one form: `0000:19:00.0`, lower case."""

from __future__ import annotations

import re

_ADDRESS = re.compile(
    r"(?:PCI:)?(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?",
    re.IGNORECASE,
)


def bus_address(text: str) -> str | None:
    """`PCI:0000:9B:00`, `00000000:9B:00.0`, `9b:00.0` -> `0000:9b:00.0`; None for anything else.

    Xid lines leave the function out, nvidia-smi writes eight digits of domain, and short forms leave the domain out.
    """
    found = _ADDRESS.fullmatch(text.strip())
    if not found:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function or '0'}".lower()
