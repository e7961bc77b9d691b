"""One line of NCCL's debug log: who wrote it, how loud, and what it says.

`host:pid:tid [device] NCCL INFO ...`; a WARN names file, line and, of late, function too; CALL lines have no device.
Whatever a launcher, a scheduler or NCCL_DEBUG_TIMESTAMP_LEVELS put before the host is kept as it stands.
Source: captures nccl/nccl-info-*, nccl/nccl-warn-*; NVIDIA/nccl src/debug.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..plain import without_escapes

_BEGINS = re.compile(
    r"(?<![\w.\-])(?P<host>[A-Za-z0-9][\w.\-]{0,253}):(?P<pid>\d{1,10}):(?P<tid>\d{1,10}) (?:\[(?P<device>\d{1,4})\] )?"
    r"(?:(?P<where>[\w./\-]{1,120}:\d{1,6}) )?(?:\((?P<function>[\w:~<>]{1,80})\) )?"
    r"NCCL (?P<level>INFO|WARN|CALL|TRACE|ABORT) ?"
)
_LONGEST_BEFORE = 120


@dataclass(frozen=True, slots=True)
class FromProcess:
    """Which process of a job says it."""

    host: str
    pid: int
    device: int | None
    """CUDA device that is current in the writing thread: the local rank where each process sees all GPUs."""
    before: str
    """What stands before the host: a date, a launcher's rank (`[1,3]<stdout>:`), a pod; empty mostly."""


@dataclass(frozen=True, slots=True)
class LogLine(FromProcess):
    """A line of NCCL's own."""

    level: str
    """`INFO`, `WARN`, `CALL`, `TRACE` or `ABORT`."""
    where: str
    """`ib_plugin.c:1615`, of warnings; else empty."""
    function: str
    text: str

    @property
    def origin(self) -> tuple[str, int, int | None, str]:
        """The fields of `FromProcess`."""
        return self.host, self.pid, self.device, self.before


def has_nccl_lines(text: str) -> bool:
    """True where some line is NCCL's."""
    return _BEGINS.search(without_escapes(text)) is not None


def nccl_lines(line: str) -> Iterator[LogLine]:
    """NCCL's lines on one line of a file: none, one, or several where processes wrote over each other."""
    if "NCCL " not in line:
        return
    plain = without_escapes(line)
    starts = list(_BEGINS.finditer(plain))
    ends = [found.start() for found in starts[1:]] + [len(plain)]
    ended = 0
    for found, end in zip(starts, ends, strict=False):
        yield LogLine(
            host=found["host"],
            pid=int(found["pid"]),
            device=int(found["device"]) if found["device"] else None,
            before=plain[ended : found.start()].strip()[-_LONGEST_BEFORE:],
            level=found["level"],
            where=found["where"] or "",
            function=found["function"] or "",
            text=plain[found.end() : end].strip(),
        )
        ended = end
