"""The world as a source of events, in process, with no SSH and no node programs: for benchmarks and for tests."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from ..incident.errors import Busy, Hung, LanescopeError, NodeError, NoPython, ProbeError, Refused, Unreachable
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
from .copy_program import CopyTask, lines_of, lines_of_error, read_task
from .ledger import CudaError, Key, Ledger, Transfer
from .readings import domain_of
from .scenario import Sickness
from .world import World

COLD_LAUNCH = 0.5
"""Seconds until the first copy of a node starts: driver, contexts, pinned memory."""
WARM_LAUNCH = 0.05
"""Seconds until any later one starts."""
LOOKS_LOADED = 1.0
"""Seconds a GPU keeps its link and clocks up after a copy."""
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
    """Yields what the nodes of a world show and runs `cuda_copy` tasks on them.

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
        """There are no tools here: 127, as a shell says it."""
        now = time.time()
        complaint = f"{argv[0] if argv else 'sh'}: command not found\n".encode()
        return CommandOutput(node, tuple(argv), 127, b"", complaint, now, now)

    async def run_tasks(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> tuple[TaskOutput, ...]:
        """Run copies at once. Raises Busy when others run there or a job computes there, NodeError for a sick node."""
        if self._locks[node].locked():
            raise Busy(f"{node}: another probe holds the node's lock")
        async with self._locks[node]:
            started = time.time()
            self._refuse_sick(node, started)
            outputs, seconds = self._run(node, tasks, started)
            if math.isfinite(self._pace):
                await asyncio.sleep(seconds / self.world.scenario.speed / self._pace)
            else:
                await asyncio.sleep(0)
        ended = time.time()
        return tuple(
            TaskOutput(output.id, output.lines, started, ended, output.seconds, output.error, output.code, output.raw)
            for output in outputs
        )

    async def run_joint(
        self, tasks: Mapping[NodeId, Sequence[Task]], deadline: float
    ) -> Mapping[NodeId, tuple[TaskOutput, ...]]:
        """Run tasks on several nodes at once; what fails on one is the error of its own tasks."""
        found = await asyncio.gather(*(self._settled(node, mine, deadline) for node, mine in tasks.items()))
        return dict(zip(tasks, found, strict=True))

    async def _settled(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> tuple[TaskOutput, ...]:
        started = time.time()
        try:
            return await self.run_tasks(node, tasks, deadline)
        except LanescopeError as error:
            ended = time.time()
            return tuple(TaskOutput(task.id, (), started, ended, error=str(error), code=error.code) for task in tasks)

    async def close(self) -> None:
        """Stop yielding."""
        self._closed.set()

    def _run(self, node: NodeId, tasks: Sequence[Task], now: float) -> tuple[list[TaskOutput], float]:
        """Copies that start together, and how many simulated seconds all took."""
        ledger = self._ledgers[node]
        hardware = self.world.hardware(node)
        launch = WARM_LAUNCH if ledger.trials else COLD_LAUNCH
        at = now if math.isfinite(self._pace) else self.world.began + ledger.load_clock
        before = self.world.readings(node, at, ledger)
        plans = [_plan(task, read_task(task, hardware)) for task in tasks]
        transfers = [
            self._copy(node, number, plans, at + launch) if isinstance(plan, CopyTask) else Transfer(error=plan)
            for number, plan in enumerate(plans)
        ]
        seconds = launch + max((transfer.seconds for transfer in transfers), default=0.0)
        until = at + seconds / self.world.scenario.speed + LOOKS_LOADED
        self._ledgers[node] = ledger.after(transfers, seconds, until)
        outputs = []
        for task, plan, transfer in zip(tasks, plans, transfers, strict=True):
            took = launch + transfer.seconds
            if isinstance(plan, CopyTask):
                lines = tuple(lines_of(plan, transfer, before, hardware, took))
            else:
                lines = tuple(lines_of_error(plan, took))
            raw = b"".join(orjson.dumps(line) + b"\n" for line in lines)
            error = _error_of(lines)
            code = ProbeError.code if error else ""
            outputs.append(TaskOutput(task.id, lines, now, now, took, error=error, code=code, raw=raw))
        return outputs, seconds

    def _copy(self, node: NodeId, number: int, plans: Sequence[CopyTask | CudaError], at: float) -> Transfer:
        plan = plans[number]
        assert isinstance(plan, CopyTask)
        others = [other for place, other in enumerate(plans) if place != number and isinstance(other, CopyTask)]
        ledger = self._ledgers[node]
        return self.world.transfer(
            node,
            plan.operation,
            plan.gpus,
            ledger.load_clock,
            plan.window_ms / 1000,
            plan.windows,
            ledger.trials + number,
            at=at,
            warm_s=plan.warm_ms / 1000,
            beside=[(other.operation, other.gpus) for other in others],
        )

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


def _error_of(lines: Sequence[Mapping[str, Any]]) -> str:
    """The sentence of a task that failed; empty for one that ran."""
    for line in lines:
        if error := line.get("error"):
            return f"{error['call']} failed with {error['name']}"
    return ""


def _plan(task: Task, plan: CopyTask | CudaError) -> CopyTask | CudaError:
    """Only one program is known here."""
    if task.program != "cuda_copy":
        return CudaError("worker", "UNKNOWN_PROGRAM", 0, f"no program {task.program}")
    return plan


def _component(node: NodeId, within: str) -> ComponentId:
    return node / within if within else node
