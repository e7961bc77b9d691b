"""The operator's side of a node's warm probe worker: start it when first needed, keep its lease, run tasks in it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from ..incident.errors import Busy, Deadline, Hung, LanescopeError, NoPython, ProbeError
from ..incident.ids import NodeId
from ..incident.source import Task, TaskOutput
from .answers import Answers, Listener, seconds_in
from .bootstrap import NO_PYTHON
from .failures import held_by, sentence_of
from .probe_program import WITHOUT_DRIVER, probe_program

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
RENEW_AFTER = 24 << 20
"""Bytes after which the next run gets a fresh worker: a program's channel may bring so much and no more."""
NOT_READY = "the probe worker was not ready in time"
NOT_ENDED = "the probes did not end in time and were killed"
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
        self._heard = 0
        self._driver_error: LanescopeError | None = None
        self._outbox: deque[Mapping[str, Any]] = deque()
        self._mail = asyncio.Event()

    async def run(
        self, tasks: Sequence[Task], deadline: float, force: bool = False, listener: Listener | None = None
    ) -> tuple[TaskOutput, ...]:
        """Run tasks at once, their first windows started together; answers in the order of `tasks`.

        Raises Busy when somebody holds the node's lock or computes on the GPUs (the latter not with `force`), Hung or
        another NodeError when the node can't be used, Deadline when it says nothing more. `deadline` in seconds.
        """
        end = time.monotonic() + deadline
        async with self.turn(end):
            return await self.run_now(tasks, end, force, listener)

    @contextlib.asynccontextmanager
    async def turn(self, end: float) -> AsyncIterator[bool]:
        """Have the worker to oneself, ready by `end` (of time.monotonic()); whatever goes wrong within ends it.

        Yields whether it had to be started; raises as `run` does."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, end - began)):
                await self._turn.acquire()
        except TimeoutError:
            raise Deadline(f"{self._link.node}: other probes took more than {end - began:.0f} s") from None
        self._outbox.clear()
        try:
            before = self._channel
            yield await self._started(end) is not before
        except BaseException:
            await self._drop()
            raise
        finally:
            self._used = time.monotonic()
            self._turn.release()

    async def run_now(
        self, tasks: Sequence[Task], end: float, force: bool = False, listener: Listener | None = None
    ) -> tuple[TaskOutput, ...]:
        """Run tasks in a turn of one's own; see `run`."""
        if self._driver_error is not None and any(task.program not in WITHOUT_DRIVER for task in tasks):
            raise self._driver_error
        channel = self._channel
        if channel is None:
            raise ProbeError(f"{self._link.node}: the probe worker was closed")
        answers = Answers(self._link.node, tasks, listener)
        await self._send(channel, _order(tasks, end - time.monotonic(), force), end)
        sender = asyncio.create_task(self._send_mail(channel))
        try:
            while "over" not in (line := await self._receive(channel, end, NOT_ENDED)):
                answers.take(line)
        finally:
            sender.cancel()
            self._heard += answers.size
        if others := answers.in_the_way():
            raise Busy(f"{self._link.node}: its GPUs are in use by {others}; a probe would disturb it")
        launch, self._unpaid = self._unpaid, 0.0
        return answers.outputs(launch)

    def tell(self, task: str, message: Mapping[str, Any]) -> None:
        """Pass a message to a task of this turn, sent when it runs; one that has ended does not get it any more."""
        self._outbox.append({"told": {"task": task, "message": message}})
        self._mail.set()

    async def close(self) -> None:
        """End the worker and everything it runs."""
        await self._drop()

    async def _started(self, end: float) -> ProgramChannel:
        """The worker's channel, opened when there is none."""
        if self._channel is not None and not self._channel.ended and self._heard < RENEW_AFTER:
            return self._channel
        while True:
            await self._drop()
            self._heard = 0
            self._channel = await self._opened(end)
            self._used = time.monotonic()
            self._keeper = asyncio.create_task(self._keep(self._channel))
            line = await self._receive(self._channel, end, NOT_READY)
            while "kept" in line:
                line = await self._receive(self._channel, end, NOT_READY)
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
        """The worker's first word; that it could not open the driver matters to the tasks that need it."""
        self._driver_error = None
        if isinstance(error := line.get("error"), Mapping):
            sentence, code = sentence_of(error)
            failure = Hung if code == Hung.code else ProbeError
            self._driver_error = failure(f"{self._link.node}: probes can't start: {sentence}")
        pid = line.get("ready")
        if type(pid) is not int:
            raise ProbeError(f"{self._link.node}: the probe worker is not ready but says {str(dict(line))[:120]!r}")
        self._pid = pid
        self.launch_seconds = self._unpaid = seconds_in(line.get("launch_s"))

    async def _send_mail(self, channel: ProgramChannel) -> None:
        """Send what tasks are told until cancelled."""
        while True:
            while self._outbox:
                with contextlib.suppress(OSError):  # the run finds out what has become of the channel
                    await channel.send(self._outbox.popleft())
            self._mail.clear()
            await self._mail.wait()

    async def _send(self, channel: ProgramChannel, order: Mapping[str, Any], end: float) -> None:
        try:
            async with asyncio.timeout(max(0.1, end - time.monotonic())):
                await channel.send(order)
        except TimeoutError:
            raise Deadline(f"{self._link.node}: the probe worker took no order in time") from None
        except OSError:
            raise self._end_of(channel) from None

    async def _receive(self, channel: ProgramChannel, end: float, late: str) -> Mapping[str, Any]:
        """The next line; raises Deadline, with `late`, when time is up, and Hung when the worker falls silent."""
        left = end - time.monotonic()
        patience = max(0.05, min(left, SILENCE_LIMIT))
        try:
            async with asyncio.timeout(patience):
                line = await channel.receive(patience)
        except (TimeoutError, Deadline):
            if left <= SILENCE_LIMIT:
                raise Deadline(f"{self._link.node}: {late}") from None
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


def _order(tasks: Sequence[Task], left: float, force: bool) -> Mapping[str, Any]:
    """The order to run tasks, with `left` seconds until somebody waits no longer."""
    return {
        "run": [{"id": task.id, "program": task.program, "arguments": dict(task.arguments)} for task in tasks],
        "deadline": max(left / 2, left - CLOSING),
        "force": force,
    }
