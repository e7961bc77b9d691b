"""Lists of processes by number and command, as `pgrep -a` prints them: who holds the GPUs.

Source: pgrep(1), `-a`: the process id, a blank, the command line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class Process:
    """One process."""

    pid: int
    command: str
    """The command line as printed."""

    @property
    def program(self) -> str:
        """Its first word without the folder."""
        return self.command.split(" ", 1)[0].rpartition("/")[2]


_PROCESS = re.compile(r"\s{0,8}(\d{1,10}) ([A-Za-z/.\[(][^\n]{0,4000})")
MOST_SHOWN = 300


def parse_processes(text: str) -> Parsed[Process]:
    """Read one process a line."""
    parsed = Parsed[Process]()
    for number, line in numbered(without_escapes(text)):
        if found := _PROCESS.fullmatch(line.rstrip()):
            parsed.add(Process(int(found[1]), found[2][:MOST_SHOWN]))
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _recognizes(head: str) -> bool:
    lines = [line.rstrip() for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)]
    found = [_PROCESS.fullmatch(line) for line in lines[:400]]
    return len(found) >= 2 and all(found) and len({one[1] for one in found if one}) == len(found)


TOOL = Tool("pgrep -a", _recognizes, parse_processes, file_names=("*pgrep*", "*holders*"))
