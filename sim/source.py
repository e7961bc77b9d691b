"""The world as a source of events, in process, with no SSH and no node programs: for benchmarks and for tests."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..incident.errors import Busy, Hung, LanescopeError, NodeError, NoPython, Refused, Unreachable
from ..incident.events import (
    ClockMeasured,
    DomainHung,
    Fact,
    FactsRead,
    Field,
    LogRead,
    NodeState,
    NodeStateChanged,
    SampleTaken,
    SchemaDeclared,
)
from ..incident.ids import ComponentId, NodeId
from ..incident.source import CommandOutput, Intake, Task, TaskOutput
from .ledger import Key, Ledger
from .readings import domain_of
from .scenario import Sickness
from .trials import Trials
from .world import World

HUNG_AFTER = 3.2
"""Seconds until a stuck worker on the node is reported."""
SURVIVES_OFF_BUS = ("bus_address", "numa", "pcie_path")
"""Facts of a GPU that sysfs still tells when NVML no longer does."""

_FAILURES: dict[str, type[NodeError]] = {"refuses": Refused, "no-python": NoPython, "silent": Unreachable}
_REASONS = {
    "refuses": "the node refuses the log-in: Permission denied (publickey)",
    "no-python": "nothing on the node can run the collector: no python3 found",
    "silent": "the node does not answer: no reply within 5 s",
}


class WorldSource:
    """Yields what the nodes of a world show and plays the node programs on them (programs.py).

    `pace`: how many times faster than real time everything goes, on top of the scenario's speed for probes. At
    infinity tasks never wait and run in the time of the load clock, so that runs repeat to the bit.
    """

    kind = "sim"

    def __init__(self, world: World, nodes: Sequence[str] | None = None, pace: float = 1.0) -> None:
        self.world = world
        self._pace = pace
        self.nodes: tuple[NodeId, ...] = tuple(NodeId(name) for name in (nodes or world.scenario.nodes))
        self._ledgers = {node: Ledger() for node in self.nodes}
        self._read_until = dict.fromkeys(self.nodes, -math.inf)
        self._locks = {node: asyncio.Lock() for node in self.nodes}
        self._closed = asyncio.Event()
        self._trials = Trials(world)

    async def events(self) -> AsyncIterator[Intake]:
        """All nodes' introductions, then their samples and log lines once a second, until closed."""
        for node in self.nodes:
            for event in self._introduction(node, time.time()):
                yield event
        for tick in itertools.count():
            for node in self.nodes:
                for event in self._tick(node, time.time(), tick):
                    yield event
            if await self._closes_within(1.0 / self._pace if math.isfinite(self._pace) else 1.0):
                return

    async def run_command(self, node: NodeId, argv: Sequence[str], deadline: float) -> CommandOutput:
        """There are no tools here but one that looks at the network: 127, as a shell says it."""
        now = time.time()
        if tuple(argv) == ("ibnetdiscover",):
            return CommandOutput(node, tuple(argv), 0, self.world.fabric_text(now).encode(), b"", now, now)
        complaint = f"{argv[0] if argv else 'sh'}: command not found\n".encode()
        return CommandOutput(node, tuple(argv), 127, b"", complaint, now, now)

    async def run_tasks(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> tuple[TaskOutput, ...]:
        """Run tasks at once. Raises Busy when others run there or a job computes there, NodeError for a sick node."""
        started = time.time()
        self._refuse(node, started)
        return (await self._run({node: tasks}, started))[node]

    async def run_joint(
        self, tasks: Mapping[NodeId, Sequence[Task]], deadline: float
    ) -> Mapping[NodeId, tuple[TaskOutput, ...]]:
        """Run tasks on several nodes at once; what fails on one is the error of its tasks, and of those joined to
        them."""
        started = time.time()
        failed: dict[NodeId, LanescopeError] = {}
        for node in tasks:
            try:
                self._refuse(node, started)
            except LanescopeError as error:
                failed[node] = error
        lost = {task.joint: error for node, error in failed.items() for task in tasks[node] if task.joint}
        runs = {
            node: [task for task in mine if task.joint not in lost]
            for node, mine in tasks.items()
            if node not in failed
        }
        runs = {node: mine for node, mine in runs.items() if mine}
        outputs = await self._run(runs, started) if runs else {}
        return {
            node: tuple(
                next((output for output in outputs.get(node, ()) if output.id == task.id), None)
                or _failed(task, failed.get(node) or lost[task.joint], started)
                for task in mine
            )
            for node, mine in tasks.items()
        }

    async def _run(
        self, tasks: Mapping[NodeId, Sequence[Task]], started: float
    ) -> Mapping[NodeId, tuple[TaskOutput, ...]]:
        """Run tasks on nodes that nobody else uses."""
        async with contextlib.AsyncExitStack() as held:
            for node in tasks:
                await held.enter_async_context(self._locks[node])
            real = math.isfinite(self._pace)
            clock = max(self._ledgers[node].load_clock for node in tasks)
            at = started if real else self.world.began + clock / self.world.scenario.speed
            outputs, seconds = self._trials.run(tasks, self._ledgers, at)
            await asyncio.sleep(seconds / self.world.scenario.speed / self._pace if real else 0)
        ended = time.time()
        return {
            node: tuple(replace(output, started=started, ended=ended) for output in mine)
            for node, mine in outputs.items()
        }

    async def close(self) -> None:
        """Stop yielding."""
        self._closed.set()

    def _refuse(self, node: NodeId, now: float) -> None:
        """Raise for a node that others use or that is sick."""
        if self._locks[node].locked():
            raise Busy(f"{node}: another probe holds the node's lock")
        self._refuse_sick(node, now)

    def _refuse_sick(self, node: NodeId, now: float) -> None:
        sick = self.world.sickness(node, now)
        if sick is None:
            return
        if sick.how == "busy":
            raise Busy(f"{node}: compute processes run on its GPUs")
        if sick.how == "hangs":
            if sick.domain == "nvml":
                raise Hung(f"{node}: a call of the driver does not return")
            return
        raise _FAILURES[sick.how](f"{node}: {_REASONS[sick.how]}")

    def _introduction(self, node: NodeId, now: float) -> Iterator[Intake]:
        """From the first packet to the schemas of its samples."""
        yield NodeStateChanged(time=now, node=node, state=NodeState.CONNECTING)
        sick = self.world.sickness(node, now)
        if sick is not None and sick.how in _FAILURES:
            failure = _FAILURES[sick.how]
            yield NodeStateChanged(
                time=now, node=node, state=NodeState.FAILED, reason=_REASONS[sick.how], code=failure.code
            )
            return
        yield NodeStateChanged(time=now, node=node, state=NodeState.LIVE)
        yield ClockMeasured(time=now, node=node, offset=self.world.clock(node, now) - now, uncertainty=0.001)
        yield FactsRead(time=now, node=node, source="world", facts=tuple(self._facts(node, now)))
        for domain, keys in self._domains(node).items():
            fields = tuple(Field(_component(node, within), name) for within, name in keys)
            yield SchemaDeclared(time=now, node=node, domain=domain, schema=f"{node}:{domain}", fields=fields)

    def _facts(self, node: NodeId, now: float) -> Iterator[Fact]:
        readings = self.world.readings(node, now, self._ledgers[node])
        lost = {within for (within, name), value in readings.items() if name == "nvml_error" and value}
        for within, facts in self.world.identity(node).items():
            owner = within.partition("/")[0]
            for key, value in facts.items():
                told_by_sysfs = key in SURVIVES_OFF_BUS or within.endswith("/pcie")
                if owner not in lost or told_by_sysfs:
                    yield Fact(_component(node, within), key, value)
        yield Fact(node, "collector", "world")

    def _tick(self, node: NodeId, now: float, tick: int) -> Iterator[Intake]:
        """One sample of each hang domain, and what the log said since the last."""
        sick = self.world.sickness(node, now)
        if sick is not None and sick.how in _FAILURES:
            return
        readings = self.world.readings(node, now, self._ledgers[node])
        hung = sick.domain if sick is not None and sick.how == "hangs" else ""
        for domain, keys in self._domains(node).items():
            if domain != hung:
                values = np.array([readings.get(key, math.nan) for key in keys])
                values.flags.writeable = False
                yield SampleTaken(now, node, domain, f"{node}:{domain}", values)
        if hung and sick is not None:
            yield from self._hung(node, now, sick, tick)
        if hung != "kmsg":
            for line in self.world.log(node, self._read_until[node], now, self._ledgers[node]):
                stamp = self.world.clock(node, line.at)
                yield LogRead(time=now, node=node, source="kmsg", text=line.text, node_time=stamp)
            self._read_until[node] = now

    def _hung(self, node: NodeId, now: float, sick: Sickness, tick: int) -> Iterator[Intake]:
        seconds = now - self.world.began - sick.since
        if seconds >= HUNG_AFTER or tick > HUNG_AFTER:
            yield DomainHung(
                time=now, node=node, domain=sick.domain, seconds=seconds, process_state="D", wchan="rwsem_down_read"
            )

    def _domains(self, node: NodeId) -> dict[str, list[Key]]:
        """The fields of each hang domain's samples."""
        domains: dict[str, list[Key]] = {}
        for key in self.world.fields(node):
            domains.setdefault(domain_of(key), []).append(key)
        return domains

    async def _closes_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._closed.wait(), seconds)
        except TimeoutError:
            return False
        return True


def _failed(task: Task, error: LanescopeError, started: float) -> TaskOutput:
    """The answer of a task that never ran."""
    return TaskOutput(task.id, (), started, time.time(), error=str(error), code=error.code)


def _component(node: NodeId, within: str) -> ComponentId:
    return node / within if within else node
