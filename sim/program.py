"""What a node program is, played by the world: it reads a task, asks for a transfer, and answers in its lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..incident.ids import NodeId
from ..incident.source import Task
from .hardware import Hardware
from .ledger import CudaError, Transfer
from .readings import Readings

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A transfer that a program wants timed, on behalf of one task or of several that are one trial."""

    operation: str
    ends: tuple[str, ...]
    """GPUs, source first, as `sim1/gpu3`."""
    windows: int
    window_ms: float
    warm_ms: float
    both_ways: bool = False


@dataclass(frozen=True, slots=True)
class Party:
    """A task on its node."""

    node: NodeId
    task: Task
    hardware: Hardware
    plan: Any
    """What the program read of the task's arguments."""


class Program(Protocol):
    """A program of `fleet/node/`, as far as anybody outside the node can tell."""

    @property
    def start_seconds(self) -> float:
        """Node time from the launch to the warm-up."""

    def read(self, task: Task, hardware: Hardware) -> Any | CudaError:
        """Its arguments, checked; or what it answers to those that fit nothing."""

    def wanted(self, parties: Sequence[Party]) -> Wanted | CudaError | None:
        """What tasks that are one trial want timed together; None: nothing. An error is that of all of them."""

    def lines(self, party: Party, transfer: Transfer, before: Readings, seconds: float) -> Iterator[Line]:
        """What a task prints after a transfer that ran: all lines. `before`: its node's counters. `seconds`: node time,
        launch included."""


def lines_of_error(error: CudaError, seconds: float) -> Iterator[Line]:
    """The lines of a task that failed."""
    yield {"error": {"call": error.call, "name": error.name, "code": error.code, "text": error.text}}
    yield {"end": "failed", "seconds": round(seconds, 6)}
