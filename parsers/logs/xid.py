"""`NVRM: Xid` lines: the driver reports a GPU error, with what the text of each number says in figures.

Source: captures kernel-log/*; xid.toml `log_patterns`; the driver's open kernel module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..pci import bus_address
from .xid_details import XidDetail, detail_of


@dataclass(frozen=True, slots=True)
class Xid:
    """`NVRM: Xid (PCI:0000:52:00): 48, pid=7, name=python, ...`: the driver reports a GPU error."""

    pci: str
    code: int
    text: str
    """What follows the code, without pid and name."""
    pid: int | None = None
    process: str = ""
    """The process that noticed, which is seldom the one to blame."""
    link: int | None = None
    """NVLink number, where the line names one; `Link -1` names none."""
    cause: int | None = None
    """The earlier Xid this one is said to follow (driver 590 and later)."""
    mig_instance: int | None = None
    detail: XidDetail | None = None
    """What the text says in figures, where its form is known."""


PCI = r"[0-9a-fA-F:.]{4,15}[0-9a-fA-F]"
"""A bus address in any of its forms, for `pci.bus_address` to judge."""
_XID = re.compile(rf"NVRM: Xid \((?:PCI:)?({PCI})(?: GPU-I:(\d{{1,3}}))?\): (\d{{1,4}})(?:,\s{{0,8}}(.*))?$", re.DOTALL)
_PID = re.compile(r"pid=('?[^,]{0,64}'?)(?:,\s{0,8}|$)")
_NAME = re.compile(r"name=([^,]{0,256})(?:,\s{0,8}|$)")
_LINK = re.compile(r"\blink (-?\d{1,3})\b", re.IGNORECASE)
_CAUSE = re.compile(r"caused by previous Xid (\d{1,4})\b")


def read_xid(message: str) -> Xid | None:
    """The Xid of one message without its time; None where it is no such line, or breaks off."""
    found = _XID.search(message)
    address = bus_address(found[1]) if found else None
    if not found or not address:
        return None
    code, text = int(found[3]), found[4] or ""
    pid = process = ""
    if named := _PID.match(text):
        pid, text = named[1], text[named.end() :]
    if named := _NAME.match(text):
        process, text = named[1], text[named.end() :]
    link, cause = _LINK.search(text), _CAUSE.search(text)
    return Xid(
        pci=address,
        code=code,
        text=text.strip(),
        pid=int(pid) if pid.isdecimal() and len(pid) < 12 else None,
        process="" if process == "<unknown>" else process,
        link=int(link[1]) if link and int(link[1]) >= 0 else None,
        cause=int(cause[1]) if cause else None,
        mig_instance=int(found[2]) if found[2] else None,
        detail=detail_of(code, text.strip()),
    )
