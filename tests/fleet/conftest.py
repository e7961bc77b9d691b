"""A node on loopback, an operator with a key, and a way to look at what becomes of both."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import asyncssh
import pytest
from lanescope.fleet.settings import Settings
from lanescope.fleet.source import SshSource
from lanescope.fleet.worker import ProbeWorker
from lanescope.incident.events import NodeState, NodeStateChanged
from lanescope.incident.ids import NodeId
from lanescope.incident.source import Intake

from .pipe_node import PipeLink, simulated_libcuda  # noqa: TID251 (this folder, not the room)
from .rig import Node, gone, serving  # noqa: TID251 (this folder, not the room)

QUICK = Settings(
    period=0.2,
    lease=6.0,
    lease_every=0.5,
    connect_timeout=2.0,
    keepalive=0.5,
    start_timeout=3.0,
    silent_limit=2.0,
    backoff=(0.2, 0.2, 0.4),
)
"""Shorter waits than an operator's, so that the tests end."""


class Operator:
    """Somebody with a key, an ssh configuration and a known_hosts file."""

    def __init__(self, directory: Path, key: asyncssh.SSHKey) -> None:
        self.directory = directory
        self.key = directory / "id"
        self.known_hosts = directory / "known_hosts"
        self.own_known_hosts = directory / "own_known_hosts"
        self.config = directory / "config"
        key.write_private_key(self.key)
        key.write_public_key(self.authorized)
        self.known_hosts.touch()
        self.config.touch()

    @property
    def authorized(self) -> Path:
        return self.directory / "authorized_keys"

    def node(self, name: str = "n1", **traits: object) -> Node:
        return Node(name, self.directory, asyncssh.generate_private_key("ssh-ed25519"), **traits)  # type: ignore[arg-type]

    @contextlib.asynccontextmanager
    async def serving(self, *nodes: Node, known: bool = True, more: str = "") -> AsyncIterator[None]:
        """Serve nodes, and know how to reach them."""
        async with contextlib.AsyncExitStack() as stack:
            for node in nodes:
                await stack.enter_async_context(serving(node, self.authorized))
            self.config.write_text("".join(node.config(self.key, more) for node in nodes))
            if known:
                self.known_hosts.write_text("".join(node.known_hosts_line for node in nodes))
            yield

    def source(self, *hosts: str, settings: Settings = QUICK, accept_new: bool = False) -> SshSource:
        return SshSource(hosts or ("n1",), self.config, self.known_hosts, accept_new, self.own_known_hosts, settings)


class Watch:
    """Gathers what a source yields while the test goes on."""

    def __init__(self, source: SshSource) -> None:
        self.source = source
        self.items: list[Intake] = []
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._gather())

    async def _gather(self) -> None:
        async for item in self.source.events():
            self.items.append(item)
            self._news.set()

    async def until(self, wanted: Callable[[Intake], bool], seconds: float = 8.0, past: int = 0) -> Intake:
        """The first item wanted, waiting for it."""
        async with asyncio.timeout(seconds):
            while True:
                for item in self.items[past:]:
                    if wanted(item):
                        return item
                self._news.clear()
                await self._news.wait()

    async def state(self, *states: NodeState, node: str = "n1", past: int = 0) -> NodeStateChanged:
        """The first change of a node to one of the states."""

        def is_it(item: Intake) -> bool:
            return isinstance(item, NodeStateChanged) and item.state in states and item.node == node

        item = await self.until(is_it, past=past)
        assert isinstance(item, NodeStateChanged)
        return item

    def states(self, node: str = "n1") -> Sequence[NodeState]:
        return [item.state for item in self.items if isinstance(item, NodeStateChanged) and item.node == node]

    async def end(self) -> None:
        await self.source.close()
        async with asyncio.timeout(5):
            await self._task


@pytest.fixture(scope="session")
def user_key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def operator(tmp_path: Path, user_key: asyncssh.SSHKey) -> Operator:
    return Operator(tmp_path, user_key)


@pytest.fixture
def quick() -> Settings:
    return QUICK


@pytest.fixture
def watching() -> Callable[[SshSource], contextlib.AbstractAsyncContextManager[Watch]]:
    """Watches a source for the length of a block, and holds it to leaving nothing on any node."""

    @contextlib.asynccontextmanager
    async def watch(source: SshSource) -> AsyncIterator[Watch]:
        watcher = Watch(source)
        try:
            yield watcher
        finally:
            await watcher.end()
        assert await gone(source.run), "processes of ours are left on the node"

    return watch


@pytest.fixture
def patient() -> Settings:
    return dataclasses.replace(QUICK, silent_limit=30.0)


@pytest.fixture
def n1() -> NodeId:
    return NodeId("n1")


@pytest.fixture(scope="session")
def libcuda(tmp_path_factory) -> Path:
    return simulated_libcuda(tmp_path_factory.mktemp("libcuda"))


@pytest.fixture
async def node(libcuda):
    """Makes nodes with their probe worker; leaves none behind."""
    made = []

    def make(gpu="", **more):
        link = PipeLink(libcuda, gpu, **more)
        made.append((link, ProbeWorker(link)))
        return made[-1]

    yield make
    for link, worker in made:
        await worker.close()
        for pid in link.processes():
            os.kill(pid, signal.SIGKILL)
        for channel in link.channels:
            await channel.close()
