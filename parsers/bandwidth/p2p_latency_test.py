"""p2pBandwidthLatencyTest of the CUDA samples: every pair of GPUs, with and without peer access.

Matrices follow each other under their headings: connectivity (1 is "can reach", not 1 GB/s), then bandwidth in one and
in both directions with P2P off and on, then latency as the GPU and as the CPU timed it. The diagonal is a GPU's own
memory, no link. Bus numbers of the device lines are hexadecimal without 0x.
Source: captures bandwidth/p2pBandwidthLatencyTest-*; NVIDIA/cuda-samples p2pBandwidthLatencyTest.cu.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..parsed import Missing, Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import missing_of, number_of


@dataclass(frozen=True, slots=True)
class PeerDevice:
    """A GPU by its CUDA index."""

    index: int
    name: str
    bus_address: str


@dataclass(frozen=True, slots=True)
class PeerAccess:
    """Whether one GPU can reach another's memory."""

    here: int
    there: int
    can: bool
    said_by: str
    """`line` (`Device=0 CAN Access Peer Device=1`) or `matrix`."""


@dataclass(frozen=True, slots=True)
class PeerMeasure:
    """One cell of a bandwidth or latency matrix."""

    what: str
    """`bandwidth` or `latency`."""
    here: int
    there: int
    local: bool
    """True on the diagonal: the GPU's own memory."""
    value: float | None
    unit: str
    """`GB/s` or `us`."""
    p2p: bool
    """Whether peer access was on; pairs without it go through host memory all the same."""
    bidirectional: bool
    by: str
    """`writes` or `reads` where the heading says so."""
    timed_by: str
    """Of latencies: `GPU` or `CPU`."""
    missing: Mapping[str, Missing] = field(default_factory=dict)


PeerReading: TypeAlias = PeerDevice | PeerAccess | PeerMeasure

_DEVICE = re.compile(
    r"\s{0,4}Device: (\d{1,4}), (.{1,200}), pciBusID: ([0-9a-fA-F]{1,2}), pciDeviceID: ([0-9a-fA-F]{1,2}), "
    r"pciDomainID: ?([0-9a-fA-F]{1,8})\s{0,80}"
)
_ACCESS = re.compile(r"\s{0,4}Device=(\d{1,4}) (CAN|CANNOT) Access Peer Device=(\d{1,4})\s{0,80}")
_CONNECTIVITY = re.compile(r"\s{0,4}P2P Connectivity Matrix\s{0,80}")
_BANDWIDTH = re.compile(
    r"\s{0,4}(Unidirectional|Bidirectional) P2P=(Disabled|Enabled) Bandwidth "
    r"(?:\(P2P (Writes|Reads)\) )?Matrix \((GB/s)\)\s{0,80}"
)
_LATENCY = re.compile(r"\s{0,4}P2P=(Disabled|Enabled) Latency (?:\(P2P (Writes|Reads)\) )?Matrix \((us)\)\s{0,80}")
_HEADS = re.compile(r"\s{0,16}(D\\D|GPU|CPU)((?:\s{1,16}\d{1,4}){1,512})\s{0,80}")
_ROW = re.compile(r"\s{0,16}(\d{1,4})\s{1,16}(\S.*)")
_NOTHING = re.compile(
    r"\.{3}|\[P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test\]|\*{3} ?NOTE: .{0,300}"
    r"|So you can see lesser .{0,200}|NOTE: .{0,300}"
)


@dataclass(slots=True)
class _Heading:
    """The matrix that the rows below belong to."""

    what: str
    unit: str = ""
    p2p: bool = False
    bidirectional: bool = False
    by: str = ""
    timed_by: str = ""


def parse_p2p_latency_test(text: str) -> Parsed[PeerReading]:
    """Read devices, access and all matrices; a row that doesn't fit its columns is noted and not guessed at."""
    parsed = Parsed[PeerReading]()
    heading: _Heading | None = None
    columns: list[int] = []
    for number, raw in numbered(text):
        line = without_escapes(raw).rstrip()
        if not line or _named(line, parsed):
            continue
        if found := _heading(line):
            heading, columns = found, []
        elif heading and (heads := _HEADS.fullmatch(line)):
            columns = [int(head) for head in heads[2].split()]
            heading.timed_by = heads[1] if heading.what == "latency" else ""
        elif heading and columns and (row := _ROW.fullmatch(line)):
            cells = row[2].split()
            if len(cells) == len(columns):
                for there, cell in zip(columns, cells, strict=True):
                    _cell(parsed, heading, int(row[1]), there, cell)
            else:
                parsed.cannot_read(number, line, f"has not one cell for each of {len(columns)} columns")
        elif not _NOTHING.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _named(line: str, parsed: Parsed[PeerReading]) -> bool:
    if device := _DEVICE.fullmatch(line):
        bus, slot, domain = (int(device[part], 16) for part in (3, 4, 5))
        parsed.add(PeerDevice(int(device[1]), device[2], f"{domain:04x}:{bus:02x}:{slot:02x}.0"))
    elif access := _ACCESS.fullmatch(line):
        parsed.add(PeerAccess(int(access[1]), int(access[3]), access[2] == "CAN", "line"))
    else:
        return False
    return True


def _heading(line: str) -> _Heading | None:
    if found := _BANDWIDTH.fullmatch(line):
        way, on, by, unit = found.groups()
        return _Heading("bandwidth", unit, on == "Enabled", way == "Bidirectional", (by or "").lower())
    if found := _LATENCY.fullmatch(line):
        on, by, unit = found.groups()
        return _Heading("latency", unit, on == "Enabled", by=(by or "").lower())
    return _Heading("connectivity") if _CONNECTIVITY.fullmatch(line) else None


def _cell(parsed: Parsed[PeerReading], heading: _Heading, here: int, there: int, cell: str) -> None:
    if heading.what == "connectivity":
        if here != there and cell in ("0", "1"):
            parsed.add(PeerAccess(here, there, cell == "1", "matrix"))
        return
    why = missing_of(cell)
    parsed.add(
        PeerMeasure(
            what=heading.what,
            here=here,
            there=there,
            local=here == there,
            value=number_of(cell),
            unit=heading.unit,
            p2p=heading.p2p,
            bidirectional=heading.bidirectional,
            by=heading.by,
            timed_by=heading.timed_by,
            missing={"value": why} if why else {},
        )
    )


def _recognizes(head: str) -> bool:
    return any(
        _BANDWIDTH.fullmatch(line)
        or _LATENCY.fullmatch(line)
        or _CONNECTIVITY.fullmatch(line)
        or _ACCESS.fullmatch(line)
        for line in head.splitlines()
    )


TOOL = Tool(
    name="p2pBandwidthLatencyTest",
    recognizes=_recognizes,
    parse=parse_p2p_latency_test,
    file_names=("*p2p*bandwidth*", "*p2p*latency*", "*p2pbw*"),
)
