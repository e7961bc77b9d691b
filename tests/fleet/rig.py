"""Nodes to connect to: real SSH servers on loopback whose commands run as real processes, as sshd runs them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

SHELL = ("/bin/sh", "-c")
SESSION = ("/bin/sh", "-c", '"$@"; exit $?', "session")
"""Parent of each command: like the process that sshd has for a connection, it dies with the connection."""


@dataclass
class Node:
    """One SSH server and what its account does with a command."""

    name: str
    directory: Path
    host_key: asyncssh.SSHKey
    shell: Sequence[str] = SHELL
    environment: dict[str, str] = field(default_factory=dict)
    port: int = 0
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)
    logins: int = 0

    @property
    def known_hosts_line(self) -> str:
        """What vouches for this node."""
        return f"[127.0.0.1]:{self.port} {self.host_key.export_public_key().decode().strip()}\n"

    def config(self, key: Path, more: str = "") -> str:
        """Its ssh_config entry."""
        return (
            f"Host {self.name}\n  HostName 127.0.0.1\n  Port {self.port}\n  User operator\n"
            f"  IdentityFile {key}\n  IdentitiesOnly yes\n  IdentityAgent none\n{more}\n"
        )


class _Server(asyncssh.SSHServer):
    def __init__(self, node: Node) -> None:
        self._node = node

    def begin_auth(self, username: str) -> bool:
        self._node.logins += 1
        return True


@contextlib.asynccontextmanager
async def serving(node: Node, authorized: Path, port: int = 0) -> AsyncIterator[Node]:
    """The node, up."""

    async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
        await _run_command(node, process)

    server = await asyncssh.create_server(
        lambda: _Server(node),
        "127.0.0.1",
        port,
        server_host_keys=[node.host_key],
        authorized_client_keys=str(authorized),
        process_factory=run,
        encoding=None,
        gss_host=None,
    )
    node.port = server.sockets[0].getsockname()[1]
    try:
        yield node
    finally:
        server.close()
        await server.wait_closed()
        for process in node.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            process._transport.close()  # type: ignore[attr-defined]


async def _run_command(node: Node, process: asyncssh.SSHServerProcess[bytes]) -> None:
    child = await asyncio.create_subprocess_exec(
        *SESSION,
        *node.shell,
        process.command or "",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **node.environment},
        start_new_session=True,
    )
    node.processes.append(child)
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    ending = asyncio.create_task(_end_with(process.channel.get_connection(), child))
    feeding = asyncio.create_task(_feed(process.stdin, child.stdin))
    pumps = [
        asyncio.create_task(_pump(child.stdout, process.stdout)),
        asyncio.create_task(_pump(child.stderr, process.stderr)),
    ]
    try:
        await asyncio.gather(*pumps)
        status = await child.wait()
    finally:
        for task in (feeding, ending, *pumps):
            task.cancel()
        child.stdin.close()
    if status > 128:
        process.exit_with_signal(signal.Signals(status - 128).name.removeprefix("SIG"))
    else:
        process.exit(status)


async def _end_with(connection: asyncssh.SSHConnection, child: asyncio.subprocess.Process) -> None:
    await connection.wait_closed()
    with contextlib.suppress(ProcessLookupError):
        child.kill()


async def _feed(source: asyncssh.SSHReader[bytes], sink: asyncio.StreamWriter) -> None:
    """What comes over the channel goes to the command; the end of the channel is the end of its standard input."""
    with contextlib.suppress(OSError, asyncssh.Error, asyncssh.BreakReceived):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    sink.close()


async def _pump(source: asyncio.StreamReader, sink: asyncssh.SSHWriter[bytes]) -> None:
    """What the command says goes over the channel; when that is gone the command's pipe closes, as with sshd."""
    try:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    except (OSError, asyncssh.Error):
        source._transport.close()  # type: ignore[attr-defined]


def left_of(run: str) -> list[int]:
    """Processes alive that carry this run's mark in their environment."""
    mark = f"LANESCOPE_RUN={run}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX" and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


async def gone(run: str, seconds: float = 10.0, besides: Collection[int] = ()) -> bool:
    """Whether nothing of a run is left within so many seconds, besides some processes."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while set(left_of(run)) - set(besides):
        if loop.time() > until:
            return False
        await asyncio.sleep(0.05)
    return True


async def ended(pid: int, seconds: float) -> bool:
    """Whether a process is gone within so many seconds."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while Path(f"/proc/{pid}").exists():
        if loop.time() > until:
            return False
        await asyncio.sleep(0.05)
    return True
