"""One command on a node: verbatim output within a cap, a deadline, and nothing left running."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncssh
import orjson

from ..incident.ids import NodeId
from ..incident.source import CommandOutput
from .bootstrap import NO_PYTHON, launch_command, runner_payload
from .program import ProgramChannel
from .settings import Settings
from .stream import one_line

ENDING = 4.0
"""What the runner gets, past the deadline, to end the tree: TERM, a second, KILL."""

_WHY = {
    "deadline": "the deadline of {deadline:g} s passed; the command and all it started were ended",
    "lease": "the node did not hear from us in time and ended the command",
    "eof": "the channel closed and the node ended the command",
    "quit": "it was ended at our wish",
    "signal": "the node ended it with a signal",
}


@dataclass
class _Gathered:
    """What the runner told so far."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    status: int | None = None
    why: str = ""
    ended: bool = False
    truncated: bool = False

    def take(self, line: bytes, deadline: float) -> None:
        """One line of the runner; noise before it is passed over."""
        try:
            frame = orjson.loads(line)
            match frame:
                case ["O", 1, str(piece)]:
                    self.stdout += base64.b64decode(piece)
                case ["O", 2, str(piece)]:
                    self.stderr += base64.b64decode(piece)
                case ["Z", str(why), status, list(left), truncated]:
                    self._end(why, status, left, bool(truncated), deadline)
        except ValueError:
            return

    def _end(self, why: str, status: Any, left: list[Any], truncated: bool, deadline: float) -> None:
        self.ended, self.truncated = True, truncated
        if why == "exit" and isinstance(status, int):
            self.status = status
        else:
            self.why = _WHY.get(why, one_line(why)).format(deadline=deadline)
        if left:
            names = ", ".join(one_line(str(process), 40) for process in left[:8])
            self.why = f"{self.why or 'ended'}; the kernel holds on to {names}"


async def run_on(
    connection: asyncssh.SSHClientConnection,
    node: NodeId,
    argv: Sequence[str],
    deadline: float,
    run: str,
    settings: Settings,
) -> CommandOutput:
    """Run `argv` on the node through the runner; never raises for what the node does."""
    started = time.time()
    gathered = _Gathered()
    # a line of the runner is base64 of at most 64 KiB; all of it a third more than the output
    channel = ProgramChannel(connection, settings.longest_line, 2 * settings.command_output)
    config = {
        "argv": list(argv),
        "deadline": deadline,
        "lease": settings.lease,
        "most": settings.command_output,
    }
    try:
        async with asyncio.timeout(deadline + ENDING):
            await channel.open(launch_command(run), runner_payload(config), settings.program_window, settings.lease)
            while not gathered.ended and (line := await channel.receive_line()) is not None:
                gathered.take(line, deadline)
    except TimeoutError:
        gathered.why = f"no answer within {deadline + ENDING:g} s; the node hangs or does not hear us"
    except (OSError, asyncssh.Error) as error:
        gathered.why = f"the channel failed: {one_line(str(error))}"
    finally:
        await channel.close()
    if not gathered.ended and not gathered.why:
        gathered.why = _why_unfinished(channel)
    return CommandOutput(
        node=node,
        argv=tuple(argv),
        exit_status=gathered.status,
        stdout=bytes(gathered.stdout),
        stderr=bytes(gathered.stderr),
        started=started,
        ended=time.time(),
        why=gathered.why,
        truncated=gathered.truncated or channel.too_much,
    )


def _why_unfinished(channel: ProgramChannel) -> str:
    if channel.exit_status == NO_PYTHON:
        return "no Python 3 on the node to run commands under watch"
    return f"the channel closed before the command ended ({channel.how_it_ended()})"
