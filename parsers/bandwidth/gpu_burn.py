"""gpu-burn: matrix products on every GPU, compared with each other.

Progress is printed over and over after a carriage return, many times in one long line, until a `Summary at:` closes the
window and the error counts begin again at zero: kept is the last state of each window. A GPU is `FAULTY` if any window
had errors.
Source: captures bandwidth/gpu-burn-*; wilicc/gpu-burn gpu_burn-drv.cpp for `DIED!`, `--` and power.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ..parsed import LONGEST_LINE, Count, Parsed
from ..plain import prompt_of, without_escapes
from ..tool import Tool

MOST_GPUS = 1024
_WRAPPED = 2**31
"""Errors are counted in a signed 32-bit number: a negative one has passed this."""


@dataclass(frozen=True, slots=True)
class BurnGpu:
    """A GPU as listed before the start."""

    gpu: int
    name: str
    uuid: str


@dataclass(frozen=True, slots=True)
class BurnSetup:
    """What was set up on a GPU."""

    gpu: int
    memory_mb: int
    used_mb: int
    precision: str
    """`FLOATS` or `DOUBLES`."""
    tensor_cores: bool


@dataclass(frozen=True, slots=True)
class BurnWindow:
    """What one GPU had done at the end of one window between two summaries."""

    gpu: int
    """Position among the GPUs burnt."""
    window: int
    """From 0."""
    percent: float
    """Of the time of the whole run."""
    iterations: int | None
    """Since the start; None once the GPU's process has died."""
    gflops: float
    """Of its latest round; 0 until the first is done."""
    errors: Count
    """Wrong values in this window."""
    died: bool
    temperature_c: int | None
    power_w: int | None = None


@dataclass(frozen=True, slots=True)
class BurnVerdict:
    """The tool's last word on a GPU."""

    gpu: int
    ok: bool


@dataclass(frozen=True, slots=True)
class BurnFailure:
    """Why it could not burn, in its words."""

    text: str


BurnReading: TypeAlias = BurnGpu | BurnSetup | BurnWindow | BurnVerdict | BurnFailure

_GPU = re.compile(r"\s{0,4}GPU (\d{1,4}): (.{1,200}) \(UUID: ([\w-]{1,80})\)\s{0,80}")
_SETUP = re.compile(
    r"(?:Killing processes\.\. )?Initialized device (\d{1,4}) with (\d{1,9}) MB of memory \(\d{1,9} MB available, "
    r"using (\d{1,9}) MB of it\), using (FLOATS|DOUBLES)(, using Tensor Cores)?\s{0,80}"
)
_PERCENT = re.compile(r"(\d{1,3}\.\d)%")
_DONE = re.compile(r"(-?\d{1,12}) \((\d{1,12}) Gflop/s\)")
_ERRORS = re.compile(r"(-?\d{1,12})\s{0,4}(\((?:WARNING|DIED)!\))?")
_WATTS_OR_DEGREES = re.compile(r"(\d{1,5}) [CW]|--")
_BETWEEN = re.compile(r"(?<=[ )])- ")
"""A dash after one GPU's part; the dashes of `--` and of a negative number are none."""
_SUMMARY = re.compile(r"\s{0,16}Summary at:\s.{0,80}")
_VERDICT = re.compile(r"\s{0,16}GPU (\d{1,4}): (OK|FAULTY)\s{0,80}")
_FAILURE = re.compile(
    r"(?:Failure during compute|Couldn't init a GPU test|Error in|Couldn't read|No clients are alive|No CUDA devices"
    r"|read\[\d{1,4}\] error"
    r"|Could not invoke nvidia-smi|CUDA error).{0,400}"
)
_END = re.compile(r"Killing processes.{0,80}|Tested \d{1,4} GPUs:")
_NOTHING = re.compile(
    r"\.{3}|Results are \d{1,15} bytes each.{0,80}|Freed memory for dev \d{1,4}|Uninitted cublas|done"
    r"|Using compare file: .{0,200}"
    r"|Burning for \d{1,9} seconds\.?|GPU Burn.{0,80}|Run length not specified.{0,80}"
)


def parse_gpu_burn(text: str) -> Parsed[BurnReading]:
    """Read a run; progress that was overwritten within its window is passed over."""
    return _Burn().read(text)


class _Burn:
    """The pieces of a run, with the window under way."""

    def __init__(self) -> None:
        self.parsed = Parsed[BurnReading]()
        self.window = 0
        self.latest: list[BurnWindow] = []

    def read(self, text: str) -> Parsed[BurnReading]:
        for number, raw in _pieces(text):
            line = without_escapes(raw).strip()
            if not line:
                continue
            if "proc'd:" in line:
                windows = _windows(line, self.window)
                self.latest = windows or self.latest
                understood = bool(windows)
            else:
                understood = self._line(line)
            if not understood:
                self.parsed.cannot_read(number, line)
        self._close()
        return self.parsed

    def _line(self, line: str) -> bool:
        if found := _VERDICT.fullmatch(line):
            self.parsed.add(BurnVerdict(int(found[1]), found[2] == "OK"))
        elif found := _GPU.fullmatch(line):
            self.parsed.add(BurnGpu(int(found[1]), found[2], found[3]))
        elif found := _SETUP.fullmatch(line):
            if line.startswith("Killing"):
                self._close()
            gpu, memory, used = (int(found[part]) for part in (1, 2, 3))
            self.parsed.add(BurnSetup(gpu, memory, used, found[4], bool(found[5])))
        elif _SUMMARY.fullmatch(line) or _END.fullmatch(line):
            self._close()
        elif _FAILURE.match(line):
            self.parsed.add(BurnFailure(line[:400]))
        else:
            return bool(_NOTHING.fullmatch(line) or prompt_of(line))
        return True

    def _close(self) -> None:
        """End the window; an end that is printed twice closes it once."""
        for window in self.latest:
            self.parsed.add(window)
        self.window += bool(self.latest)
        self.latest = []


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """What was printed between line ends and carriage returns, with the number of its line."""
    start, number = 0, 1
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        while start <= end:
            stop = text.find("\r", start, end)
            stop = end if stop < 0 else stop
            yield number, text[start : min(stop, start + LONGEST_LINE)]
            start = stop + 1
        number += 1


def _windows(line: str, window: int) -> list[BurnWindow]:
    """One state for each GPU; none where the parts of the line don't tell of as many GPUs as each other."""
    share, _, rest = line.partition("proc'd:")
    done, _, rest = rest.partition(" errors:")
    errors, _, rest = rest.partition(" temps:")
    degrees, _, watts = rest.partition(" power:")
    percent = _PERCENT.fullmatch(share.strip())
    states = [_each(_DONE, done), _each(_ERRORS, errors), _each(_WATTS_OR_DEGREES, degrees)]
    states.append(_each(_WATTS_OR_DEGREES, watts) if watts else [None] * len(states[0]))
    if not percent or not states[0] or len({len(state) for state in states}) > 1:
        return []
    found = list(zip(*states, strict=True))
    if not all(done and wrong and warm for done, wrong, warm, _ in found):
        return []
    return [_window(gpu, window, float(percent[1]), parts) for gpu, parts in enumerate(found)]


def _each(form: re.Pattern[str], text: str) -> list[re.Match[str] | None]:
    return [form.fullmatch(part.strip()) for part in _BETWEEN.split(text, MOST_GPUS)]


def _window(gpu: int, window: int, percent: float, parts: tuple[re.Match[str] | None, ...]) -> BurnWindow:
    done, wrong, degrees, watts = parts
    assert done
    assert wrong
    assert degrees
    iterations, errors = int(done[1]), int(wrong[1])
    return BurnWindow(
        gpu=gpu,
        window=window,
        percent=percent,
        iterations=None if iterations < 0 else iterations,
        gflops=float(done[2]),
        errors=Count(_WRAPPED, at_least=True) if errors < 0 else Count(errors),
        died=iterations < 0 or wrong[2] == "(DIED!)",
        temperature_c=int(degrees[1]) if degrees[1] else None,
        power_w=int(watts[1]) if watts and watts[1] else None,
    )


def _recognizes(head: str) -> bool:
    if "proc'd:" in head and "Gflop/s)" in head:
        return True
    return any(_SETUP.fullmatch(line) or _END.fullmatch(line) for line in head.splitlines()) and "GPU" in head


TOOL = Tool(
    name="gpu-burn",
    recognizes=_recognizes,
    parse=parse_gpu_burn,
    file_names=("*gpu*burn*",),
)
