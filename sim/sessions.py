"""One command on a simulated node: a real process whose pipes are tied to an SSH channel."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator

import asyncssh

from .hosts import Host
from .processes import Reaper

CHUNK = 65536


async def run_session(channel: asyncssh.SSHServerProcess[bytes], host: Host, reaper: Reaper) -> None:
    """Run the channel's command (a shell without one) to its end, or let go of it when the channel closes first."""
    command = channel.command
    argv = ["/bin/sh", "-c", command] if command is not None else ["/bin/sh"]
    child_ends, our_ends = _pipes()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=child_ends[0],
            stdout=child_ends[1],
            stderr=child_ends[2],
            cwd=host.home,
            env=host.environment(),
            start_new_session=True,
        )
    finally:
        for descriptor in child_ends:
            os.close(descriptor)
    reaper.expect(process.pid)
    try:
        await _serve(channel, process, our_ends)
    finally:
        if process.returncode is None:
            asyncio.get_running_loop().create_task(_wait(process, reaper))
        else:
            reaper.done(process.pid)


async def _wait(process: asyncio.subprocess.Process, reaper: Reaper) -> None:
    await process.wait()
    reaper.done(process.pid)


def _pipes() -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Three pipes: (stdin, stdout, stderr) as the child sees them, and their far ends."""
    stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    return (stdin[0], stdout[1], stderr[1]), (stdin[1], stdout[0], stderr[0])


async def _serve(
    channel: asyncssh.SSHServerProcess[bytes], process: asyncio.subprocess.Process, ends: tuple[int, int, int]
) -> None:
    async with _writer(ends[0]) as stdin, _reader(ends[1]) as stdout, _reader(ends[2]) as stderr:
        feeding = asyncio.create_task(_feed(channel, process, stdin))
        outputs = asyncio.gather(_carry(stdout, channel.stdout), _carry(stderr, channel.stderr))
        closed = asyncio.create_task(channel.wait_closed())
        ended = asyncio.create_task(_end(process, outputs))
        try:
            await asyncio.wait((closed, ended), return_when=asyncio.FIRST_COMPLETED)
            if ended.done() and not closed.done():
                _report(channel, process.returncode)
        finally:
            for task in (feeding, closed, ended, outputs):
                task.cancel()
            await asyncio.gather(feeding, closed, ended, outputs, return_exceptions=True)


async def _end(process: asyncio.subprocess.Process, outputs: asyncio.Future[tuple[None, None]]) -> None:
    """The channel ends when the command has ended and nobody holds its output any more."""
    await process.wait()
    await outputs


def _report(channel: asyncssh.SSHServerProcess[bytes], status: int | None) -> None:
    if status is not None and status < 0:
        channel.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
    else:
        channel.exit(status or 0)


async def _feed(
    channel: asyncssh.SSHServerProcess[bytes], process: asyncio.subprocess.Process, stdin: asyncio.StreamWriter
) -> None:
    """Carry the channel's input to the command; signals go to its process group."""
    with contextlib.suppress(OSError, asyncssh.Error):
        while True:
            try:
                data = await channel.stdin.read(CHUNK)
            except asyncssh.SignalReceived as received:
                _signal(process, received.signal)
                continue
            except (asyncssh.BreakReceived, asyncssh.TerminalSizeChanged):
                continue
            if not data:
                break
            stdin.write(data)
            await stdin.drain()
    stdin.close()


def _signal(process: asyncio.subprocess.Process, name: str) -> None:
    with contextlib.suppress(ProcessLookupError, AttributeError):
        os.killpg(process.pid, getattr(signal, f"SIG{name}"))


async def _carry(pipe: asyncio.StreamReader, out: asyncssh.SSHWriter[bytes]) -> None:
    """Carry one of the command's outputs to the channel, no faster than the far end takes it."""
    with contextlib.suppress(OSError, asyncssh.Error):
        while data := await pipe.read(CHUNK):
            out.write(data)
            await out.drain()


@contextlib.asynccontextmanager
async def _reader(descriptor: int) -> AsyncIterator[asyncio.StreamReader]:
    reader = asyncio.StreamReader(limit=CHUNK)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb", 0))
    try:
        yield reader
    finally:
        transport.close()


@contextlib.asynccontextmanager
async def _writer(descriptor: int) -> AsyncIterator[asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop), os.fdopen(descriptor, "wb", 0)
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    try:
        yield writer
    finally:
        if not transport.is_closing():
            transport.abort()
