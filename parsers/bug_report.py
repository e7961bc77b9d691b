"""The report of nvidia-bug-report.sh, cut into its sections as it streams by.

A rule of underscores stands above each section's command, `*** /path` above each file, with `*** ls: ` of it below. The
first section tells date and kernel. Source: the script in NVIDIA's driver packages, 450 to 580.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .tool import NumberedLines

MOST_BLANK = 3
"""Blank lines between a rule and the command below it."""
_BEGINS = re.compile(r"\s{0,200}_{20,200}[ \t]{0,80}\r?\n")
_SAYS = "NVIDIA bug report log file"
_RULE = re.compile(r"_{20,200}\s{0,80}")
_FILE = re.compile(r"\*\*\* (/\S{1,400})\s{0,80}")
_LISTED = "*** ls:"
_LONGEST_COMMAND = 400


@dataclass(frozen=True, slots=True)
class ReportSection:
    """One command's output or one file; its lines are gone once the next section is asked for."""

    command: str
    """As it stands in the heading; `cat /path` of a file."""
    first_line: int
    lines: Iterator[tuple[int, str]]


def is_bug_report(head: str) -> bool:
    """Whether a file that begins so is such a report, or a piece of one from a rule on."""
    return _BEGINS.match(head) is not None or _SAYS in head[:4096]


def sections(lines: NumberedLines) -> Iterator[ReportSection]:
    """Its sections, in memory of a line."""
    report = _Report(iter(lines))
    while report.goes_on:
        body = report.body()
        yield ReportSection(report.command, report.first_line, body)
        for _ in body:
            pass


class _Report:
    """Reads up to the next heading and remembers what it says."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self.command, self.first_line = "", 1
        self.goes_on = True

    def body(self) -> Iterator[tuple[int, str]]:
        """Lines below the heading, without rules."""
        below_rule = 0
        for number, line in self._lines:
            if below_rule:
                below_rule -= 1
                if line and not line.isspace() and line[0] != "_":
                    return self._head(number, line)
            if line[:1] == "_" and _RULE.fullmatch(line):
                below_rule = MOST_BLANK + 1
            elif line[:1] == "*" and _FILE.fullmatch(line):
                return self._head(number, line)
            elif not line.startswith(_LISTED):
                yield number, line
        self.goes_on = False

    def _head(self, number: int, line: str) -> None:
        file = _FILE.fullmatch(line)
        self.command = f"cat {file[1]}" if file else line.strip()[:_LONGEST_COMMAND]
        self.first_line = number
