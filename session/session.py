"""The session: the single intake of everything that is learned or done in one incident."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from pathlib import Path

from .. import __version__
from ..evidence.case import Case
from ..incident.errors import InputError
from ..incident.events import (
    AnyJournalEvent,
    BundleWritten,
    CommandEnded,
    Entry,
    Event,
    FindingCleared,
    FindingRaised,
    NoteWritten,
    SampleTaken,
    SessionOpened,
    Ticked,
)
from ..incident.fold import Incident
from ..incident.ids import NodeId
from ..incident.snapshot import Snapshot
from ..incident.source import CommandOutput, Intake, ReadOutput, Source
from ..signals.judge import compare, judge
from ..signals.readings import NOTHING_READ, Readings
from ..topology.fabric import Fabric
from ..topology.sources.facts import FabricReader
from .collect import collect_and_write
from .investigation import Investigation
from .outputs import output_of_file, outputs_of_command
from .survey import survey

TICK = 1.0
"""Seconds between two `Ticked` events."""
STILL = ("files",)
"""Kinds of source in which no time passes, and that nothing can be asked of."""


class Session:
    """Runs one incident from a source into a case.

    Everything enters through `record`, in one order, with one sequence number; views and commands read `snapshot()`.
    """

    def __init__(
        self,
        source: Source,
        case: Case,
        hint: Callable[[Snapshot], str] | None = None,
        fabric: Fabric | None = None,
    ) -> None:
        """`fabric`: of a source that tells more of it than facts do, and never changes."""
        self.source = source
        self.case = case
        self.hint = hint
        self.investigation: Investigation | None = None
        self._incident = Incident()
        self._seq = 0
        self._journalled = 0
        self._samples: dict[NodeId, int] = {}
        self._snapshot = Snapshot()
        self._readings = NOTHING_READ
        self._unread: list[tuple[str, CommandOutput]] = []
        self._fabrics = FabricReader()
        self._fabric = fabric
        self._settled = 0
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()

    @property
    def case_path(self) -> Path:
        """The folder everything is kept in."""
        return self.case.path

    def snapshot(self) -> Snapshot:
        """What is known now."""
        if self._snapshot.seq != self._seq:
            self._snapshot = self._incident.snapshot()
        return self._snapshot

    def fabric(self) -> Fabric:
        """The parts and wires of all nodes as their facts tell; nodes are read anew when facts of theirs come in."""
        if self._fabric is not None:
            return self._fabric
        snapshot = self.snapshot()
        return self._fabrics.fabric(snapshot.nodes.values(), snapshot.network)

    def record(self, event: Event) -> str:
        """Take one event into the log, the fold and the case; returns its id."""
        self._seq += 1
        entry = Entry(self._seq, self._next_id(event), event)
        self.case.append(entry)
        self._incident.apply(entry)
        self._changed.set()
        return entry.id

    async def readings(self) -> Readings:
        """What tools printed: commands on the nodes, and files that were handed in."""
        unread, self._unread = self._unread, []
        for id_, output in unread:
            read = await asyncio.to_thread(outputs_of_command, id_, output)
            self._readings = self._readings.with_outputs(read)
        return self._readings

    def record_output(self, output: CommandOutput) -> str:
        """Keep a command's bytes and record that it ended; what it printed is read before findings are next settled."""
        id_ = self.record(self._command_ended(output))
        self._unread.append((id_, output))
        return id_

    def note(self, text: str, by: str = "operator") -> None:
        """Write something down."""
        self.record(NoteWritten(time=time.time(), text=text, by=by))

    async def run(self) -> None:
        """Follow the source until `stop`; the case is closed at the end, whatever happens."""
        self.record(
            SessionOpened(
                time=0.0 if self.source.kind in STILL else time.time(),
                case=self.case.path.name,
                version=__version__,
                hosts=self.source.nodes,
                source=self.source.kind,
            )
        )
        tasks = [asyncio.create_task(self._pump()), asyncio.create_task(self._tick())]
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
            if self.investigation is not None:
                await self.investigation.end()
        finally:
            await self.source.close()
            for task in (*tasks, stopped):
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            self.case.close()
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def stop(self) -> None:
        """Ask `run` to end."""
        self._stopping.set()

    async def until(self, holds: Callable[[Snapshot], bool], deadline: float) -> bool:
        """Wait until the snapshot satisfies `holds`; False when `deadline` seconds passed first."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline):
                while not holds(self.snapshot()):
                    self._changed.clear()
                    await self._changed.wait()
                return True
        return False

    def investigate(
        self,
        nodes: Sequence[NodeId],
        budget: float | None = None,
        approve_all: bool = False,
        without: Collection[str] = (),
        drained: bool = False,
    ) -> Investigation:
        """Begin to localize a fault on `nodes`, `without` some probes; at most one investigation runs at a time."""
        self._refuse_if_still("probed")
        if self.investigation is not None and self.investigation.is_open:
            return self.investigation
        self.investigation = Investigation(self, nodes, budget, approve_all, without, drained)
        self.investigation.start()
        return self.investigation

    async def bundle(
        self,
        out: Path | None = None,
        deadline: float = 120.0,
        progress: Callable[[str], None] | None = None,
        confirm: Callable[[], Awaitable[bool]] | None = None,
    ) -> BundleWritten:
        """Collect what volatile state there is, then write the bundle; `out` defaults to the case folder."""
        self._refuse_if_still("collected from")
        if confirm is not None and not await confirm():
            raise asyncio.CancelledError
        return await collect_and_write(self, out, deadline, progress or (lambda _: None))

    async def survey(self, told: Callable[[str], None] | None = None) -> int:
        """Ask live nodes for settings and states that rules judge by; how many were asked. Read-only."""
        self._refuse_if_still("asked")
        return await survey(self, told)

    def _refuse_if_still(self, what: str) -> None:
        if self.source.kind in STILL:
            raise InputError(f"these are files and no nodes, so nothing can be {what}; connect to the nodes for that")

    async def _pump(self) -> None:
        async for item in self.source.events():
            self._take(item)
        await self._stopping.wait()

    async def _tick(self) -> None:
        while True:
            if self.source.kind not in STILL:
                self.record(Ticked(time=time.time()))
            if self._settled != self._seq:
                await self._settle_findings()
                self._settled = self._seq
            await asyncio.sleep(TICK - time.time() % TICK)

    async def _settle_findings(self) -> None:
        snapshot, fabric, readings = self.snapshot(), self.fabric(), await self.readings()
        found = await asyncio.to_thread(judge, snapshot, fabric, readings)
        change = compare(snapshot.findings, found)
        for finding in change.raised:
            self.record(FindingRaised(time=snapshot.now, finding=finding))
        for key in change.cleared:
            self.record(FindingCleared(time=snapshot.now, key=key))

    def _take(self, item: Intake) -> None:
        match item:
            case CommandOutput():
                self.record_output(item)
            case ReadOutput():
                read = output_of_file(self.record(item.event), item)
                self._readings = self._readings.with_outputs((read,))
            case _:
                self.record(item)

    def _command_ended(self, output: CommandOutput) -> AnyJournalEvent:
        return CommandEnded(
            time=output.ended,
            node=output.node,
            argv=output.argv,
            exit_status=output.exit_status,
            stdout=self.case.keep(output.stdout),
            stderr=self.case.keep(output.stderr),
            started=output.started,
            ended=output.ended,
            why=output.why,
            truncated=output.truncated,
        )

    def _next_id(self, event: Event) -> str:
        if isinstance(event, SampleTaken):
            count = self._samples[event.node] = self._samples.get(event.node, 0) + 1
            return f"{event.node}#{count}"
        self._journalled += 1
        return f"J{self._journalled}"


@contextlib.asynccontextmanager
async def running(session: Session) -> AsyncIterator[Session]:
    """The session running beside the block; stopped and closed at its end. If it breaks off, so does the block."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(session.run())
            try:
                yield session
            finally:
                await session.stop()
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
