"""bandwidthTest of the CUDA samples: host to device, device to host, and inside one device's memory.

Two forms: tables of size and bandwidth under the direction's heading, and one line a size (`--csv`). In shmoo mode
small sizes are slow by nature: the plateau at large sizes is the answer. Device to device is the GPU's own memory.
Source: captures bandwidth/cuda-bandwidthTest-*; the table form from outputs published with NVIDIA/cuda-samples.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class CopyDevice:
    """A GPU that the test ran on."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class CopyBandwidth:
    """One size copied one way."""

    direction: str
    """`H2D`, `D2H` or `D2D`."""
    memory: str
    """`pinned` or `pageable` host memory; empty where not told."""
    size: int
    """Bytes."""
    value: float
    unit: str
    """`GB/s` (10^9), or `MB/s` of older samples (2^20)."""
    devices: int | None
    seconds: float | None = None
    """Printed with five digits: small copies read 0.0."""


@dataclass(frozen=True, slots=True)
class CopyVerdict:
    """The last line: whether the test ran, which says nothing about how fast."""

    passed: bool


CopyReading: TypeAlias = CopyDevice | CopyBandwidth | CopyVerdict

_TITLE = re.compile(r"\s{0,4}\[CUDA Bandwidth Test\] - Starting\.\.\.\s{0,80}")
_DEVICE = re.compile(r"\s{0,4}Device (\d{1,4}): (.{1,200})")
_CSV = re.compile(
    r"\s{0,4}bandwidthTest-(H2D|D2H|D2D)(?:-(Pinned|Paged|Pageable))?, Bandwidth = (\d{1,12}(?:\.\d{1,6})?) ([GM]B/s), "
    r"Time = (\d{1,9}(?:\.\d{1,9})?) s, Size = (\d{1,15}) bytes, NumDevsUsed = (\d{1,4})\s{0,80}"
)
_DIRECTION = re.compile(r"\s{0,4}(Host|Device) to (Host|Device) Bandwidth, (\d{1,4}) Device\(s\)\s{0,80}")
_MEMORY = re.compile(r"\s{0,4}(PINNED|PAGEABLE) Memory Transfers\s{0,80}")
_TABLE = re.compile(r"\s{0,8}Transfer Size \(Bytes\)\s{1,16}Bandwidth\(([GM]B/s)\)\s{0,80}")
_ROW = re.compile(r"\s{0,8}(\d{1,15})\s{1,24}(\d{1,12}(?:\.\d{1,6})?)\s{0,80}")
_RESULT = re.compile(r"\s{0,4}(?:Result = |Test )(PASS(?:ED)?|FAIL(?:ED)?)\s{0,80}")
_NOTHING = re.compile(
    r"\.{3,}|Running on\.{3}|\s{0,4}(?:Quick|Shmoo|Range) Mode|NOTE: .{0,300}|Write-Combined Memory .{0,80}"
    r"|!{5}.{0,120}"
)


@dataclass(slots=True)
class _Table:
    """What the rows below measure."""

    direction: str = ""
    memory: str = ""
    unit: str = ""
    devices: int | None = None


def parse_cuda_bandwidth_test(text: str) -> Parsed[CopyReading]:
    """Read either form."""
    parsed = Parsed[CopyReading]()
    table = _Table()
    for number, raw in numbered(text):
        line = without_escapes(raw).rstrip()
        if not line or _headed(line, table):
            continue
        if reading := _reading(line, table):
            parsed.add(reading)
        elif not (_NOTHING.fullmatch(line) or _TITLE.fullmatch(line) or prompt_of(line)):
            parsed.cannot_read(number, line)
    return parsed


def _headed(line: str, table: _Table) -> bool:
    if found := _DIRECTION.fullmatch(line):
        table.direction, table.devices = f"{found[1][0]}2{found[2][0]}", int(found[3])
        table.memory = table.unit = ""
    elif found := _MEMORY.fullmatch(line):
        table.memory = found[1].lower()
    elif found := _TABLE.fullmatch(line):
        table.unit = found[1]
    else:
        return False
    return True


def _reading(line: str, table: _Table) -> CopyReading | None:
    if found := _CSV.fullmatch(line):
        memory = {"Pinned": "pinned", "Paged": "pageable", "Pageable": "pageable"}.get(found[2], "")
        size, devices = int(found[6]), int(found[7])
        return CopyBandwidth(found[1], memory, size, float(found[3]), found[4], devices, float(found[5]))
    if table.unit and table.direction and (found := _ROW.fullmatch(line)):
        return CopyBandwidth(table.direction, table.memory, int(found[1]), float(found[2]), table.unit, table.devices)
    if found := _DEVICE.fullmatch(line):
        return CopyDevice(int(found[1]), found[2].strip())
    found = _RESULT.fullmatch(line)
    return CopyVerdict(found[1].startswith("PASS")) if found else None


def _recognizes(head: str) -> bool:
    return any(
        _TITLE.fullmatch(line) or _CSV.fullmatch(line) or _DIRECTION.fullmatch(line) for line in head.splitlines()
    )


TOOL = Tool(
    name="bandwidthTest",
    recognizes=_recognizes,
    parse=parse_cuda_bandwidth_test,
    file_names=("*bandwidthtest*", "*cuda*bandwidth*"),
)
