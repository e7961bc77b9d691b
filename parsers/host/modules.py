"""`lsmod`: the kernel modules that are loaded, and what uses them; an excerpt lacks the heading.

Source: lsmod(8), kmod tools/lsmod.c: name, size in bytes, use count, users with commas.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class KernelModule:
    """One loaded module."""

    name: str
    size: int
    used: int
    users: tuple[str, ...] = ()


_MODULE = re.compile(r"([A-Za-z_][\w-]{0,63}) {1,40}(\d{1,12}) {1,8}(-?\d{1,6})(?: {1,4}([\w,-]{1,4000}))?\s*")
_HEADING = re.compile(r"Module\s{1,40}Size\s{1,8}Used by\s*")


def parse_modules(text: str) -> Parsed[KernelModule]:
    """Read a whole list or some of its lines."""
    parsed = Parsed[KernelModule]()
    for number, line in numbered(without_escapes(text)):
        if found := _MODULE.fullmatch(line):
            users = tuple(name for name in (found[4] or "").split(",") if name)
            parsed.add(KernelModule(found[1].replace("-", "_"), int(found[2]), int(found[3]), users))
        elif line.strip() and not _HEADING.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)]
    if any(_HEADING.fullmatch(line) for line in lines):
        return True
    found = [_MODULE.fullmatch(line) for line in lines[:400]]
    return bool(found) and all(found) and any(one and (one[4] or int(one[2]) >= 4096) for one in found)


TOOL = Tool("lsmod", _recognizes, parse_modules, file_names=("*lsmod*", "*modules*"))
