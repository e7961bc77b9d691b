"""`lscpu`, or the lines of it about sockets and NUMA nodes.

Source: util-linux sys-utils/lscpu.c. No capture.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .numactl import NumaNode

MOST_CPUS = 8192
"""CPUs that one range is read to; Linux on x86 has no more."""


@dataclass(frozen=True, slots=True)
class CpuSockets:
    """How the CPUs of a machine are divided; None for what was not printed."""

    sockets: int | None
    numa_nodes: int | None
    model: str | None = None


_NODE = re.compile(r"\s*NUMA node(\d{1,4}) CPU\(s\):\s{0,40}([\d,\-]{0,4000})\s*")
_SOCKETS = re.compile(r"\s*Socket\(s\):\s{1,40}(\d{1,3})\s*")
_NODES = re.compile(r"\s*NUMA node\(s\):\s{1,40}(\d{1,4})\s*")
_MODEL = re.compile(r"\s*Model name:\s{1,40}(\S.{0,100})")
_OTHER = re.compile(r"\s*[A-Z][\w ().,/:+-]{1,48}:(?:\s.*)?")


def parse_lscpu(text: str) -> Parsed[CpuSockets | NumaNode]:
    """Read the summary, then the CPUs of each NUMA node; the many other lines are passed over."""
    parsed = Parsed[CpuSockets | NumaNode]()
    sockets = nodes = model = None
    cpus: list[NumaNode] = []
    for number, line in numbered(without_escapes(text)):
        if found := _NODE.fullmatch(line):
            cpus.append(NumaNode(int(found[1]), cpus_of(found[2])))
        elif found := _SOCKETS.fullmatch(line):
            sockets = int(found[1])
        elif found := _NODES.fullmatch(line):
            nodes = int(found[1])
        elif found := _MODEL.fullmatch(line):
            model = found[1].strip()
        elif line.strip() and not _OTHER.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    if (sockets, nodes, model) != (None, None, None):
        parsed.add(CpuSockets(sockets, nodes, model))
    for node in cpus:
        parsed.add(node)
    return parsed


def cpus_of(ranges: str) -> tuple[int, ...]:
    """`0-3,8` -> 0, 1, 2, 3, 8; what is no range is left out."""
    found: set[int] = set()
    for piece in ranges.split(","):
        first, _, last = piece.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), min(int(last or first), MOST_CPUS) + 1))
    return tuple(sorted(found))


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head))]
    return any(_NODE.fullmatch(line) or _NODES.fullmatch(line) or _SOCKETS.fullmatch(line) for line in lines)


TOOL = Tool("lscpu", _recognizes, parse_lscpu, file_names=("*lscpu*",), unconfirmed="util-linux lscpu.c")
