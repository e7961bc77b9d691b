"""The seam to whatever yields events: a live fleet, the simulated world, a replayed bundle."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from .events import Event, OutputRead
from .ids import NodeId


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """A command that ran on a node, with its bytes; the session keeps them and records `CommandEnded`."""

    node: NodeId
    argv: tuple[str, ...]
    exit_status: int | None
    stdout: bytes
    stderr: bytes
    started: float
    ended: float
    why: str = ""
    """Why there is no exit status."""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a node program in the node's warm probe worker."""

    id: str
    program: str
    """File name in `fleet/node/`, without `.py`: `cuda_copy`."""
    arguments: Mapping[str, Any]
    """Plain JSON values, checked by the program."""
    joint: str = ""
    """Tasks of one name, on whatever nodes, are one trial: what one of them tells, the others are told."""


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """What a node program answered."""

    id: str
    lines: tuple[Mapping[str, Any], ...]
    """Its JSON lines, in order."""
    started: float
    ended: float
    """Operator's clock."""
    seconds: float = 0.0
    """Node time it took, launch included; of a simulated node the simulated seconds."""
    error: str = ""
    """One sentence; empty when it ran to its end."""
    code: str = ""
    """Code of the error class (errors.py)."""
    raw: bytes = field(default=b"", repr=False)
    """The lines verbatim, for evidence."""


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """An output found in a file, with its readings; the session records the event and judges by the readings."""

    event: OutputRead
    readings: tuple[object, ...]


Intake: TypeAlias = Event | CommandOutput | ReadOutput


class Source(Protocol):
    """Yields events and takes requests. Nothing above it knows which source it is."""

    @property
    def kind(self) -> str:
        """`ssh`, `sim`, `replay` or `files`."""

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """All nodes, reachable or not, in the operator's order."""

    def events(self) -> AsyncIterator[Intake]:
        """Connect and yield until closed. A sick node costs the others nothing."""

    async def run_command(self, node: NodeId, argv: Sequence[str], deadline: float) -> CommandOutput:
        """Run one command on a node; never raises for what the node does: see `why`."""

    async def run_tasks(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> tuple[TaskOutput, ...]:
        """Run tasks at once in the node's warm probe worker, their first windows started together.

        Raises Busy when somebody else holds the node's lock or compute processes run on it, and NodeError when the
        node can't be used."""

    async def run_joint(
        self, tasks: Mapping[NodeId, Sequence[Task]], deadline: float
    ) -> Mapping[NodeId, tuple[TaskOutput, ...]]:
        """Run tasks on several nodes at once, relaying between those of one `joint` name what they tell each other.

        Never raises for what a node does: its tasks, and those that needed them, come back with an error and code."""

    async def close(self) -> None:
        """End everything, on the nodes too; returns within 3 seconds."""
