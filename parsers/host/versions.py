"""Short outputs that name a version: the kernel, the firmware of the machine, OFED, the fabric manager.

Source: coreutils uname.c; Linux drivers/firmware/dmi-id.c (`grep -H . /sys/class/dmi/id/*`); the script ofed_info of
MLNX_OFED and DOCA; `nv-fabricmanager --version` as NVIDIA's fabric manager guide shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class SoftwareVersion:
    """One version of one thing that a node runs."""

    what: str
    """`kernel`, `BIOS`, `OFED`, `fabric manager`, `machine`, `board`."""
    version: str
    host: str = ""


MOST_LINES = 64
"""By which an output is recognized."""

_UNAME = re.compile(r"Linux (\S{1,253}) (\d\S{1,120}) #\d{1,6}\b.{0,300}")
_DMI = re.compile(r"(?:/sys/class/dmi/id/|/sys/devices/virtual/dmi/id/)(\w{1,40}):(.{1,120})")
_OFED = re.compile(r"((?:MLNX_OFED_LINUX|OFED-internal|MLNX_EN|DOCA_OFED|doca)-[\w.-]{3,80}):?(?: \(.{0,80}\):?)?\s*")
_MANAGER = re.compile(r"Fabric Manager version is ?: ?(\d[\w.]{1,40})\s*", re.IGNORECASE)
_DMI_NAMES = {"bios_version": "BIOS", "product_name": "machine", "board_name": "board"}


def _uname(line: str) -> SoftwareVersion | None:
    found = _UNAME.fullmatch(line)
    return SoftwareVersion("kernel", found[2], found[1]) if found else None


def _dmi(line: str) -> SoftwareVersion | None:
    found = _DMI.fullmatch(line)
    return SoftwareVersion(_DMI_NAMES[found[1]], found[2].strip()) if found and found[1] in _DMI_NAMES else None


def _ofed(line: str) -> SoftwareVersion | None:
    found = _OFED.fullmatch(line)
    return SoftwareVersion("OFED", found[1]) if found else None


def _manager(line: str) -> SoftwareVersion | None:
    found = _MANAGER.fullmatch(line)
    return SoftwareVersion("fabric manager", found[1]) if found else None


def _tool(name: str, read: Callable[[str], SoftwareVersion | None], *file_names: str, unconfirmed: str = "") -> Tool:
    """A tool each of whose lines is read alone."""

    def parse(text: str) -> Parsed[SoftwareVersion]:
        parsed = Parsed[SoftwareVersion]()
        for number, line in _lines(text):
            if version := read(line):
                parsed.add(version)
            elif not _DMI.fullmatch(line):
                parsed.cannot_read(number, line)
        return parsed

    def recognizes(head: str) -> bool:
        lines = [line for _, line in _lines(head)][:MOST_LINES]
        return any(read(line) for line in lines) and all(read(line) or _DMI.fullmatch(line) for line in lines)

    return Tool(name, recognizes, parse, file_names=file_names, unconfirmed=unconfirmed)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in numbered(without_escapes(text)):
        if line.strip() and not prompt_of(line):
            yield number, line.rstrip()


TOOLS: tuple[Tool, ...] = (
    _tool("uname -a", _uname, "*uname*"),
    _tool("/sys/class/dmi/id", _dmi, "*dmi*"),
    _tool("ofed_info -s", _ofed, "*ofed*", unconfirmed="the script of MLNX_OFED"),
    _tool("nv-fabricmanager --version", _manager, unconfirmed="the guide of NVIDIA's fabric manager"),
)
