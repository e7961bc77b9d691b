"""What a DCGM diagnostic says, in text and JSON alike: results by test and GPU, messages, and what it ran with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class DiagStatus(StrEnum):
    """How a test ended. A test that was skipped or not run says nothing of the part."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    NOT_RUN = "not run"


_STATUS = re.compile(r"\s{0,60}(pass|fail|warn|skip|not run)(?:ed|ing|ped)?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DiagResult:
    """How one test ended on one GPU, or as a whole."""

    test: str
    """`GPU Memory`, `Persistence Mode`, `software`: as printed."""
    category: str
    """`Deployment`, `Integration`, `Hardware`, `Stress`; empty in an excerpt that does not show it."""
    status: DiagStatus
    entity: str
    """`GPU`, `CPU`, `CX` or `Switch`; empty where the result is of the test as a whole."""
    gpu: int | None
    """Number of the entity, as DCGM counts; None where the result is of the test as a whole."""
    all_gpus: bool = False
    """`Pass - All`: of each GPU."""
    iteration: int | None = None
    """From 1, of a diagnostic that was run several times over."""


@dataclass(frozen=True, slots=True)
class DiagMessage:
    """What a test has to say: why it failed, or what it measured."""

    kind: str
    """`Warning`, `Error` or `Info`. A test that passed may warn."""
    text: str
    """Put together again where the table wrapped it."""
    category: str
    test: str | None
    """None in an excerpt that does not show it."""
    entity: str
    gpu: int | None
    error_id: int | None = None
    """dcgmError_t, in JSON."""
    severity: int | None = None
    iteration: int | None = None


@dataclass(frozen=True, slots=True)
class DiagMetadata:
    """What the diagnostic ran with: no result."""

    name: str
    """`DCGM Version`, `Driver Version Detected`, `GPU Device IDs Detected`, as the text form names them."""
    value: str


@dataclass(frozen=True, slots=True)
class DiagNotRun:
    """The diagnostic did not run or broke off: nothing was tested."""

    reason: str


DiagReading = DiagResult | DiagMessage | DiagMetadata | DiagNotRun

_GPU_IN_TEXT = re.compile(r"\bGPU:? ?(\d{1,4})\b")


def status_of(text: str) -> DiagStatus | None:
    """`Pass - All`, `FAIL`, `Skip`, `Not Run`; None for anything else."""
    found = _STATUS.match(text)
    return DiagStatus(found[1].lower()) if found else None


def gpu_named_in(text: str) -> tuple[str, int | None]:
    """Entity and number of the first GPU that a message names."""
    found = _GPU_IN_TEXT.search(text[:400])
    return ("GPU", int(found[1])) if found else ("", None)
