"""nccl-tests: `all_reduce_perf`, `all_gather_perf`, `alltoall_perf`, `sendrecv_perf` and their kin.

Lines of NCCL's own that stand between (`NCCL_DEBUG=INFO`) are read as its log is, warnings as the test's.

A row holds two measurements, out of place and in place. Columns changed over the years: the check was a maximal `error`
(floating-point rounding: 1e-06 is no wrong value) and became a count, `#wrong`; `redop` and `root` are there, absent or
empty; `#iters`, per-iteration figures and a timestamp may follow. What a column holds is told by the heading alone.
Source: captures bandwidth/nccl-tests-*; NVIDIA/nccl-tests src/util.cu and src/common.h for versions, per-iteration
columns and failures; src/sendrecv.cu: in place is not checked there and prints N/A (no capture of sendrecv_perf).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ..nccl.log import NcclLogReading, read_nccl_log
from ..parsed import MOST_READINGS, Missing, Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import integer_of, missing_of, number_of


@dataclass(frozen=True, slots=True)
class CollectiveRun:
    """What one run was asked to do."""

    test: str
    """`all_reduce_perf`; empty where this version does not print it."""
    threads: int
    gpus: int
    """For each thread."""
    min_bytes: int
    max_bytes: int
    step: int
    step_is: str
    """`factor` or `bytes`."""
    iterations: int | None
    validates: bool | None
    """Whether the received data were checked."""
    version: str = ""


@dataclass(frozen=True, slots=True)
class CollectiveRank:
    """Where one rank ran."""

    rank: int
    host: str
    device: int
    bus_address: str | None
    """None where only the bus number is printed."""
    bus: int | None
    name: str
    pid: int


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """One of the two measurements of a row."""

    size: int
    """Bytes."""
    count: int
    """Elements."""
    type: str
    redop: str | None
    root: int | None
    """-1 where the collective has none."""
    in_place: bool
    time_us: float | None
    algbw: float | None
    """GB/s."""
    busbw: float | None
    """GB/s, made comparable between collectives and numbers of ranks."""
    wrong: int | None = None
    """Wrong values; None where they were not counted."""
    error: float | None = None
    """Of old versions: the largest difference from the expected value."""
    iterations: int | None = None
    missing: Mapping[str, Missing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CollectiveSummary:
    """The last lines of a run."""

    out_of_bounds: int | None
    out_of_bounds_ok: bool | None
    average_busbw: float | None
    """GB/s over all sizes, small ones included."""
    verdict: str
    """`OK` or `FAILED` against the required minimum; empty where none was set."""


@dataclass(frozen=True, slots=True)
class CollectiveUnanswered:
    """The heading of a table stands and nothing below it: no size came through, and no failure was printed."""

    test: str
    """As of the run."""


@dataclass(frozen=True, slots=True)
class CollectiveFailure:
    """The run broke off, or a rank says why it did not come through."""

    host: str
    pid: int | None
    kind: str
    """`CUDA`, `NCCL`, or empty for a failed check of the test itself."""
    where: str
    """`common.cu:1126`."""
    text: str = ""


@dataclass(frozen=True, slots=True)
class CollectiveWarning:
    """A warning of NCCL's own between the lines."""

    host: str
    pid: int
    device: int | None
    text: str


CollectiveReading: TypeAlias = (
    CollectiveRun
    | CollectiveRank
    | CollectiveTime
    | CollectiveSummary
    | CollectiveUnanswered
    | CollectiveFailure
    | CollectiveWarning
    | NcclLogReading
)

_NUMBER = r"\d{1,20}"
_VERSION = re.compile(r"#\s{0,4}nccl-tests version (\S{1,40})")
_TEST = re.compile(r"#\s{0,4}Collective test (?:starting|concluded): (\S{1,80})")
_RUN = re.compile(
    rf"#\s{{0,4}}nThread ({_NUMBER}) nGpus ({_NUMBER}) minBytes ({_NUMBER}) maxBytes ({_NUMBER}) "
    rf"step: ({_NUMBER})\((factor|bytes)\)(.{{0,300}})"
)
_ITERATIONS = re.compile(rf"(?<!warmup )(?<!agg )iters: ({_NUMBER})")
_VALIDATION = re.compile(r"validation: ([01])\b")
_RANK = re.compile(
    r"#\s{1,8}Rank\s{1,8}(\d{1,7})(?: Group\s{1,4}\d{1,7})? Pid\s{1,8}(\d{1,10}) on\s{1,16}(\S{1,255})"
    r" device\s{1,4}(\d{1,3}) \[(?:0x)?([0-9a-fA-F:.]{1,16})\]\s{0,4}(.{0,200})"
)
_HEADING = re.compile(r"#\s{1,16}size\s{1,24}count\s{1,24}type\b.{0,400}\balgbw\b")
_ROW = re.compile(r"\s{0,24}\d{1,20}\s{1,24}\d{1,20}\s{1,24}[A-Za-z]")
_BOUNDS = re.compile(r"#\s{0,4}Out of bounds values\s{0,8}: (\d{1,12})\s{0,4}(OK|FAILED)?")
_AVERAGE = re.compile(r"#\s{0,4}Avg bus bandwidth\s{0,8}: (\S{1,30})\s{0,4}(OK|FAILED)?")
_FAILURE = re.compile(
    r"\s{0,4}(?:\.\. )?(?:(\S{1,255}?)(?: pid (\d{1,10}))?: )?Test (?:(CUDA|NCCL) )?failure "
    r"(\S{1,200}:\d{1,6})(?: '?(.{0,400}?)'?)?\s{0,80}"
)
_NCCL = re.compile(
    r"(?:\[[^\]]{1,40}\] )?([^\s:]{1,255}):(\d{1,10}):\d{1,10} (?:\[(\d{1,3})\] )?(?:[^\s:]{1,120}:\d{1,6} )?"
    r"NCCL (INFO|TRACE|VERSION|ABORT|WARN)\b ?(.{0,2000})"
)
_NOTHING = re.compile(
    r"#[\s#=-]*|#\s{0,8}Using devices\s{0,80}|#[^:]{0,200}(?:out-of-place|\(B\)|in-place)[^:]{0,200}"
    r"|#\s{0,4}(?:Blocking Enabled|Parallel Init Enabled|Per-Iteration Report|Writing JSON output|GPU memory usage"
    r"|Reducing maxBytes)\b.{0,300}"
    r"|\.{3}|NCCL version .{0,80}|NAME\s{1,80}READY\s{1,80}STATUS\s.{0,80}"
)
_POD = re.compile(r"[a-z0-9.-]{1,253}\s{1,80}\d{1,4}/\d{1,4}\s{1,16}[A-Za-z]{1,40}\s{1,16}\d{1,6}\b.{0,80}")


def parse_nccl_tests(text: str) -> Parsed[CollectiveReading]:
    """Read all runs of a log."""
    return _Log().read(text)


class _Log:
    """The lines of a log, with what the lines before said."""

    def __init__(self) -> None:
        self.parsed = Parsed[CollectiveReading]()
        self.columns: list[str] = []
        self.test = self.version = self.running = ""
        self.bounds: tuple[int, bool | None] | None = None
        self.awaits_rows = False
        self.of_nccl: list[tuple[int, str]] = []

    def read(self, text: str) -> Parsed[CollectiveReading]:
        for number, raw in numbered(text):
            line = without_escapes(raw).rstrip()
            if line and not (self._comment(line) if line[0] == "#" else self._plain(number, line)):
                self.parsed.cannot_read(number, line)
        if self.bounds:
            self._summary(None, "")
        self._unanswered()
        self._read_nccl()
        return self.parsed

    def _unanswered(self) -> None:
        if self.awaits_rows:
            self.parsed.add(CollectiveUnanswered(self.running))
        self.awaits_rows = False

    def _read_nccl(self) -> None:
        said = read_nccl_log(self.of_nccl)
        for reading in said.readings:
            self.parsed.add(reading)
        for line in said.unread:
            self.parsed.cannot_read(line.number, line.text, line.why)

    def _plain(self, number: int, line: str) -> bool:
        if _ROW.match(line):
            self.awaits_rows = False
            times = times_of_row(line.split(), self.columns)
            for time in times:
                self.parsed.add(time)
            return bool(times)
        if nccl := _NCCL.match(line):
            self._nccl(number, line, nccl)
        elif failure := _FAILURE.fullmatch(line[:1500]):
            self.awaits_rows = False
            pid = int(failure[2]) if failure[2] else None
            self.parsed.add(
                CollectiveFailure(failure[1] or "", pid, failure[3] or "", failure[4], (failure[5] or "").strip())
            )
        else:
            return bool(_NOTHING.fullmatch(line) or _POD.fullmatch(line) or prompt_of(line))
        return True

    def _nccl(self, number: int, line: str, nccl: re.Match[str]) -> None:
        """Information of NCCL is left to its own parser; its warnings explain a failed run."""
        if nccl[4] == "WARN":
            device = int(nccl[3]) if nccl[3] else None
            self.parsed.add(CollectiveWarning(nccl[1], int(nccl[2]), device, nccl[5].strip()))
        elif len(self.of_nccl) < MOST_READINGS:
            self.of_nccl.append((number, line))

    def _comment(self, line: str) -> bool:
        if found := _RANK.match(line):
            self.parsed.add(_rank(found))
        elif _HEADING.match(line):
            self._unanswered()
            self.columns, self.awaits_rows = line.lstrip("#").split(), True
        elif found := _RUN.match(line):
            self.parsed.add(_run(found, self.test, self.version))
            self.running = self.test
            self.test = self.version = ""
        elif found := _VERSION.match(line):
            self.version = found[1]
        elif found := _TEST.match(line):
            self.test = "" if "concluded" in line else found[1]
        elif found := _BOUNDS.match(line):
            self.bounds = int(found[1]), found[2] == "OK" if found[2] else None
        elif found := _AVERAGE.match(line):
            self._summary(number_of(found[1]), found[2] or "")
        elif line.startswith("# error: "):
            self.awaits_rows = False
            self.parsed.add(CollectiveFailure("", None, "NCCL", "", line[9:1000].strip()))
        else:
            return bool(_NOTHING.fullmatch(line) or prompt_of(line))
        return True

    def _summary(self, average: float | None, verdict: str) -> None:
        self.awaits_rows = False
        count, good = self.bounds or (None, None)
        self.parsed.add(CollectiveSummary(count, good, average, verdict))
        self.bounds = None


def times_of_row(cells: list[str], columns: list[str]) -> list[CollectiveTime]:
    """Both measurements of a row; none where the cells don't fit the columns.

    `redop` (and `root` after it) may be headed and yet empty, and a timestamp is two words.
    """
    if "timestamp" in columns and len(cells) > len(columns) - 1:
        cells = cells[:-2] if "-" in cells[-2] else cells
        columns = columns[:-1]
    short = len(columns) - len(cells)
    empty = [name for name in ("redop", "root") if name in columns][:short]
    named = [name for name in columns if name not in empty] if short > 0 else columns
    if len(named) != len(cells):
        return []
    starts = [at for at, name in enumerate(named) if name in ("time", "cputime")]
    if len(starts) != 2 or not cells[0].isdecimal() or not cells[1].isdecimal():
        return []
    row = dict(zip(named[: starts[0]], cells, strict=False))
    iterations = cells[named.index("#iters")] if "#iters" in named else ""
    sides = (slice(starts[0], starts[1]), slice(starts[1], None))
    return [
        _time(row, dict(zip(named[side], cells[side], strict=True)), in_place=side is sides[1], iterations=iterations)
        for side in sides
    ]


def _time(row: dict[str, str], side: dict[str, str], *, in_place: bool, iterations: str) -> CollectiveTime:
    checked = {name: side[f"{mark}{name}"] for mark, name in (("#", "wrong"), ("", "error")) if f"{mark}{name}" in side}
    missing = {name: why for name, value in checked.items() if (why := missing_of(value))}
    wrong = number_of(checked.get("wrong", ""))
    return CollectiveTime(
        size=int(row["size"]),
        count=int(row["count"]),
        type=row.get("type", ""),
        redop=row.get("redop"),
        root=integer_of(row.get("root", "")),
        in_place=in_place,
        time_us=number_of(side.get("time", side.get("cputime", ""))),
        algbw=number_of(side.get("algbw", "")),
        busbw=number_of(side.get("busbw", "")),
        wrong=None if wrong is None else int(wrong),
        error=number_of(checked.get("error", "")),
        iterations=integer_of(iterations),
        missing=missing,
    )


def _rank(found: re.Match[str]) -> CollectiveRank:
    place = found[5]
    bus = place.split(":")[-2] if ":" in place else place
    return CollectiveRank(
        rank=int(found[1]),
        host=found[3],
        device=int(found[4]),
        bus_address=bus_address(place),
        bus=int(bus, 16) if bus and "." not in bus else None,
        name=found[6].strip(),
        pid=int(found[2]),
    )


def _run(found: re.Match[str], test: str, version: str) -> CollectiveRun:
    iterations, validation = _ITERATIONS.search(found[7]), _VALIDATION.search(found[7])
    return CollectiveRun(
        test=test,
        threads=int(found[1]),
        gpus=int(found[2]),
        min_bytes=int(found[3]),
        max_bytes=int(found[4]),
        step=int(found[5]),
        step_is=found[6],
        iterations=int(iterations[1]) if iterations else None,
        validates=validation[1] == "1" if validation else None,
        version=version,
    )


def _recognizes(head: str) -> bool:
    telling = (_RUN, _HEADING, _BOUNDS, _AVERAGE)
    return any(line.startswith("#") and any(one.match(line) for one in telling) for line in head.splitlines())


TOOL = Tool(
    name="nccl-tests",
    recognizes=_recognizes,
    parse=parse_nccl_tests,
    file_names=("*nccl*test*", "*all*reduce*", "*all*gather*", "*alltoall*", "*sendrecv*", "*reduce_scatter*"),
)
