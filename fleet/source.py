"""A live fleet over SSH as a Source: one connection a node, collectors streaming, commands and probes beside them."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

from ..incident.errors import InputError
from ..incident.ids import NodeId
from ..incident.source import CommandOutput, Task, TaskOutput
from ..incident.source import Intake as Item
from .bootstrap import collector_payload
from .connector import Connector
from .hosts import expand
from .intake import Intake
from .joint import Runs
from .known_hosts import HostKeys
from .link import NodeLink
from .settings import Settings
from .worker import ProbeWorker

LAST_LIMIT = 1.5
"""Seconds that the tasks of all nodes get to end once they are cancelled."""


class SshSource:
    """The nodes that `hosts` name (ClusterShell syntax), through the operator's ssh configuration.

    `known_hosts` replaces the operator's files; a key accepted through `accept_new` is kept in `own_known_hosts`.
    """

    def __init__(
        self,
        hosts: Iterable[str],
        ssh_config: Path | None = None,
        known_hosts: Path | None = None,
        accept_new: bool = False,
        own_known_hosts: Path | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._settings = settings or Settings()
        for path in (ssh_config, known_hosts):
            if path is not None and not path.is_file():
                raise InputError(f"{path}: no such file; expected an ssh configuration or a known_hosts file")
        self.run = secrets.token_hex(8)
        """Value of LANESCOPE_RUN in the environment of everything started on the nodes."""
        self._intake = Intake()
        self._connector = Connector(ssh_config, HostKeys(known_hosts, own_known_hosts, accept_new), self._settings)
        self._links = {
            node: NodeLink(node, self._connector, self._intake, self._settings, self.run) for node in expand(hosts)
        }
        self._workers = {node: ProbeWorker(link) for node, link in self._links.items()}
        self._runs = Runs(self._worker)
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False

    @property
    def kind(self) -> str:
        """`ssh`."""
        return "ssh"

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """All nodes, in the operator's order."""
        return tuple(self._links)

    async def events(self) -> AsyncIterator[Item]:
        """Connect and yield until closed."""
        # making it takes a moment: off the event loop, and before the first node waits for it
        await asyncio.to_thread(collector_payload, self.run, self._settings.period, self._settings.lease)
        self._tasks = [asyncio.create_task(link.run(), name=str(node)) for node, link in self._links.items()]
        try:
            async for item in self._intake.items():
                yield item
        finally:
            await self.close()

    async def run_command(self, node: NodeId, argv: Sequence[str], deadline: float) -> CommandOutput:
        """Run one command on the node, its words quoted; never raises for what the node does."""
        return await self._link(node).run_command(argv, deadline)

    async def run_tasks(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> tuple[TaskOutput, ...]:
        """Run tasks at once in the node's warm probe worker; raises Busy, ProbeError or NodeError."""
        return await self._runs.on_one(node, tasks, deadline)

    async def run_joint(
        self, tasks: Mapping[NodeId, Sequence[Task]], deadline: float
    ) -> Mapping[NodeId, tuple[TaskOutput, ...]]:
        """Run tasks on several nodes at once; what fails on one is the error of its own tasks and their partners."""
        return await self._runs.on_all(tasks, deadline)

    def retry(self, node: NodeId) -> None:
        """Connect again to a node that waits for a person."""
        self._link(node).retry()

    async def close(self) -> None:
        """End everything, on the nodes too: ask, wait half a second, cut."""
        if self._closed:
            return
        self._closed = True
        self._intake.close()
        try:
            await self._end_gently()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*(link.leave() for link in self._links.values()), return_exceptions=True)
            self._connector.abort()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=LAST_LIMIT)

    async def _end_gently(self) -> None:
        """Give probe workers and collectors the time to end by themselves."""
        for link in self._links.values():
            link.quit()
        endings = [asyncio.ensure_future(worker.close()) for worker in self._workers.values()]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.closing):
                await asyncio.gather(*endings, return_exceptions=True)
                if self._tasks:
                    await asyncio.wait(self._tasks)

    def _worker(self, node: NodeId) -> ProbeWorker:
        self._link(node)
        return self._workers[node]

    def _link(self, node: NodeId) -> NodeLink:
        try:
            return self._links[node]
        except KeyError:
            raise InputError(f"{node}: not one of the {len(self._links)} nodes of this session") from None
