"""nvbandwidth, as text: copies between host and GPUs and between GPUs, by copy engine and by kernel.

Each test prints `Running NAME.`, what its matrix holds (`memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)`), the
matrix and `SUM NAME total`. `N/A` is a pair that the test does not measure (the diagonal); `Waived:` a test that this
machine can't run, with no name in the text form: skipped, not failed. A matrix is read as printed, whatever the
number of devices above it.
Source: captures bandwidth/nvbandwidth-*; NVIDIA/nvbandwidth output.cpp and nvbandwidth.cpp for errors and processes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..parsed import Missing, Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import missing_of, number_of

WIDEST = 4096
"""Columns read at most."""


@dataclass(frozen=True, slots=True)
class NvbandwidthVersions:
    """What ran; empty where not printed."""

    version: str = ""
    cuda_runtime: str = ""
    cuda_driver: str = ""
    driver: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class NvbandwidthDevice:
    """A GPU of the run."""

    index: int
    name: str
    bus_address: str | None
    host: str = ""
    process: int | None = None
    """Of a run over several nodes, where matrices count processes and not devices."""


@dataclass(frozen=True, slots=True)
class NvbandwidthTest:
    """What became of one test."""

    name: str
    """Empty of a test that was waived in the text form."""
    status: str
    """`passed`, `waived` (skipped: not a failure), `error`, `not found`, or `unfinished` (no result follows)."""
    description: str = ""
    """`memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)`."""
    unit: str = ""
    rows: int = 0
    columns: int = 0
    total: float | None = None
    why: str = ""
    """The words of an error."""


@dataclass(frozen=True, slots=True)
class NvbandwidthCell:
    """One measured pair."""

    test: str
    row: int
    column: int
    value: float | None
    """In `unit`; None where the test does not measure the pair."""
    unit: str
    """`GB/s` or `ns`."""
    row_is: str
    """`CPU` or `GPU`."""
    column_is: str
    direction: str
    """`->`: from the row to the column; `<-`: to the row; `<->`: both at once; empty where the text does not tell."""
    missing: Mapping[str, Missing] = field(default_factory=dict)


NvbandwidthReading: TypeAlias = NvbandwidthVersions | NvbandwidthDevice | NvbandwidthTest | NvbandwidthCell


@dataclass(slots=True)
class Matrix:
    """A matrix on its way in."""

    description: str
    heads: list[int] = field(default_factory=list)
    rows: list[tuple[int, list[str]]] = field(default_factory=list)

    def cells(self, test: str) -> list[NvbandwidthCell]:
        """All pairs, those without a value included."""
        unit, row_is, column_is, direction = meaning_of(self.description)
        return [
            NvbandwidthCell(test, row, column, number_of(cell), unit, row_is, column_is, direction, _missing(cell))
            for row, cells in self.rows
            for column, cell in zip(self.heads, cells, strict=True)
        ]

    def result(self, test: str, total: float | None) -> NvbandwidthTest:
        """The test that printed it."""
        unit = meaning_of(self.description)[0]
        return NvbandwidthTest(test, "passed", self.description, unit, len(self.rows), len(self.heads), total)


_VERSIONS = re.compile(
    r"(nvbandwidth Version|CUDA Runtime Version|CUDA Driver Version|Driver Version)(?: \(API\))?: (.{1,80})"
)
_FIELDS = {
    "nvbandwidth Version": "version",
    "CUDA Runtime Version": "cuda_runtime",
    "CUDA Driver Version": "cuda_driver",
    "Driver Version": "driver",
}
_DEVICE = re.compile(
    r"(?:Process\s{1,4}(\d{1,6}) \(([^()]{1,255})\): device|Device) (\d{1,4}): "
    r"(.{1,200}?)(?: \(([0-9a-fA-F:.]{7,16})\))?\s{0,80}"
)
_HOST = re.compile(r"[A-Za-z0-9][\w.-]{0,254}")
_RUNNING = re.compile(r"Running (?:benchmark )?([\w-]{1,80})\.\s{0,80}")
_ENDED = re.compile(r"(Waived|Waiving benchmark|Error|ERROR|Not Found)\s{0,80}[: ]\s{0,80}(.{0,400})")
_CUDA_ERROR = re.compile(r"\[(?:CUDA_ERROR|NVML_ERROR|CUDA|NVML)_?\w{0,60}\] .{1,400}")
_DESCRIPTION = re.compile(
    r"(?:.{0,80}\(row\).{0,80}\(column\).{0,60}|.{1,60}(?:bandwidth|latency).{0,60}) ?\((?:GB/s|ns)\)\s{0,80}",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\((GB/s|ns)\)\s{0,80}$")
_SIDES = re.compile(r"(\w{1,16})\(row\)\s{0,4}(<->|->|<-)?\s{0,4}(\w{1,16})\(column\)")
_HEADS = re.compile(r"\s{1,40}\d{1,5}(?:\s{1,40}\d{1,5}){0,4095}\s{0,80}")
_ROW = re.compile(r"\s{0,8}(\d{1,5})\s{1,40}(\S.*)")
_SUM = re.compile(r"(?:SUM|MIN|MAX|AVG) ([\w-]{1,80}) (\S{1,40})\s{0,80}")
_NOTHING = re.compile(
    r"\.{3}|Built from.{0,120}|MPI version: .{0,300}|NOTE: .{0,300}|Performance can vary .{0,200}"
    r"|Additional system-specific .{0,200}"
    r"|Copyright .{0,200}|&&&& .{0,300}|OPEN MPI.{0,300}"
)


def parse_nvbandwidth(text: str) -> Parsed[NvbandwidthReading]:
    """Read a run; cells are kept with what they mean, since the same numbers are bandwidth or latency."""
    return _Run().read(text)


def meaning_of(description: str) -> tuple[str, str, str, str]:
    """Unit, what rows are, what columns are, direction."""
    unit, sides = _UNIT.search(description), _SIDES.search(description)
    row_is, direction, column_is = (sides[1], sides[2] or "", sides[3]) if sides else ("", "", "")
    return unit[1] if unit else "", row_is, column_is, direction


def _missing(cell: str) -> Mapping[str, Missing]:
    why = missing_of(cell)
    return {"value": why} if why else {}


class _Run:
    """The lines of a run, with what the lines before said."""

    def __init__(self) -> None:
        self.parsed = Parsed[NvbandwidthReading]()
        self.versions: dict[str, str] = {}
        self.host = ""
        self.test = ""
        self.matrix: Matrix | None = None

    def read(self, text: str) -> Parsed[NvbandwidthReading]:
        for number, raw in numbered(text):
            line = without_escapes(raw).rstrip()
            if line and not (self._head(line) or self._matrix(line) or self._test(line) or self._nothing(line)):
                self.parsed.cannot_read(number, line)
        self._end_test(None)
        self._end_versions()
        return self.parsed

    def _head(self, line: str) -> bool:
        if found := _VERSIONS.fullmatch(line):
            if found[1] == "nvbandwidth Version":
                self._end_test(None)
                self._end_versions()
            self.versions[_FIELDS[found[1]]] = found[2].strip()
        elif found := _DEVICE.fullmatch(line):
            process = int(found[1]) if found[1] else None
            address = bus_address(f"{found[5]}.0") if found[5] else None
            self.parsed.add(NvbandwidthDevice(int(found[3]), found[4], address, found[2] or self.host, process))
        elif "driver" in self.versions and not self.test and not self.matrix and _HOST.fullmatch(line):
            self.host = line
        else:
            return False
        return True

    def _matrix(self, line: str) -> bool:
        if _DESCRIPTION.fullmatch(line):
            if self.matrix:
                self._end_test(None)
            self.matrix = Matrix(line)
        elif self.matrix and not self.matrix.heads and _HEADS.fullmatch(line):
            self.matrix.heads = [int(head) for head in line.split()[:WIDEST]]
        elif self.matrix and self.matrix.heads and (row := _ROW.fullmatch(line)):
            cells = row[2].split()
            if len(cells) != len(self.matrix.heads):
                return False
            self.matrix.rows.append((int(row[1]), cells))
        else:
            return False
        return True

    def _test(self, line: str) -> bool:
        if found := _RUNNING.fullmatch(line):
            self._end_test(None)
            self.test = found[1]
        elif found := _SUM.fullmatch(line):
            if line.startswith("SUM"):
                self.test = found[1]
                self._end_test(number_of(found[2]))
        elif found := _ENDED.fullmatch(line):
            self._ended(found[1].lower(), found[2].strip())
        elif _CUDA_ERROR.fullmatch(line):
            self._ended("error", line)
        else:
            return False
        return True

    def _ended(self, word: str, text: str) -> None:
        """A test that ended without a matrix: skipped, failed, or not known to this version."""
        waived = word.startswith("waiv")
        name = text.rstrip(".") if waived else self.test
        if not waived:
            self.test, self.matrix = "", None
        self.parsed.add(NvbandwidthTest(name, "waived" if waived else word, why="" if waived else text))

    def _end_test(self, total: float | None) -> None:
        if self.matrix:
            for cell in self.matrix.cells(self.test):
                self.parsed.add(cell)
            self.parsed.add(self.matrix.result(self.test, total))
        elif self.test:
            self.parsed.add(NvbandwidthTest(self.test, "unfinished", total=total))
        self.test, self.matrix = "", None

    def _end_versions(self) -> None:
        if self.versions:
            self.parsed.add(NvbandwidthVersions(**self.versions, host=self.host))
        self.versions, self.host = {}, ""

    def _nothing(self, line: str) -> bool:
        return bool(_NOTHING.fullmatch(line) or prompt_of(line))


def _recognizes(head: str) -> bool:
    return any(
        line.startswith("nvbandwidth Version:") or (_SIDES.search(line) and _UNIT.search(line))
        for line in head.splitlines()
        if not line.lstrip().startswith('"')
    )


TOOL = Tool(
    name="nvbandwidth",
    recognizes=_recognizes,
    parse=parse_nvbandwidth,
    file_names=("*nvbandwidth*", "*nvbw*"),
)
