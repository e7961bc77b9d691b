"""A simulated fleet: the nodes of a scenario behind a real SSH server, in a process of its own.

FleetFailed (InputError)       the server did not come up, or the scenario has fewer nodes than asked for
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from ..incident.errors import InputError
from .scenario import Scenario

MARK = "# ssh_config of a simulated fleet"
"""First line of every ssh_config written here."""
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
READY_WITHIN = 30.0
GONE_WITHIN = 8.0


class FleetFailed(InputError):
    """The simulated fleet could not be started."""

    code = "fleet"


class SimFleet:
    """`async with SimFleet(scenario) as fleet:` runs the fleet; leaving the block ends every process of it.

    `nodes`: serve the first so many of the scenario's nodes. `directory`: where the fleet keeps its keys and nodes; a
    temporary one, removed at the end, where none is given.
    """

    def __init__(self, scenario: Scenario, directory: Path | None = None, nodes: int | None = None) -> None:
        self.scenario = _narrowed(scenario, nodes)
        self._given = directory
        self._made: Path | None = None
        self._server: asyncio.subprocess.Process | None = None
        self._directory = Path()

    @property
    def directory(self) -> Path:
        """Where the fleet keeps its keys and nodes."""
        return self._directory

    @property
    def ssh_config(self) -> Path:
        """ssh_config of all hosts, for `ssh -F`, absolute paths in it."""
        return self._directory / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        """Host keys of all hosts."""
        return self._directory / "known_hosts"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts, as ssh_config knows them."""
        return self.scenario.nodes

    @property
    def pid(self) -> int:
        """Process id of the server; all that nodes run descends from it."""
        assert self._server is not None
        return self._server.pid

    async def __aenter__(self) -> SimFleet:
        if self._given is None:
            self._made = Path(tempfile.mkdtemp(prefix="lanescope-sim-"))
        self._directory = (self._given or self._made or Path()).resolve()
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.stop()

    async def _start(self) -> None:
        declared = replace(self.scenario)  # without what was worked out of it
        (self._directory / "scenario.pickle").write_bytes(pickle.dumps(declared))
        with (self._directory / "server.log").open("wb") as log:
            self._server = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "lanescope.sim.server", str(self._directory)),
                *(["--temporary"] if self._made else []),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the terminal is for us; the server ends when we say so or are gone
            )
        ready = await self._first_line()
        _write_client_files(self._directory, self.hosts, ready)

    async def _first_line(self) -> Mapping[str, Any]:
        assert self._server is not None
        assert self._server.stdout is not None
        try:
            async with asyncio.timeout(READY_WITHIN):
                line = await self._server.stdout.readline()
        except TimeoutError:
            raise FleetFailed(f"the simulated fleet was not ready within {READY_WITHIN:.0f} s; {self._log()}") from None
        if not line:
            raise FleetFailed(f"the simulated fleet's server ended at once; {self._log()}")
        ready: dict[str, Any] = msgspec.json.decode(line)
        return ready

    def _log(self) -> str:
        path = self._directory / "server.log"
        lines = path.read_text("utf-8", "replace").strip().splitlines() if path.exists() else []
        return f"its log says: {lines[-1]}" if lines else "its log is empty"

    async def stop(self) -> None:
        """End the server and everything the nodes run; may be called again."""
        server, self._server = self._server, None
        if server is not None and server.returncode is None:
            assert server.stdin is not None
            server.stdin.close()
            try:
                async with asyncio.timeout(GONE_WITHIN):
                    await server.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(server.pid, signal.SIGKILL)
                await server.wait()
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)
            self._made = None


async def serve_until_stopped(scenario: Scenario, nodes: int | None, ssh_config_path: Path | None) -> None:
    """Serve the fleet until Ctrl-C or SIGTERM, its ssh_config copied to `ssh_config_path`; nothing is left behind."""
    if ssh_config_path is not None:
        _refuse_to_overwrite(ssh_config_path)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in STOPPING:
        loop.add_signal_handler(number, stopped.set)
    try:
        async with SimFleet(scenario, nodes=nodes) as fleet:
            path = ssh_config_path or fleet.ssh_config
            if ssh_config_path is not None:
                _write_copy(fleet.ssh_config, path)
            first, last = fleet.hosts[0], fleet.hosts[-1]
            sys.stderr.write(
                f"{len(fleet.hosts)} simulated nodes, {first} to {last}; ssh -F {path} {first} nvidia-smi topo -m\n"
                "Ctrl-C ends them.\n"
            )
            await stopped.wait()
    finally:
        for number in STOPPING:
            loop.remove_signal_handler(number)
        if ssh_config_path is not None:
            ssh_config_path.unlink(missing_ok=True)


def _refuse_to_overwrite(path: Path) -> None:
    """An ssh_config that is not one of ours stays as it is."""
    if path.exists() and not (path.is_file() and path.read_text("utf-8", "replace").startswith(MARK)):
        raise FleetFailed(f"{path} exists and is no ssh_config of a simulated fleet; name another file")


def _write_copy(ssh_config: Path, path: Path) -> None:
    try:
        path.write_text(ssh_config.read_text("utf-8"), "utf-8")
    except OSError as error:
        raise FleetFailed(f"can't write {path}: {error.strerror}; name another file") from error


def _narrowed(scenario: Scenario, nodes: int | None) -> Scenario:
    """The scenario with its first `nodes` nodes only, and the faults of those."""
    if nodes is None or nodes == len(scenario.nodes):
        return scenario
    if not 1 <= nodes <= len(scenario.nodes):
        raise FleetFailed(f"scenario {scenario.name} has {len(scenario.nodes)} nodes; {nodes} were asked for")
    kept = scenario.nodes[:nodes]
    smaller = replace(scenario, nodes=kept, faults=(), wiring=scenario.wiring.for_nodes(len(scenario.nodes)))
    here = [
        fault
        for fault in scenario.faults
        if (smaller.network.has(fault.component) if fault.of_network else fault.node in kept)
    ]
    return replace(
        smaller,
        faults=tuple(here),
        sick=tuple(row for row in scenario.sick if row.node in kept),
    )


def _write_client_files(directory: Path, hosts: tuple[str, ...], ready: Mapping[str, Any]) -> None:
    """Write ssh_config and known_hosts for what the server says it listens on."""
    known = [f"[127.0.0.1]:{ready['ports'][host]} {ready['keys'][host]}" for host in hosts]
    (directory / "known_hosts").write_text("\n".join(known) + "\n", "utf-8")
    blocks = [
        f"Host {host}\n    HostName 127.0.0.1\n    Port {ready['ports'][host]}\n    HostKeyAlgorithms ssh-ed25519\n"
        for host in hosts
    ]
    blocks.append(
        "Host *\n"
        f"    User {ready['user']}\n"
        f'    IdentityFile "{directory}/id_ed25519"\n'
        "    IdentitiesOnly yes\n"
        f'    UserKnownHostsFile "{directory}/known_hosts"\n'
        "    StrictHostKeyChecking yes\n"
    )
    (directory / "ssh_config").write_text("\n".join([f"{MARK}\n", *blocks]), "utf-8")
