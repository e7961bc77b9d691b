"""`SXid` lines: an NVSwitch reports an error, in one line or in three.

Source: captures kernel-log/*; sxid.toml `log_patterns`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..pci import bus_address
from .xid import PCI


@dataclass(frozen=True, slots=True)
class SXid:
    """`nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 ...`: an NVSwitch error."""

    switch: int
    pci: str
    code: int
    severity: str
    """`fatal`, `nonfatal`, or empty on the lines that only add data to the one before."""
    link: int | None
    """Port of the switch."""
    text: str
    engine: int | None = None
    """`Engine instance 60` of a line that adds to the one before; mostly the port again."""
    data: tuple[int, ...] = ()
    """`Data {0x0000003c, ...}` of a line that adds to the one before."""

    @property
    def continues(self) -> bool:
        """True for a line that adds registers to an event already printed."""
        return not self.severity and self.text.startswith(("Data {", "Severity "))


_SXID = re.compile(
    rf"nvidia-nvswitch(\d{{1,3}}): SXid \((?:PCI:)?({PCI})\): (\d{{1,6}})(?:,\s{{0,8}}(.*))?$", re.DOTALL
)
_BODY = re.compile(r"(Non-fatal|Fatal)(?:,\s{0,8}(?:Link (\d{1,3})\b)?\s{0,8}(.*))?$", re.DOTALL | re.IGNORECASE)
_ENGINE = re.compile(r"Severity \d{1,3} Engine instance (\d{1,4})\b")
_DATA = re.compile(r"Data \{(0x[0-9a-fA-F]{1,8}(?:, 0x[0-9a-fA-F]{1,8}){0,31})\}")


def read_sxid(message: str) -> SXid | None:
    """The SXid of one message without its time; None where it is no such line, or breaks off."""
    found = _SXID.search(message)
    address = bus_address(found[2]) if found else None
    if not found or not address:
        return None
    rest = (found[4] or "").strip()
    body, engine, data = _BODY.match(rest), _ENGINE.match(rest), _DATA.match(rest)
    return SXid(
        switch=int(found[1]),
        pci=address,
        code=int(found[3]),
        severity=body[1].lower().replace("-", "") if body else "",
        link=int(body[2]) if body and body[2] else None,
        text=(body[3] or "").strip() if body else rest,
        engine=int(engine[1]) if engine else None,
        data=tuple(int(word, 16) for word in data[1].split(",")) if data else (),
    )
