"""The process behind a simulated fleet: an SSH server for every node, whose commands run as real processes.

    python -m lanescope.sim.server DIRECTORY [--temporary]

It prints one JSON line when it listens, serves until its stdin ends or it is told to stop, and then ends everything
that the nodes run; a temporary directory goes with it. Closing a channel or a connection does what OpenSSH without a
pty does: the command is not killed, it sees the end of its stdin and a broken pipe.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import getpass
import os
import pickle
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import asyncssh
import msgspec

from .hosts import Host, prepare
from .processes import Reaper, end_descendants
from .relay import start_relay
from .scenario import Scenario
from .sessions import run_session

PR_SET_CHILD_SUBREAPER = 36


class Doorkeeper(asyncssh.SSHServer):
    """Who may log in to one node: whoever has the fleet's key, unless the node refuses everybody."""

    def __init__(self, host: Host, began: float, authorized: asyncssh.SSHAuthorizedKeys) -> None:
        self._host = host
        self._began = began
        self._authorized = authorized
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """Somebody knocks."""
        self._connection = conn

    def begin_auth(self, username: str) -> bool:
        """Nobody gets in without a key; where the node refuses, no key is known."""
        if self._connection is not None and self.public_key_auth_supported():
            self._connection.set_authorized_keys(self._authorized)
        return True

    def public_key_auth_supported(self) -> bool:
        """A node that refuses accepts no method at all."""
        return not self._host.is_sick("refuses", time.time() - self._began)


class FleetServer:
    """All nodes of a scenario, each behind a port of its own."""

    def __init__(self, directory: Path, scenario: Scenario) -> None:
        self._directory = directory
        self._scenario = scenario
        self._began = time.time()
        self._reaper = Reaper()
        self._listeners: list[asyncssh.SSHAcceptor] = []

    async def start(self) -> dict[str, Any]:
        """Listen; what a client needs to know."""
        client_key = asyncssh.generate_private_key("ssh-ed25519", "lanescope simulated fleet")
        _write_private(self._directory / "id_ed25519", client_key.export_private_key("openssh"))
        authorized = asyncssh.import_authorized_keys(client_key.export_public_key().decode())
        ready: dict[str, Any] = {"user": getpass.getuser(), "ports": {}, "keys": {}}
        for name in self._scenario.nodes:
            host = prepare(self._directory, self._scenario, name, self._began)
            key = asyncssh.generate_private_key("ssh-ed25519", name)
            ready["ports"][name] = await self._listen(host, key, authorized)
            ready["keys"][name] = " ".join(key.export_public_key().decode().split()[:2])
        return ready

    async def _listen(self, host: Host, key: asyncssh.SSHKey, authorized: asyncssh.SSHAuthorizedKeys) -> int:
        async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
            await run_session(process, host, self._reaper)

        listener = await asyncssh.create_server(
            lambda: Doorkeeper(host, self._began, authorized),
            "127.0.0.1",
            0,
            server_host_keys=[key],
            process_factory=serve,
            encoding=None,
            allow_pty=False,
            agent_forwarding=False,
            server_version="OpenSSH_9.6p1_simulated",
            line_editor=False,
            login_timeout=30,
        )
        self._listeners.append(listener)
        port: int = listener.get_port()
        if host.sick("silent") is None:
            return port
        return await start_relay(port, lambda: host.is_sick("silent", time.time() - self._began))

    async def serve(self) -> None:
        """Reap what nodes leave behind, for ever."""
        while True:
            await asyncio.sleep(0.5)
            self._reaper.reap()

    async def stop(self) -> None:
        """End all listeners and everything that runs."""
        for listener in self._listeners:
            listener.close()
        await end_descendants(os.getpid(), self._reaper)


async def main(directory: Path) -> None:
    """Serve until told to stop."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what double-forks comes to us, not to init
    scenario: Scenario = pickle.loads((directory / "scenario.pickle").read_bytes())
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    await _watch_stdin(stopped)
    server = FleetServer(directory, scenario)
    ready = await server.start()
    sys.stdout.buffer.write(msgspec.json.encode(ready) + b"\n")
    sys.stdout.buffer.flush()
    serving = asyncio.create_task(server.serve())
    try:
        await stopped.wait()
    finally:
        serving.cancel()
        await server.stop()


async def _watch_stdin(stopped: asyncio.Event) -> None:
    """The end of stdin is the end of whoever started us."""

    class Watcher(asyncio.Protocol):
        def connection_lost(self, error: Exception | None) -> None:
            stopped.set()

    await asyncio.get_running_loop().connect_read_pipe(Watcher, sys.stdin)


def _write_private(path: Path, content: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


if __name__ == "__main__":
    served = Path(sys.argv[1])
    try:
        asyncio.run(main(served))
    finally:
        if "--temporary" in sys.argv[2:]:
            shutil.rmtree(served, ignore_errors=True)
