"""Files as the source of an incident: their events once, and no requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...incident.errors import InputError
from ...incident.events import Event
from ...incident.ids import NodeId
from ...incident.source import CommandOutput, Intake, ReadOutput, Task, TaskOutput
from ...parsers.intake import Section
from ...topology.fabric import Fabric
from ...topology.gather import gather
from ...topology.merge import merge
from .events import events_of
from .handed_in import HandedIn, handed_in

REFUSAL = "these are files, not nodes: nothing can be run on them"


class FileSource:
    """What some paths hold, read once. `kind` is `files`: time stands still in it, and nothing is asked of a node."""

    kind = "files"

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read all of it; raises InputError for a path that is not there."""
        self.outputs = tuple(handed_in(paths))
        self.fabric = fabric_of(self.outputs)
        self._closed = asyncio.Event()

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """Nodes that any output is of."""
        return tuple(dict.fromkeys(one.node for one in self.outputs))

    def told(self) -> Iterable[Event | ReadOutput]:
        """All events, in order."""
        return events_of(self.outputs, self.fabric)

    async def events(self) -> AsyncIterator[Intake]:
        """All events, then nothing until it is closed."""
        for event in self.told():
            yield event
        await self._closed.wait()

    async def run_command(self, node: NodeId, argv: Sequence[str], deadline: float) -> CommandOutput:
        """Refused: there is no node."""
        return CommandOutput(node, tuple(argv), None, b"", b"", 0.0, 0.0, why=REFUSAL)

    async def run_tasks(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> tuple[TaskOutput, ...]:
        """Refused: there is no node."""
        raise InputError(REFUSAL)

    async def run_joint(
        self, tasks: Mapping[NodeId, Sequence[Task]], deadline: float
    ) -> Mapping[NodeId, tuple[TaskOutput, ...]]:
        """Refused: there is no node."""
        raise InputError(REFUSAL)

    async def close(self) -> None:
        """Nothing is open."""
        self._closed.set()


def fabric_of(outputs: Iterable[HandedIn]) -> Fabric:
    """The parts and wires that the outputs tell, each output of the node that it was found to be of."""
    return merge(gather([_named(one) for one in outputs], "unknown").claims)


def _named(one: HandedIn) -> Section:
    return replace(one.section, host=str(one.node))
