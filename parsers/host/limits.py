"""Limits on what a process may use: `ulimit -a`, and `/proc/PID/limits`.

bash names each limit with its unit and letter, `max locked memory (kbytes, -l) 64`; the kernel prints soft and hard.
Source: bash builtins/ulimit.def; Linux fs/proc/base.c, lnames and proc_pid_limits; getrlimit(2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool

LOCKED_MEMORY = "locked memory"


@dataclass(frozen=True, slots=True)
class ResourceLimit:
    """One limit; infinite where it is printed as unlimited."""

    name: str
    """In lower case, without `max`: `locked memory`, `open files`."""
    soft: float
    """Bytes where the unit is one of bytes, else as printed."""
    hard: float | None = None
    """None where only one was printed."""


_BASH = re.compile(
    r"\s{0,8}([A-Za-z][A-Za-z /-]{2,40}?)\s{1,40}\((?:([a-z0-9 -]{1,16}), )?-[a-zA-Z]\)\s{1,8}(\d{1,20}|unlimited)\s*"
)
_PROC = re.compile(
    r"\s{0,8}(Max [a-z -]{2,40}?)\s{2,40}(\d{1,20}|unlimited)\s{1,30}(\d{1,20}|unlimited)(?:\s{1,30}(\w{1,16}))?\s*"
)
_HEADING = re.compile(r"\s{0,8}Limit\s{2,40}Soft Limit\s{2,40}Hard Limit\s{2,40}Units\s*")
_BYTES = {"kbytes": 1024, "bytes": 1, "512 bytes": 512}


def parse_limits(text: str) -> Parsed[ResourceLimit]:
    """Read both forms, whole or some of their lines."""
    parsed = Parsed[ResourceLimit]()
    for number, line in numbered(without_escapes(text)):
        if limit := _limit(line):
            parsed.add(limit)
        elif line.strip() and not _HEADING.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _limit(line: str) -> ResourceLimit | None:
    if found := _BASH.fullmatch(line):
        return ResourceLimit(_name(found[1]), _value(found[3]) * _BYTES.get(found[2] or "", 1))
    if found := _PROC.fullmatch(line):
        return ResourceLimit(_name(found[1]), _value(found[2]), _value(found[3]))
    return None


def _name(text: str) -> str:
    return text.lower().removeprefix("max ").strip()


def _value(text: str) -> float:
    return inf if text == "unlimited" else float(text)


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)]
    return bool(lines) and all(_limit(line) or _HEADING.fullmatch(line) for line in lines[:64])


TOOL = Tool("ulimit", _recognizes, parse_limits, file_names=("*ulimit*", "*limits*"))
