"""PyTorch's NCCL watchdog: which rank waited for which collective, and how far its process group had come.

Several ranks write to one file. Up to 1.13 lines begin `[E ProcessGroupNCCL.cpp:737] [Rank 1]` and give no element
counts; since then `[rank7]:[E816 01:45:40.18 ProcessGroupNCCL.cpp:607] [Rank 7]` (month and day), and process groups as
`[PG 0 (default_pg) Rank 7]` or `[PG ID 0 PG GUID 0(default_pg) Rank 7]`. The rank that stays silent, or that is in
another collective at the same sequence number, is the one to look at.
Source: captures nccl/pytorch-watchdog-*; pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp for the last two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..parsed import MOST_READINGS, Parsed, numbered
from ..plain import without_escapes
from ..tool import NumberedLines, Tool
from .log_line import has_nccl_lines


@dataclass(frozen=True, slots=True)
class WatchdogTimeout:
    """A rank gave up waiting for a collective."""

    rank: int
    process_group: str | None
    """None where the line names none, as mostly."""
    sequence: int
    operation: str
    """`ALLREDUCE`, `_REDUCE_SCATTER_BASE`, ..."""
    elements_in: int | None
    elements_out: int | None
    timeout_ms: int
    ran_ms: int
    stamp: str
    """`0816 01:45:40.183009389`, month and day first; empty in old versions."""


@dataclass(frozen=True, slots=True)
class WatchdogState:
    """How far a rank's process group had come when it was stopped."""

    rank: int
    process_group: str | None
    process_group_name: str | None
    failed: int | None
    """Sequence number of the work that failed; None where the rank was told by another."""
    last_enqueued: int
    last_completed: int
    stamp: str


_BEGINS = "ProcessGroupNCCL.cpp"
_OPENS = re.compile(r"Watchdog caught collective operation timeout|[Ll]ast enqueued NCCL work")
_RANK = re.compile(
    r"\[(?:PG (?:ID )?(?P<group>\w{1,40}) ?(?:PG GUID [\w.\-]{1,60} ?)?(?:\((?P<name>[^)\]]{1,80})\))? ?)?"
    r"[Rr]ank (?P<rank>\d{1,7})\]"
)
_TIMEOUT = re.compile(
    r"Watchdog caught collective operation timeout: ?WorkNCCL\(SeqNum=(\d{1,19}), ?OpType=(\w{1,60}),"
    r"(?: ?NumelIn=(\d{1,19}), ?NumelOut=(\d{1,19}),)? ?Timeout\(ms\)=(\d{1,19})\) ?ran for (\d{1,19}) milliseconds"
)
_STATE = re.compile(r"[Ll]ast enqueued NCCL work: (-?\d{1,19}), ?last completed(?: NCCL work)?: (-?\d{1,19})")
_FAILED = re.compile(r"(?:detected by watchdog at work|Timeout at NCCL work): (\d{1,19})")
_STAMP = re.compile(r"\[[EWIF](\d{3,4}) (\d\d:\d\d:\d\d(?:\.\d{1,9})?) ")
_WRAPPED = 6
"""Lines over which a terminal may have spread one."""
_BEFORE = 400
"""Characters before a timeout in which its rank is looked for."""


@dataclass(slots=True)
class Watchdog:
    """Finds the watchdog's lines among others; what is printed twice, as a thread ends, is read once."""

    parsed: Parsed[Any]
    _seen: set[WatchdogTimeout | WatchdogState] = field(default_factory=set)
    _started: list[str] = field(default_factory=list)
    """A line that is not whole yet, and those that follow it."""
    _began: int = 0

    def take(self, number: int, line: str) -> None:
        """Look at one line."""
        if _BEGINS in line or _opens(line):
            if _BEGINS in line or _OPENS.search("".join(self._started)):
                self.end()
            self._began = self._began if self._started else number
            self._started.append(line)
        elif self._started:
            self._started.append(line)
        if self._started and (self._finish() or len(self._started) == _WRAPPED):
            self.end()

    def end(self) -> None:
        """No more belongs to the line that was begun: what broke off can't be read."""
        if self._started and not self._finish() and _OPENS.search("".join(self._started)):
            self.parsed.cannot_read(self._began, self._started[0], "breaks off")
        self._started = []

    def _finish(self) -> bool:
        """True where what has been gathered is a whole line."""
        readings = _readings("".join(self._started)) or _readings(" ".join(self._started))
        for reading in readings:
            if reading not in self._seen and len(self._seen) < MOST_READINGS:
                self._seen.add(reading)
                self.parsed.add(reading)
        return bool(readings)


def _opens(line: str) -> bool:
    return ("Watchdog" in line or "enqueued" in line) and _OPENS.search(line) is not None


def _readings(line: str) -> list[WatchdogTimeout | WatchdogState]:
    plain = without_escapes(line)
    stamp = _stamp(plain)
    readings: list[WatchdogTimeout | WatchdogState] = []
    for found in _TIMEOUT.finditer(plain):
        rank = _last_rank(plain[max(0, found.start() - _BEFORE) : found.start()])
        if rank:
            sequence, operation, elements_in, elements_out, timeout, ran = found.groups()
            elements = (int(elements_in) if elements_in else None, int(elements_out) if elements_out else None)
            readings.append(
                WatchdogTimeout(
                    int(rank["rank"]), rank["group"], int(sequence), operation, *elements, int(timeout), int(ran), stamp
                )
            )
    return readings + _states(plain, stamp)


def _states(plain: str, stamp: str) -> list[WatchdogTimeout | WatchdogState]:
    found = _STATE.search(plain)
    rank = _last_rank(plain[: found.start()][-_BEFORE * 2 :]) if found else None
    if not found or not rank:
        return []
    failed = _FAILED.search(plain)
    work = int(failed[1]) if failed else None
    return [WatchdogState(int(rank["rank"]), rank["group"], rank["name"], work, int(found[1]), int(found[2]), stamp)]


def _last_rank(text: str) -> re.Match[str] | None:
    """The bracket nearest to what it says."""
    ranks = list(_RANK.finditer(text))
    return ranks[-1] if ranks else None


def _stamp(plain: str) -> str:
    found = _STAMP.search(plain[:1000])
    return f"{found[1]:0>4} {found[2]}" if found else ""


def parse_pytorch_watchdog(text: str) -> Parsed[Any]:
    """Read what a job's processes printed; lines of others are passed over."""
    return read_pytorch_watchdog(numbered(text))


def read_pytorch_watchdog(lines: NumberedLines) -> Parsed[Any]:
    """Read line by line."""
    parsed = Parsed[Any]()
    watchdog = Watchdog(parsed)
    for number, line in lines:
        watchdog.take(number, line)
    watchdog.end()
    return parsed


def _is_watchdog(head: str) -> bool:
    """NCCL's own log, when it is in the same file, reads these lines too."""
    return _OPENS.search(head) is not None and not has_nccl_lines(head)


PYTORCH_WATCHDOG = Tool(
    name="PyTorch ProcessGroupNCCL watchdog",
    recognizes=_is_watchdog,
    parse=parse_pytorch_watchdog,
    parse_lines=read_pytorch_watchdog,
    file_names=("*watchdog*", "*torch*.log", "*torchrun*.log"),
)
