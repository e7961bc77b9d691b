"""perftest: `ib_write_bw`, `ib_read_bw`, `ib_send_bw`, `ib_write_lat` and their kin: RDMA between two HCAs.

A block of settings, the two ends, then a table whose heading names every column and its unit. MB/sec is 2^20 bytes;
with `--report_gbits` it is Gb/sec. Server and client of a loopback test often write into one log, so that their blocks
and lines alternate. With `-a` the table is a sweep: small messages are slow by nature and the last rows are the answer.
Source: captures bandwidth/perftest-*; linux-rdma/perftest perftest_parameters.h for the other columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import number_of

MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class RdmaRun:
    """The settings one side printed; None and empty where it did not."""

    test: str
    """`RDMA_Write BW Test`."""
    role: str
    """`server` or `client`, empty where nothing tells."""
    device: str
    qps: int | None
    transport: str
    connection: str
    mtu: int | None
    link: str
    """`IB` or `Ethernet`."""
    gid_index: int | None
    tx_depth: int | None


@dataclass(frozen=True, slots=True)
class RdmaEnd:
    """One queue pair's address."""

    side: str
    """`local` or `remote`, as seen by who prints it."""
    lid: int
    """0 on Ethernet."""
    qp: int


@dataclass(frozen=True, slots=True)
class RdmaBandwidth:
    """One message size."""

    test: str
    device: str
    size: int
    """Bytes."""
    iterations: int
    peak: float | None
    """In `unit`; None where it was not measured (runs of a given duration print 0)."""
    average: float
    unit: str
    """`MB/s` (2^20) or `Gb/s`; empty where a JSON document does not tell and its figures don't fit either."""
    gbps: float | None
    """The average in 10^9 bit/s."""
    message_rate: float | None
    """Millions of messages a second."""


@dataclass(frozen=True, slots=True)
class RdmaLatency:
    """One message size, in microseconds; None where the run did not measure it."""

    test: str
    device: str
    size: int
    iterations: int
    minimum: float | None
    maximum: float | None
    typical: float | None
    average: float | None
    deviation: float | None
    p99: float | None
    p999: float | None


@dataclass(frozen=True, slots=True)
class RdmaWarning:
    """CPU clocks that disagree: times are taken by them, so that latencies may be off by that much."""

    low_mhz: float
    high_mhz: float


@dataclass(frozen=True, slots=True)
class RdmaFailure:
    """Why the test did not run or did not end, in its words."""

    text: str


RdmaReading: TypeAlias = RdmaRun | RdmaEnd | RdmaBandwidth | RdmaLatency | RdmaWarning | RdmaFailure

_TITLE = re.compile(r"\s{0,60}((?:RDMA_|Atomic_?|Send|Raw|Write|Read)[\w/-]{0,40}(?: [\w/-]{1,40}){0,6} Test)\s{0,80}")
_NAME = r"[A-Za-z][\w.*-]{0,15}(?: [\w.*-]{1,15}){0,3}"
_SETTINGS = re.compile(
    rf"\s{{0,8}}({_NAME})\s{{0,24}}: (\S{{1,120}})(?:\s{{1,24}}({_NAME})\s{{0,24}}: (\S{{1,120}}))?\s{{0,80}}"
)
_KNOWN = frozenset(
    (
        *("Dual-port", "Device", "Number of qps", "Transport type", "Connection type", "Using SRQ", "PCIe relax order"),
        *("ibv_wr* API", "TX depth", "RX depth", "CQ Moderation", "CQE Poll Batch", "Mtu", "Link type", "GID index"),
        *("Max inline data", "rdma_cm QPs", "Data ex. method", "Post List", "Use ROCm memory", "Outstand reads"),
        *("Lock-free", "Using DDP", "Using Enhanced Reorder", "Perform Warmup", "rdma_cm TOS", "TOS"),
    )
)
_END = re.compile(
    r"\s{0,4}(local|remote) address: LID (0x[0-9a-fA-F]{1,8}|\d{1,6}) QPN (0x[0-9a-fA-F]{1,8}|\d{1,9}) "
    r"PSN (?:0x)?[0-9a-fA-F]{1,8}.{0,200}"
)
_HEADING = re.compile(r"\s{0,8}#bytes\s{1,24}(?:#\w|t_avg|BW ).{0,600}")
_COLUMN = re.compile(r"#\w{1,16}|[\w.%]{1,16}(?: [\w.%]{1,16})?\[[^\]\s]{1,12}\]")
_ROW = re.compile(r"\s{0,8}\d{1,15}\s{1,24}\d{1,15}\s{1,24}[\d.naif-]{1,30}(?:\s|$).{0,600}")
_UNIT = re.compile(r"\[(MB|Gb)/sec\]")
_BANNER = re.compile(r"\s{0,4}\* Waiting for client to connect\.\.\. \*\s{0,80}")
_CONFLICT = re.compile(
    r"\s{0,4}Conflicting CPU frequency values detected: (\d{1,9}(?:\.\d{1,9})?) != (\d{1,9}(?:\.\d{1,9})?)\..{0,80}"
)
_FAILURE = re.compile(
    r"\s{0,4}(?:Couldn't|Could not|Unable to|Failed|Cannot|Can't|Completion with error|Problems with|IB device"
    r"|Unexpected CM event|Port number \d|mlx5: .{0,80} got completion with error|ethernet_read_keys|Received \d"
    r"|Invalid|This device|Host and device).{1,400}"
)
_NOTHING = re.compile(
    r"\s{0,4}[-*]{3,}\s{0,80}|\.{3}|\s{0,4}(?:GID|remote GID): [\d:a-fA-F]{1,80}|WARNING: BW peak .{0,120}"
    r"|\s{0,4}(?:Requested mtu|Perftest doesn't support CUDA|initializing CUDA|Listing all CUDA devices"
    r"|CUDA device \d|Picking device|creating CUDA|making it the current|cuMemAlloc|allocated GPU buffer|deallocating"
    r"|destroying current CUDA).{0,200}"
)


@dataclass(slots=True)
class _Block:
    """The settings of one side, as far as they have come."""

    test: str
    banner: bool
    settings: dict[str, str] = field(default_factory=dict)

    def reading(self) -> RdmaRun:
        client = "TX depth" in self.settings and "Bidirectional" not in self.test
        return RdmaRun(
            test=self.test,
            role="server" if self.banner else "client" if client else "",
            device=self.settings.get("Device", ""),
            qps=_integer(self.settings.get("Number of qps")),
            transport=self.settings.get("Transport type", ""),
            connection=self.settings.get("Connection type", ""),
            mtu=_integer(self.settings.get("Mtu")),
            link=self.settings.get("Link type", ""),
            gid_index=_integer(self.settings.get("GID index")),
            tx_depth=_integer(self.settings.get("TX depth")),
        )


def parse_perftest(text: str) -> Parsed[RdmaReading]:
    """Read one log of one side or both; rows of both sides are kept, since nothing tells whose they are."""
    return _Log().read(text)


class _Log:
    """The lines of a log, with what the lines before said."""

    def __init__(self) -> None:
        self.parsed = Parsed[RdmaReading]()
        self.blocks: list[_Block] = []
        self.columns: list[str] = []
        self.banner = False

    def read(self, text: str) -> Parsed[RdmaReading]:
        for number, raw in numbered(text):
            line = without_escapes(raw).rstrip()
            if line and not (self._heading(line) or self._row(line) or self._other(line)):
                self.parsed.cannot_read(number, line)
        runs = [block.reading() for block in self.blocks]
        self.parsed.readings[:0] = runs
        return self.parsed

    def _heading(self, line: str) -> bool:
        if found := _TITLE.fullmatch(line):
            self.blocks.append(_Block(found[1], self.banner))
            self.banner = False
        elif _BANNER.fullmatch(line):
            self.banner = True
        elif _HEADING.fullmatch(line):
            self.columns = _COLUMN.findall(line)
        elif found := _END.fullmatch(line):
            self.parsed.add(
                RdmaEnd(found[1], int(found[2], 0) if "x" in found[2] else int(found[2]), int(found[3], 16))
            )
        else:
            return False
        return True

    def _row(self, line: str) -> bool:
        if not self.columns or not _ROW.fullmatch(line):
            return False
        cells = line.split()
        if len(cells) < len(self.columns):
            return False
        row = dict(zip(self.columns, cells, strict=False))
        block = self.blocks[-1] if self.blocks else _Block("", banner=False)
        reading = _measure(row, block.test, block.settings.get("Device", ""))
        if reading:
            self.parsed.add(reading)
        return reading is not None

    def _other(self, line: str) -> bool:
        if self.blocks and (settings := _settings(line)):
            for name, value in settings.items():
                self._block_without(name).settings[name] = value
        elif found := _CONFLICT.fullmatch(line):
            low, high = sorted((float(found[1]), float(found[2])))
            self.parsed.add(RdmaWarning(low, high))
        elif _FAILURE.fullmatch(line):
            self.parsed.add(RdmaFailure(line.strip()))
        else:
            return bool(_NOTHING.fullmatch(line) or prompt_of(line))
        return True

    def _block_without(self, name: str) -> _Block:
        """Where two sides write into one log, a setting that the later block has already is the earlier's."""
        before = self.blocks[-2:-1]
        late = name in self.blocks[-1].settings and before and name not in before[0].settings
        return before[0] if late else self.blocks[-1]


def _settings(line: str) -> dict[str, str]:
    """`Dual-port       : OFF          Device         : mlx5_0`; empty for any other line."""
    found = _SETTINGS.fullmatch(line)
    if not found:
        return {}
    settings = {name: value for name, value in (found.group(1, 2), found.group(3, 4)) if name}
    return settings if settings.keys() <= _KNOWN else {}


def _integer(text: str | None) -> int | None:
    number = number_of((text or "").partition("[")[0])
    return int(number) if number is not None else None


def gbps_of(average: float, unit: str) -> float | None:
    """10^9 bit/s."""
    return {"MB/s": average * MEGABYTE * 8 / 1e9, "Gb/s": average}.get(unit)


def _measure(row: dict[str, str], test: str, device: str) -> RdmaBandwidth | RdmaLatency | None:
    numbers = {name.partition("[")[0]: number_of(cell) for name, cell in row.items()}
    size, iterations = numbers.get("#bytes"), numbers.get("#iterations")
    if size is None or iterations is None:
        return None
    average = numbers.get("BW average")
    if average is not None and average >= 0:
        return bandwidth(test, device, numbers, _unit(row))
    if numbers.get("t_avg") is None and numbers.get("t_typical") is None:
        return None
    return latency(test, device, numbers)


def _unit(row: dict[str, str]) -> str:
    found = _UNIT.search(" ".join(row))
    return f"{found[1]}/s" if found else ""


def bandwidth(test: str, device: str, numbers: dict[str, float | None], unit: str) -> RdmaBandwidth:
    """A row of a bandwidth table, by the names of its columns; size, iterations and average must be there."""
    size, iterations, average = numbers["#bytes"], numbers["#iterations"], numbers["BW average"]
    assert size is not None
    assert iterations is not None
    assert average is not None
    peak = numbers.get("BW peak")
    return RdmaBandwidth(
        test=test,
        device=device,
        size=int(size),
        iterations=int(iterations),
        peak=None if peak == 0 and average > 0 else peak,
        average=average,
        unit=unit,
        gbps=gbps_of(average, unit),
        message_rate=numbers.get("MsgRate"),
    )


def latency(test: str, device: str, numbers: dict[str, float | None]) -> RdmaLatency:
    """A row of a latency table, by the names of its columns; size and iterations must be there."""
    size, iterations = numbers["#bytes"], numbers["#iterations"]
    assert size is not None
    assert iterations is not None
    return RdmaLatency(
        test=test,
        device=device,
        size=int(size),
        iterations=int(iterations),
        minimum=numbers.get("t_min"),
        maximum=numbers.get("t_max"),
        typical=numbers.get("t_typical"),
        average=numbers.get("t_avg"),
        deviation=numbers.get("t_stdev"),
        p99=numbers.get("99% percentile"),
        p999=numbers.get("99.9% percentile"),
    )


def _recognizes(head: str) -> bool:
    return any(
        _HEADING.fullmatch(line) or (line.endswith("Test") and _TITLE.fullmatch(line)) for line in head.splitlines()
    )


TOOL = Tool(
    name="perftest",
    recognizes=_recognizes,
    parse=parse_perftest,
    file_names=("*ib_write*", "*ib_read*", "*ib_send*", "*ib_atomic*", "*perftest*", "*ib_loopback*"),
)
