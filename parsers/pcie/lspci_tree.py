"""`lspci -t` and -tv: which device stands below which bridge.

A line goes on from the branch point above its first `+-` or `\\-`: the bus that began in that column.
Source: pciutils ls-tree.c; the trees in NVIDIA/nccl issue 246. No capture.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes


@dataclass(frozen=True, slots=True)
class TreeDevice:
    """One device of the tree."""

    address: str
    parent: str | None
    """The bridge above; None on a root bus."""
    secondary: int | None = None
    """First and last bus below, of a bridge."""
    subordinate: int | None = None
    name: str = ""
    """With -v: vendor and device, of what is no bridge."""


@dataclass(frozen=True, slots=True)
class _Bus:
    """A bus whose devices are listed, and the column in which each of them branches off."""

    column: int
    name: str
    """`0000:16`; empty for the trunk from which the root buses branch."""
    bridge: str | None


_TRUNK = re.compile(r"[ |]{0,400}")
_ROOT = re.compile(r"\[([0-9a-f]{4,8}:[0-9a-f]{2})(?:-[0-9a-f]{2})?\]-?")
_DEVICE = re.compile(r"([0-9a-f]{2}\.[0-7])(?:-\[([0-9a-f]{2})(?:-([0-9a-f]{2}))?\]-{1,2}|  (\S.{0,300})|$)")
_BRANCH = re.compile(r"[+\\]-")
_REGION = re.compile(r"[ |]{2,400}(?:Region \d|Memory at |I/O ports at |\[(?:virtual|enhanced)\] )")
_BEGINS = re.compile(r"^-(?:[+\\]-)?\[[0-9a-f]{4,8}:[0-9a-f]{2}(?:-[0-9a-f]{2})?\]-", re.MULTILINE)


def parse_lspci_tree(text: str) -> Parsed[TreeDevice]:
    """Read the tree; a line that hangs on no bus above it is noted as unread."""
    parsed = Parsed[TreeDevice]()
    buses: list[_Bus] = []
    for number, line in numbered(without_escapes(text)):
        if not line.strip() or prompt_of(line) or _REGION.match(line):
            continue
        if not _follow(line.rstrip(), buses, parsed):
            parsed.cannot_read(number, line, "hangs on no bus above it")
    return parsed


def prints_tree(head: str) -> bool:
    """True of a text with a root bus at the beginning of a line."""
    return bool(_BEGINS.search(without_escapes(head)))


def _follow(line: str, buses: list[_Bus], parsed: Parsed[TreeDevice]) -> bool:
    """Read a line from left to right, each bridge leading to the next bus; false where it breaks off."""
    begun = _begin(line, buses)
    if begun is None:
        return False
    at, bus = begun
    while True:
        if not bus.name:
            root = _ROOT.match(line, at)
            if not root:
                return False
            bus, at = _Bus(0, root[1], None), root.end()
            at, bus = _enter(line, at, bus, buses)
            if at == len(line):
                return True
        found = _DEVICE.match(line, at)
        if not found:
            return False
        address = bus_address(f"{bus.name}:{found[1]}") or ""
        first = int(found[2], 16) if found[2] else None
        last = int(found[3], 16) if found[3] else first
        parsed.add(TreeDevice(address, bus.bridge, first, last, found[4] or ""))
        if found[2] is None:
            return True
        at, bus = _enter(line, found.end(), _Bus(0, f"{bus.name[:-2]}{found[2]}", address), buses)
        if at == len(line):
            return True


def _begin(line: str, buses: list[_Bus]) -> tuple[int, _Bus] | None:
    """Where the line's first device or root stands, and the bus it is on."""
    trunk = _TRUNK.match(line)
    at = trunk.end() if trunk else 0
    if line.startswith("-"):
        buses.clear()
        trunk_bus = _Bus(1, "", None)
        if _BRANCH.match(line, 1):
            buses.append(trunk_bus)
            return 3, trunk_bus
        return 1, trunk_bus
    while buses and buses[-1].column > at:
        buses.pop()
    if not buses or buses[-1].column != at or not _BRANCH.match(line, at):
        return None
    return at + 2, buses[-1]


def _enter(line: str, at: int, bus: _Bus, buses: list[_Bus]) -> tuple[int, _Bus]:
    """Where the first device of a bus stands; a bus with several is remembered by its column."""
    if _BRANCH.match(line, at):
        bus = _Bus(at, bus.name, bus.bridge)
        buses.append(bus)
        return at + 2, bus
    if line.startswith("--", at):
        return at + 2, bus
    return len(line) if at >= len(line) or not line[at:].strip("-") else at, bus
