"""`numactl -H`: NUMA nodes with their CPUs and memory, and how far they are from each other.

A CPU that is offline is missing from the list of its node.
Source: capture platform/numactl-H-*; numactl.c `hardware()` for the sentence of a machine without NUMA.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One NUMA node; a node without CPUs (memory of a GPU, say) has an empty list."""

    number: int
    cpus: tuple[int, ...] | None
    size_mb: int | None = None
    free_mb: int | None = None


@dataclass(frozen=True, slots=True)
class NumaDistance:
    """Relative cost of reaching one node's memory from another's CPUs; 10 is local."""

    here: int
    there: int
    distance: int


_AVAILABLE = re.compile(r"\s*available: \d{1,4} nodes? \([\d,-]{1,200}\)\s*")
_CPUS = re.compile(r"\s*node (\d{1,4}) cpus:((?: {1,4}\d{1,5})*)\s*")
_MEMORY = re.compile(r"\s*node (\d{1,4}) (size|free): (\d{1,12}) MB\s*")
_DISTANCES = re.compile(r"\s*node distances:\s*")
_HEADING = re.compile(r"\s*node((?:\s{1,8}\d{1,4})+)\s*")
_ROW = re.compile(r"\s*(\d{1,4}):((?:\s{1,8}\d{1,4})+)\s*")
_NO_NUMA = re.compile(r"no NUMA (?:support )?available", re.IGNORECASE)


def parse_numactl_hardware(text: str) -> Parsed[NumaNode | NumaDistance]:
    """Read the nodes, then the table of distances."""
    parsed = Parsed[NumaNode | NumaDistance]()
    nodes: dict[int, dict[str, int]] = {}
    cpus: dict[int, tuple[int, ...]] = {}
    distances: list[NumaDistance] = []
    columns: list[int] = []
    for number, line in numbered(without_escapes(text)):
        if found := _CPUS.fullmatch(line):
            nodes.setdefault(int(found[1]), {})
            cpus[int(found[1])] = tuple(int(cpu) for cpu in found[2].split())
        elif found := _MEMORY.fullmatch(line):
            nodes.setdefault(int(found[1]), {})[f"{found[2]}_mb"] = int(found[3])
        elif found := _HEADING.fullmatch(line):
            columns = [int(node) for node in found[1].split()]
        elif (found := _ROW.fullmatch(line)) and len(found[2].split()) == len(columns):
            here, row = int(found[1]), [int(distance) for distance in found[2].split()]
            distances += [NumaDistance(here, there, distance) for there, distance in zip(columns, row, strict=True)]
        elif _NO_NUMA.search(line[:200]):
            parsed.not_applicable("numa", line.strip())
        elif not _carries_nothing(line):
            parsed.cannot_read(number, line)
    for node, memory in nodes.items():
        parsed.add(NumaNode(node, cpus.get(node), memory.get("size_mb"), memory.get("free_mb")))
    for distance in distances:
        parsed.add(distance)
    return parsed


def _carries_nothing(line: str) -> bool:
    return bool(not line.strip() or _AVAILABLE.fullmatch(line) or _DISTANCES.fullmatch(line) or prompt_of(line))


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head))]
    return any(_AVAILABLE.fullmatch(line) or _CPUS.fullmatch(line) for line in lines)


TOOL = Tool("numactl -H", _recognizes, parse_numactl_hardware, file_names=("*numactl*", "*numa*"))
