"""The operator's side of a node's warm probe worker: start it when first needed, keep its lease, run tasks in it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from ..incident.errors import Busy, Deadline, Hung, LanescopeError, NoPython, ProbeError
from ..incident.ids import NodeId
from ..incident.source import Task, TaskOutput
from .bootstrap import NO_PYTHON
from .failures import computing_on, held_by, sentence_of
from .probe_program import probe_program

LEASE = 6.0
"""Seconds the worker lives on without hearing from us; the node program has the same figure."""
KEEP_EVERY = 1.5
IDLE_LIMIT = 120.0
"""Seconds without a task after which the worker is let go: its contexts hold memory of the GPUs."""
SILENCE_LIMIT = 10.0
"""Seconds without any answer while tasks run: the worker answers every keep."""
CLOSING = 4.0
"""Seconds of a deadline that are left to the node for naming and killing what hangs."""
LAST_ONE_LEAVES = 0.25
"""Seconds between two looks whether our last worker, killing what hung, has let go of the lock."""
MOST_BYTES = 8 << 20
"""Of output in one run."""
TOO_OLD = "needs Python"
"""What the first words on the node say to an interpreter that is too old."""


class ProgramChannel(Protocol):
    """A program on the node that speaks JSON lines."""

    async def send(self, order: Mapping[str, Any], /) -> None:
        """Send one line."""

    async def receive(self, deadline: float, /) -> Mapping[str, Any] | None:
        """The next line; None when the program has ended. Raises Deadline or TimeoutError after `deadline` seconds."""

    async def close(self) -> None:
        """End the program: it sees the end of its input."""

    @property
    def ended(self) -> bool:
        """Whether it can't be spoken to any more."""

    @property
    def exit_status(self) -> int | None:
        """Its exit status; None while it runs, or when it was killed or lost."""

    def how_it_ended(self) -> str:
        """Its end in words."""


class ProgramLink(Protocol):
    """A node on which programs can be started."""

    @property
    def node(self) -> NodeId:
        """The node, as the operator calls it."""

    async def open_program(self, source: bytes, lease: float) -> ProgramChannel:
        """Start a Python program; raises NodeError (NoPython, Unreachable, ...)."""


@dataclass
class _Answer:
    """What one task has said so far."""

    lines: list[Mapping[str, Any]] = field(default_factory=list)
    error: str = ""
    code: str = ""
    seconds: float = 0.0
    over: bool = False

    def take(self, line: Mapping[str, Any]) -> None:
        """Take in a line of the task."""
        self.lines.append(line)
        if isinstance(error := line.get("error"), Mapping) and not self.error:
            self.error, self.code = sentence_of(error)
        if "end" in line:
            self.over = True
            self.seconds = _seconds(line.get("seconds"))

    def output(self, task: Task, started: float, launch: float) -> TaskOutput:
        """The task's answer; `launch` seconds went before it."""
        error, code = self.error, self.code
        if not self.over and not error:
            error, code = f"{task.id} broke off without an end", ProbeError.code
        raw = b"".join(orjson.dumps(dict(line)) + b"\n" for line in self.lines)
        return TaskOutput(
            task.id, tuple(self.lines), started, time.time(), self.seconds + launch, error, code if error else "", raw
        )


class ProbeWorker:
    """The warm probe worker of one node; runs one set of tasks at a time, in the order asked."""

    def __init__(self, link: ProgramLink) -> None:
        self.launch_seconds = 0.0
        """What starting it last cost, in the node's seconds."""
        self._link = link
        self._turn = asyncio.Lock()
        self._channel: ProgramChannel | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._pid = 0
        self._unpaid = 0.0
        self._used = 0.0

    async def run(self, tasks: Sequence[Task], deadline: float, force: bool = False) -> tuple[TaskOutput, ...]:
        """Run tasks at once, their first windows started together; answers in the order of `tasks`.

        Raises Busy when somebody holds the node's lock or computes on the GPUs (the latter not with `force`), Hung or
        another NodeError when the node can't be used, Deadline when it says nothing more. `deadline` in seconds.
        """
        end = time.monotonic() + deadline
        try:
            async with asyncio.timeout(deadline):
                await self._turn.acquire()
        except TimeoutError:
            raise Deadline(f"{self._link.node}: other probes took more than {deadline:.0f} s") from None
        try:
            channel = await self._started(end)
            outputs = await self._run_in(channel, tasks, end, force)
        except BaseException:
            await self._drop()
            raise
        finally:
            self._used = time.monotonic()
            self._turn.release()
        return outputs

    async def close(self) -> None:
        """End the worker and everything it runs."""
        await self._drop()

    async def _started(self, end: float) -> ProgramChannel:
        """The worker's channel, opened when there is none."""
        if self._channel is not None and not self._channel.ended:
            return self._channel
        while True:
            await self._drop()
            self._channel = await self._opened(end)
            self._used = time.monotonic()
            self._keeper = asyncio.create_task(self._keep(self._channel))
            line = await self._receive(self._channel, end)
            while "kept" in line:
                line = await self._receive(self._channel, end)
            if "busy" not in line:
                self._take_ready(line)
                return self._channel
            if not self._is_our_last(line["busy"]):
                raise Busy(f"{self._link.node}: somebody else probes, {held_by(line['busy'])}; wait or ask its owner")
            await asyncio.sleep(LAST_ONE_LEAVES)

    async def _opened(self, end: float) -> ProgramChannel:
        async with asyncio.timeout(max(0.1, end - time.monotonic())) as limit:
            try:
                return await self._link.open_program(probe_program(), LEASE)
            except TimeoutError:
                if limit.expired():
                    raise Deadline(f"{self._link.node}: the probe worker did not start in time") from None
                raise

    def _is_our_last(self, holder: object) -> bool:
        """Whether the lock is still held by the worker we let go, which is ending its children."""
        return isinstance(holder, Mapping) and self._pid > 0 and holder.get("pid") == self._pid

    def _take_ready(self, line: Mapping[str, Any]) -> None:
        """The worker's first word; raises when it could not open the driver."""
        if isinstance(error := line.get("error"), Mapping):
            sentence, code = sentence_of(error)
            raise (Hung if code == Hung.code else ProbeError)(f"{self._link.node}: probes can't start: {sentence}")
        pid = line.get("ready")
        if type(pid) is not int:
            raise ProbeError(f"{self._link.node}: the probe worker is not ready but says {str(dict(line))[:120]!r}")
        self._pid = pid
        self.launch_seconds = self._unpaid = _seconds(line.get("launch_s"))

    async def _run_in(
        self, channel: ProgramChannel, tasks: Sequence[Task], end: float, force: bool
    ) -> tuple[TaskOutput, ...]:
        """Order the tasks and gather what they say until the worker is through with them."""
        started = time.time()
        left = end - time.monotonic()
        order = {
            "run": [{"id": task.id, "program": task.program, "arguments": dict(task.arguments)} for task in tasks],
            "deadline": max(left / 2, left - CLOSING),
            "force": force,
        }
        await self._send(channel, order, end)
        answers = {task.id: _Answer() for task in tasks}
        computing: list[str] = []
        size = 0
        while "over" not in (line := await self._receive(channel, end)):
            size += len(orjson.dumps(line))
            if size > MOST_BYTES:
                raise ProbeError(
                    f"{self._link.node}: the probe worker said more than {MOST_BYTES >> 20} MiB and was ended"
                )
            if "computing" in line:
                computing.append(computing_on(line["computing"]))
            elif (answer := answers.get(str(line.get("task")))) is not None:
                answer.take({key: value for key, value in line.items() if key != "task"})
            elif isinstance(error := line.get("error"), Mapping):
                raise Hung(f"{self._link.node}: who computes on its GPUs can't be seen: {sentence_of(error)[0]}")
        if computing:
            raise Busy(
                f"{self._link.node}: its GPUs are in use by {', '.join(computing[:4])}; a probe would disturb it"
            )
        launch, self._unpaid = self._unpaid, 0.0
        return tuple(answers[task.id].output(task, started, launch) for task in tasks)

    async def _send(self, channel: ProgramChannel, order: Mapping[str, Any], end: float) -> None:
        try:
            async with asyncio.timeout(max(0.1, end - time.monotonic())):
                await channel.send(order)
        except TimeoutError:
            raise Deadline(f"{self._link.node}: the probe worker took no order in time") from None
        except OSError:
            raise self._end_of(channel) from None

    async def _receive(self, channel: ProgramChannel, end: float) -> Mapping[str, Any]:
        """The next line; raises Deadline when time is up, Hung when the worker falls silent."""
        left = end - time.monotonic()
        patience = max(0.05, min(left, SILENCE_LIMIT))
        try:
            async with asyncio.timeout(patience):
                line = await channel.receive(patience)
        except (TimeoutError, Deadline):
            if left <= SILENCE_LIMIT:
                raise Deadline(f"{self._link.node}: the probes did not end in time and were killed") from None
            raise Hung(f"{self._link.node}: the probe worker has said nothing for {SILENCE_LIMIT:.0f} s") from None
        if line is None:
            raise self._end_of(channel)
        if "bye" in line:
            raise ProbeError(f"{self._link.node}: the probe worker ended: {str(line['bye'])[:120]}")
        return line

    def _end_of(self, channel: ProgramChannel) -> LanescopeError:
        """Why the worker is no more."""
        how = channel.how_it_ended()
        if channel.exit_status == NO_PYTHON or TOO_OLD in how:
            return NoPython(f"{self._link.node}: probes need Python 3.6 or newer there: {how}")
        return ProbeError(f"{self._link.node}: the probe worker ended on its own: {how}")

    async def _keep(self, channel: ProgramChannel) -> None:
        """Renew the lease until the worker has been idle for too long or is gone."""
        count = 0
        while True:
            if self._is_idle() and not self._turn.locked():
                async with self._turn:
                    if self._is_idle():
                        self._keeper = None
                        await self._drop()
                        return
            count += 1
            try:
                async with asyncio.timeout(LEASE):
                    await channel.send({"keep": count})
            except (OSError, TimeoutError, LanescopeError):
                return  # the next run finds it ended and starts another
            await asyncio.sleep(KEEP_EVERY)

    def _is_idle(self) -> bool:
        return time.monotonic() - self._used > IDLE_LIMIT

    async def _drop(self) -> None:
        """Let the worker go; the next task starts a new one."""
        channel, self._channel = self._channel, None
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
        if channel is not None:
            with contextlib.suppress(OSError, LanescopeError, TimeoutError):
                async with asyncio.timeout(LEASE):
                    await channel.close()


def _seconds(value: object) -> float:
    """A duration the node reports; 0 for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        return 0.0
    return float(value)
