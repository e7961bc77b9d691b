"""A BMC's debug log about the power tables by which it lets GPUs draw their power.

Source: public notes on a server's BMC log (`GetGPGPUPwr`); other vendors' logs have other words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class PowerTableMiss:
    """The BMC knows no power limits for this device."""

    device: str
    """`10de:1db5`, vendor and device."""
    subsystem: str


_ASKED = re.compile(
    r"Looking for VID=0x([0-9a-fA-F]{4}) DID=0x([0-9a-fA-F]{4})(?: SVID=0x([0-9a-fA-F]{4}) SDID=0x([0-9a-fA-F]{4}))?"
)
_MISSED = re.compile(r"(?:Didn't find|did not find|no) (?:a )?power table match", re.IGNORECASE)


def parse_power_table(text: str) -> Parsed[PowerTableMiss]:
    """Read which devices were looked up in vain."""
    parsed = Parsed[PowerTableMiss]()
    asked: PowerTableMiss | None = None
    for _, line in numbered(without_escapes(text)):
        if found := _ASKED.search(line[:400]):
            vendor, device, *subsystem = ((word or "").lower() for word in found.groups())
            asked = PowerTableMiss(f"{vendor}:{device}", ":".join(subsystem).strip(":"))
        elif asked and _MISSED.search(line[:400]):
            parsed.add(asked)
            asked = None
    return parsed


def _recognizes(head: str) -> bool:
    return bool(_ASKED.search(head))


TOOL = Tool("BMC power table log", _recognizes, parse_power_table, file_names=("*bmc*",))
