"""One node's life: connecting, starting, live, stale, lost, failed, backing off. It never reaches another node."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Sequence

import asyncssh

from ..incident.errors import (
    HostKeyChanged,
    HostKeyUnknown,
    Hung,
    InputError,
    NodeError,
    NoPython,
    Refused,
    Unreachable,
)
from ..incident.events import NodeState, NodeStateChanged
from ..incident.ids import NodeId
from ..incident.source import CommandOutput
from .bootstrap import framed, launch_command
from .collection import Collection
from .commands import run_on
from .connector import Connector
from .decode import Decoder, Schemas
from .intake import Intake
from .program import ProgramChannel
from .reasons import bastion_gone, lost
from .settings import Settings

FOR_A_PERSON = (HostKeyChanged, HostKeyUnknown, Refused, InputError)
"""Trying again changes nothing, and may lock an account: a person has to act first."""


class NodeLink:
    """Keeps one node connected and its collector running, and opens programs and commands over the same connection."""

    def __init__(self, node: NodeId, connector: Connector, intake: Intake, settings: Settings, run: str) -> None:
        self.node = node
        self.state = NodeState.IDLE
        self.reason = self.code = ""
        self._connector = connector
        self._intake = intake
        self._settings = settings
        self._run = run
        self._connection: asyncssh.SSHClientConnection | None = None
        self._collection: Collection | None = None
        self._schemas = Schemas()
        self._decided = asyncio.Event()
        self._again = asyncio.Event()
        self._commands = asyncio.Semaphore(settings.commands_per_node)
        self._programs: set[ProgramChannel] = set()

    async def run(self) -> None:
        """Live until cancelled. Whatever the node does ends in a state with a reason."""
        failures = 0
        before = ""
        while True:
            began = time.monotonic()
            self._announce(NodeState.CONNECTING, f"trying again; {before}" if before else "")
            try:
                await self._live()
                return
            except FOR_A_PERSON as error:
                before = str(error)
                self._announce(NodeState.FAILED, before, error.code)
                await self._wait_for_a_person()
                failures, before = 0, ""
                continue
            except NodeError as error:
                before, failure = str(error), error
            except Exception as error:  # the border of a node: a defect met on one must not reach another
                failure = NodeError(f"{self.node}: a defect of Lanescope: {type(error).__name__}: {error}")
                before = str(failure)
            failures = 1 if time.monotonic() - began > self._settings.steady else failures + 1
            await self._back_off(failures, failure)

    async def open_program(self, source: bytes, lease: float) -> ProgramChannel:
        """Start a Python program on the node: `source` is its text. Raises NodeError when the node can't be used.

        The program must end itself when its standard input ends, or when nothing came on it for `lease` seconds; its
        user sends it something that often."""
        connection = await self._usable(self._settings.connect_timeout)
        if self.code == NoPython.code:
            raise NoPython(f"{self.node}: no python3 on the node: probes can't run there")
        channel = ProgramChannel(connection, self._settings.longest_line, 8 * self._settings.command_output)
        try:
            async with asyncio.timeout(self._settings.start_timeout):
                await channel.open(launch_command(self._run), framed(source.decode()), self._settings.program_window)
        except BaseException as error:
            await channel.close(0)
            if isinstance(error, TimeoutError):
                raise Hung(f"{self.node}: no channel for a program within {self._settings.start_timeout:g} s") from None
            if isinstance(error, OSError | asyncssh.Error):
                raise Unreachable(f"{self.node}: no channel for a program: {error}") from None
            raise
        self._programs = {program for program in self._programs if not program.ended} | {channel}
        return channel

    async def run_command(self, argv: Sequence[str], deadline: float) -> CommandOutput:
        """Run one command; see Source.run_command."""
        started = time.time()
        try:
            connection = await self._usable(min(deadline, self._settings.connect_timeout))
        except NodeError as error:
            return CommandOutput(self.node, tuple(argv), None, b"", b"", started, time.time(), why=str(error))
        async with self._commands:
            return await run_on(connection, self.node, argv, deadline, self._run, self._settings)

    def retry(self) -> None:
        """Try again now: a person has put right what was wrong."""
        self._again.set()

    def quit(self) -> None:
        """Ask what runs on the node to end."""
        if self._collection is not None:
            self._collection.quit()

    async def leave(self) -> None:
        """Cut everything to the node."""
        for channel in self._programs:
            await channel.close(0)
        if self._connection is not None:
            self._connection.abort()

    async def _live(self) -> None:
        """Connect, collect until it ends, and leave nothing behind. Returns only when asked to quit."""
        connection, place = await self._connector.connect(self.node)
        try:
            self._announce(NodeState.STARTING)
            self._connection = connection
            self._collection = Collection(connection, place, self._intake, self._settings, self._run)
            decoder = Decoder(self.node, schemas=self._schemas)
            watching = asyncio.create_task(self._collection.run(decoder, self._announce))
            closing = asyncio.create_task(connection.wait_closed())
            try:
                await asyncio.wait((watching, closing), return_when=asyncio.FIRST_COMPLETED)
                if not watching.done():
                    # the channel hears of the loss in the same turn; give it the word
                    await asyncio.wait((watching,), timeout=self._settings.closing)
                if place.through and self._connector.bastion_is_gone(self.node):
                    raise bastion_gone(place)
                if not watching.done():
                    raise lost(None, place)
                watching.result()
            finally:
                for task in (watching, closing):
                    task.cancel()
                await asyncio.gather(watching, closing, return_exceptions=True)
        finally:
            self._connection = self._collection = None
            connection.abort()
            with contextlib.suppress(TimeoutError, OSError, asyncssh.Error):
                async with asyncio.timeout(self._settings.closing):
                    await connection.wait_closed()

    async def _usable(self, seconds: float) -> asyncssh.SSHClientConnection:
        """The open connection; waits for the first attempt to be decided. Raises NodeError."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._decided.wait()
        if self._connection is None:
            raise Unreachable(self.reason or f"{self.node}: not connected yet")
        return self._connection

    async def _wait_for_a_person(self) -> None:
        self._again.clear()
        await self._again.wait()

    async def _back_off(self, failures: int, error: NodeError) -> None:
        """Say why, and wait the longer the oftener it failed; a person may cut it short."""
        steps = self._settings.backoff
        seconds = steps[min(failures, len(steps)) - 1] * random.uniform(
            1 - self._settings.jitter, 1 + self._settings.jitter
        )
        state = NodeState.LOST if self.state in (NodeState.LIVE, NodeState.STALE) else NodeState.BACKOFF
        named = str(error) if str(error).startswith(f"{self.node}:") else f"{self.node}: {error}"
        self._announce(state, f"{named}; next try in {seconds:.0f} s", error.code)
        self._again.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._again.wait()

    def _announce(self, state: NodeState, reason: str = "", code: str = "") -> None:
        self.state, self.reason, self.code = state, reason, code
        if state is NodeState.CONNECTING:
            self._decided.clear()
        else:
            self._decided.set()
        self._intake.put(NodeStateChanged(time=time.time(), node=self.node, state=state, reason=reason, code=code))
