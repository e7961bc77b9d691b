"""Runs of tasks on one node or on several at once: all workers are made ready first, then all are ordered to run.

A node that is not ready in time, or fails while it runs, costs the trials that need it and no other. Nodes are taken
together and by one run at a time, so that two runs never wait for each other's nodes.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..incident.errors import Deadline, LanescopeError
from ..incident.ids import NodeId
from ..incident.source import Task, TaskOutput
from .relay import Relay
from .worker import ProbeWorker

READY_SHARE = 0.6
"""Of the deadline: what a node may take until its worker is ready; the trials of one that takes longer are off."""

Tasks = Mapping[NodeId, Sequence[Task]]
Outputs = Mapping[NodeId, tuple[TaskOutput, ...]]


class Runs:
    """Runs tasks that may tell each other things; `worker_of` raises InputError for a node that is none of ours."""

    def __init__(self, worker_of: Callable[[NodeId], ProbeWorker]) -> None:
        self._worker_of = worker_of
        self._gathering = asyncio.Lock()

    async def on_one(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> tuple[TaskOutput, ...]:
        """Run tasks on one node; raises as ProbeWorker.run does."""
        worker = self._worker_of(node)
        relay = Relay({node: tasks}, lambda _, task, message: worker.tell(task, message))
        outputs = await worker.run(tasks, deadline, listener=relay)
        return tuple(relay.settled(task, output) for task, output in zip(tasks, outputs, strict=True))

    async def on_all(self, tasks: Tasks, deadline: float) -> Outputs:
        """Run tasks on several nodes; never raises for what a node does. Cancelled, it leaves nothing on them."""
        run = _Run(self._worker_of, tasks, deadline)
        async with asyncio.TaskGroup() as group:
            if not await self._may_gather(deadline):
                return run.none("other probes took too long")
            try:
                nodes = {node: group.create_task(run.on(node, mine)) for node, mine in tasks.items()}
                await run.gathered()
            finally:
                self._gathering.release()
        return {node: outputs.result() for node, outputs in nodes.items()}

    async def _may_gather(self, deadline: float) -> bool:
        try:
            async with asyncio.timeout(READY_SHARE * deadline):
                return await self._gathering.acquire()
        except TimeoutError:
            return False


class _Run:
    """One run at work."""

    def __init__(self, worker_of: Callable[[NodeId], ProbeWorker], tasks: Tasks, deadline: float) -> None:
        self._worker_of = worker_of
        self._tasks = tasks
        self._end = time.monotonic() + deadline
        self._relay = Relay(tasks, self._tell)
        self._missing = set(tasks)
        self._all_here = asyncio.Event()
        self._started = time.time()

    async def gathered(self) -> None:
        """Wait until every node is ready or is known not to become it."""
        if self._missing:
            await self._all_here.wait()

    async def on(self, node: NodeId, tasks: Sequence[Task]) -> tuple[TaskOutput, ...]:
        """The tasks of one node, answered in their order."""
        now = time.monotonic()
        found: dict[str, TaskOutput] = {}
        failure: LanescopeError | None = None
        try:
            worker = self._worker_of(node)
            async with worker.turn(now + READY_SHARE * (self._end - now)) as fresh:
                self._is_here(node)
                await self.gathered()
                able = [task for task in tasks if self._relay.cause(task) is None]
                if able:
                    outputs = await worker.run_now(able, self._end, listener=self._relay)
                    found = {output.id: output for output in outputs}
                elif fresh:
                    await worker.close()  # somebody who waits for the same nodes may have it
        except LanescopeError as error:
            failure = error
            self._relay.node_failed(node, error)
        finally:
            self._is_here(node)
        return tuple(self._answer(task, found.get(task.id), failure) for task in tasks)

    def none(self, why: str) -> Outputs:
        """The answer when nothing could be run."""
        return {
            node: tuple(self._answer(task, None, Deadline(f"{node}: {why}")) for task in mine)
            for node, mine in self._tasks.items()
        }

    def _answer(self, task: Task, output: TaskOutput | None, failure: LanescopeError | None) -> TaskOutput:
        if output is not None:
            return self._relay.settled(task, output)
        cause = self._relay.cause(task)
        if failure is not None:
            error, code = str(failure), failure.code
        elif cause is not None:
            error, code = f"a partner failed: {cause.error}", cause.code
        else:
            error, code = f"{task.id} gave no answer", LanescopeError.code
        return TaskOutput(task.id, (), self._started, time.time(), error=error, code=code)

    def _tell(self, node: NodeId, task: str, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(LanescopeError):  # no node of ours: its own tasks say so
            self._worker_of(node).tell(task, message)

    def _is_here(self, node: NodeId) -> None:
        self._missing.discard(node)
        if not self._missing:
            self._all_here.set()
