"""Nodes behind a jump host."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import asyncssh
import pytest
from lanescope.fleet.connector import Hop, parse_hops
from lanescope.incident.errors import InputError
from lanescope.incident.events import NodeState, NodeStateChanged

from .rig import serving  # noqa: TID251 (this folder, not the room)

BEHIND = "n[1-4]"


class Bastion:
    """A jump host that counts who comes."""

    def __init__(self) -> None:
        self.logins = 0
        self.forwards = 0
        self.connections: list[asyncssh.SSHServerConnection] = []
        self.port = 0


class _Server(asyncssh.SSHServer):
    def __init__(self, bastion: Bastion) -> None:
        self._bastion = bastion

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._bastion.connections.append(conn)

    def begin_auth(self, username: str) -> bool:
        self._bastion.logins += 1
        return True

    def connection_requested(self, host: str, port: int, orig_host: str, orig_port: int) -> bool:
        self._bastion.forwards += 1
        return True


@contextlib.asynccontextmanager
async def bastion_of(operator, key: asyncssh.SSHKey, port: int = 0) -> AsyncIterator[Bastion]:
    bastion = Bastion()
    server = await asyncssh.create_server(
        lambda: _Server(bastion),
        "127.0.0.1",
        port,
        server_host_keys=[key],
        authorized_client_keys=str(operator.authorized),
    )
    bastion.port = server.sockets[0].getsockname()[1]
    try:
        yield bastion
    finally:
        for connection in bastion.connections:
            connection.abort()
        server.close()
        await server.wait_closed()


@pytest.fixture
def jump_key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


@contextlib.asynccontextmanager
async def site(operator, jump_key) -> AsyncIterator[Bastion]:
    """Four nodes, and a jump host in front of them."""
    nodes = [operator.node(f"n{number}") for number in range(1, 5)]
    async with bastion_of(operator, jump_key) as bastion, operator.serving(*nodes, more="  ProxyJump jump\n"):
        jump = operator.node("jump")
        jump.port, jump.host_key = bastion.port, jump_key
        operator.config.write_text(operator.config.read_text() + jump.config(operator.key))
        operator.known_hosts.write_text(operator.known_hosts.read_text() + jump.known_hosts_line)
        yield bastion


async def test_all_nodes_behind_a_jump_host_share_one_connection_to_it(operator, watching, jump_key) -> None:
    async with site(operator, jump_key) as bastion, watching(operator.source(BEHIND)) as watch:
        for number in range(1, 5):
            await watch.state(NodeState.LIVE, node=f"n{number}")
        assert bastion.logins == 1
        assert bastion.forwards == 4


async def test_the_host_key_of_the_jump_host_is_checked_too(operator, watching, jump_key) -> None:
    async with site(operator, jump_key):
        lines = operator.known_hosts.read_text().splitlines(keepends=True)
        operator.known_hosts.write_text("".join(lines[:-1]))
        async with watching(operator.source("n1")) as watch:
            state = await watch.state(NodeState.BACKOFF, NodeState.FAILED)
            assert (state.state, state.code) == (NodeState.FAILED, "host-key-unknown")
            assert "bastion can't be used" in state.reason
            assert jump_key.get_fingerprint() in state.reason


async def test_a_jump_host_that_dies_is_one_incident_of_all_behind_it_and_they_come_back_with_it(
    operator, watching, jump_key
) -> None:
    async with site(operator, jump_key) as bastion, watching(operator.source(BEHIND)) as watch:
        names = [f"n{number}" for number in range(1, 5)]
        for name in names:
            await watch.state(NodeState.LIVE, node=name)
        past = len(watch.items)
        for connection in list(bastion.connections):
            connection.abort()
        for name in names:
            state = await watch.state(NodeState.LOST, NodeState.BACKOFF, node=name, past=past)
            assert state.code == "bastion"
            assert "the bastion jump is gone" in state.reason
        for name in names:
            await watch.state(NodeState.LIVE, node=name, past=past)


async def test_a_jump_host_that_is_not_there_is_named_as_the_cause(operator, watching, jump_key) -> None:
    async with site(operator, jump_key) as bastion:
        config = operator.config.read_text().replace(f"Port {bastion.port}\n", "Port 1\n")
        operator.config.write_text(config)
        async with watching(operator.source("n1")) as watch:
            state = await watch.state(NodeState.BACKOFF, NodeState.FAILED)
            assert isinstance(state, NodeStateChanged)
            assert state.code == "bastion"
            assert "connection refused" in state.reason


async def test_a_node_that_the_jump_host_can_not_reach_is_told_from_a_dead_jump_host(
    operator, watching, jump_key
) -> None:
    async with site(operator, jump_key):
        dead = operator.node("n9")
        dead.port = 1
        operator.config.write_text(operator.config.read_text() + dead.config(operator.key, "  ProxyJump jump\n"))
        async with watching(operator.source("n9,n1")) as watch:
            state = await watch.state(NodeState.BACKOFF, NodeState.FAILED, node="n9")
            assert "the bastion jump can't reach it" in state.reason
            await watch.state(NodeState.LIVE, node="n1")


def test_the_stops_of_a_jump_are_read_as_ssh_reads_them() -> None:
    assert parse_hops("ops@b1:2222,b2") == (Hop("b1", "ops", 2222), Hop("b2"))
    assert parse_hops("[fe80::1]:22") == (Hop("fe80::1", None, 22),)
    assert parse_hops("none") == ()
    with pytest.raises(InputError):
        parse_hops("b1:ssh")


async def test_a_jump_host_that_jumps_through_itself_is_an_error_and_no_endless_road(
    operator, watching, jump_key
) -> None:
    async with serving(operator.node(), operator.authorized):
        operator.config.write_text("Host n1\n  ProxyJump a\nHost a\n  ProxyJump b\nHost b\n  ProxyJump a\n")
        async with watching(operator.source()) as watch:
            state = await watch.state(NodeState.BACKOFF, NodeState.FAILED)
            assert "leads back to itself" in state.reason
