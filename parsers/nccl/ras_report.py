"""What a report of NCCL's RAS service says of a job, its communicators, and the ranks that stand out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .ras_event import RasEvent


@dataclass(frozen=True, slots=True)
class RasJob:
    """The job as a whole; None for what its nodes or processes don't have in common."""

    nodes: int
    processes_per_node: int | None
    gpus_per_process: int | None
    processes: int
    gpus: int


@dataclass(frozen=True, slots=True)
class RasNodes:
    """Some nodes of a job of uneven shape."""

    nodes: int
    processes_per_node: int
    gpus_per_process: int | None


@dataclass(frozen=True, slots=True)
class RasProcesses:
    """Some processes of a job of uneven shape."""

    processes: int
    gpus_per_process: int


@dataclass(frozen=True, slots=True)
class RasCollection:
    """How long it took to gather the data: RAS waits for processes that don't answer."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RasGroup:
    """Communicators of one shape and state."""

    group: int
    communicators: int
    nodes: int
    ranks_per_node_least: int
    ranks_per_node_most: int
    ranks: int
    """Of each communicator."""
    ranks_in_group: int
    status: str
    """`INIT`, `RUNNING`, `FINALIZE`, `ABORT`, `UNKNOWN` or `NOCOMM`."""
    errors: str
    """`OK`, `MISMATCH`, `INCOMPLETE`, `ERROR`, or several joined."""


@dataclass(frozen=True, slots=True)
class OfCommunicator:
    """Which communicator it is about: the `#0-0 (hash)` of the heading above."""

    group: int | None
    """None where it is about processes, and so below."""
    index: int | None
    """Within the group."""
    hash: str


@dataclass(frozen=True, slots=True)
class RasProblem(OfCommunicator):
    """A heading among errors and warnings."""

    kind: str
    """`INCOMPLETE`, `DEAD`, `ERROR`, `TIMEOUT` or `MISMATCH`."""
    section: str
    """`Errors`, `Warnings`, or empty in an excerpt."""
    count: int | None
    """Processes or ranks missing, timeouts, ranks in error."""


@dataclass(frozen=True, slots=True)
class RasProcess:
    """A process that did not answer, or is taken for dead."""

    pid: int
    node: str
    gpus: tuple[int, ...]
    """CUDA devices."""
    nvml_gpus: tuple[int, ...]
    problem: str
    """`INCOMPLETE` or `DEAD`."""


@dataclass(frozen=True, slots=True)
class RasShare(OfCommunicator):
    """How many ranks have something in common."""

    ranks: int
    of: str
    """`status`, `operations` (started up to that number) or `error`."""
    value: str


@dataclass(frozen=True, slots=True)
class RasRank(OfCommunicator):
    """A rank that stands out."""

    rank: int
    gpu: int | None
    """CUDA device; None where RAS does not know the process, and so below."""
    nvml_gpu: int | None
    pid: int | None
    node: str
    of: str
    """As of the share it is in; `missing` of a rank that gave no data."""
    value: str


RasReading: TypeAlias = (
    RasJob
    | RasNodes
    | RasProcesses
    | RasCollection
    | RasGroup
    | RasProblem
    | RasProcess
    | RasShare
    | RasRank
    | RasEvent
)
