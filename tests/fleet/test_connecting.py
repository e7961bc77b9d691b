"""Coming to a node: what works, and a reason of its own for each thing that does not."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import socket

import asyncssh
import pytest
from lanescope.fleet.source import SshSource
from lanescope.incident.errors import InputError
from lanescope.incident.events import ClockMeasured, DomainFailed, FactsRead, NodeState, SampleTaken

from .rig import serving  # noqa: TID251 (this folder, not the room)

DOWN = (NodeState.FAILED, NodeState.BACKOFF)


async def test_a_node_goes_live_and_streams(operator, watching) -> None:
    async with operator.serving(operator.node()), watching(operator.source()) as watch:
        await watch.state(NodeState.LIVE)
        await watch.until(lambda item: isinstance(item, SampleTaken) and item.domain == "pci")
        await watch.until(lambda item: isinstance(item, ClockMeasured) and abs(item.offset) < 0.5)
        facts = await watch.until(lambda item: isinstance(item, FactsRead) and item.source == "node")
        assert {"hostname", "kernel", "boot_time", "collector"} <= {fact.key for fact in facts.facts}
        assert watch.states() == [NodeState.CONNECTING, NodeState.STARTING, NodeState.LIVE]


async def test_a_node_without_the_driver_says_so_and_the_rest_goes_on(operator, watching) -> None:
    async with operator.serving(operator.node()), watching(operator.source()) as watch:
        failed = await watch.until(lambda item: isinstance(item, DomainFailed) and item.domain == "nvml")
        assert "Not Found" in failed.reason
        await watch.until(lambda item: isinstance(item, SampleTaken) and item.domain == "ib")


async def test_a_key_nobody_vouches_for_is_refused_with_its_fingerprint(operator, watching) -> None:
    node = operator.node()
    async with operator.serving(node, known=False), watching(operator.source()) as watch:
        state = await watch.state(*DOWN)
        assert (state.state, state.code) == (NodeState.FAILED, "host-key-unknown")
        assert node.host_key.get_fingerprint() in state.reason


async def test_an_accepted_key_is_kept_in_our_own_file_and_trusted_from_then_on(operator, watching) -> None:
    async with operator.serving(operator.node(), known=False):
        async with watching(operator.source(accept_new=True)) as watch:
            await watch.state(NodeState.LIVE)
        assert operator.known_hosts.read_text() == ""
        async with watching(operator.source()) as watch:
            await watch.state(NodeState.LIVE)


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256"])
async def test_a_changed_host_key_is_refused_with_both_fingerprints_even_when_new_ones_are_accepted(
    operator, watching, kind
) -> None:
    node = operator.node()
    async with operator.serving(node):
        known = asyncssh.generate_private_key(kind)
        line = f"[127.0.0.1]:{node.port} {known.export_public_key().decode()}"
        operator.known_hosts.write_text(line)
        async with watching(operator.source(accept_new=True)) as watch:
            state = await watch.state(*DOWN, NodeState.LIVE)
            assert (state.state, state.code) == (NodeState.FAILED, "host-key-changed")
            assert known.get_fingerprint() in state.reason
            assert node.host_key.get_fingerprint() in state.reason


async def test_a_wrong_user_key_is_tried_once_and_then_waits_for_a_person(operator, watching) -> None:
    node = operator.node()
    async with operator.serving(node):
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(operator.key)
        async with watching(operator.source()) as watch:
            state = await watch.state(*DOWN)
            assert (state.state, state.code) == (NodeState.FAILED, "refused")
            assert "permission denied" in state.reason
            await asyncio.sleep(0.6)
            assert node.logins == 1


async def test_a_person_who_put_it_right_can_have_it_tried_again(operator, watching, user_key) -> None:
    async with operator.serving(operator.node()):
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(operator.key)
        source = operator.source()
        async with watching(source) as watch:
            await watch.state(NodeState.FAILED)
            user_key.write_private_key(operator.key)
            source.retry(source.nodes[0])
            await watch.state(NodeState.LIVE)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_port_nobody_listens_on_is_tried_again_and_comes_back_when_somebody_does(operator, watching) -> None:
    node = operator.node()
    node.port = free_port()
    operator.config.write_text(node.config(operator.key))
    operator.known_hosts.write_text(node.known_hosts_line)
    async with watching(operator.source()) as watch:
        state = await watch.state(*DOWN)
        assert (state.state, state.code) == (NodeState.BACKOFF, "unreachable")
        assert "connection refused" in state.reason
        assert "next try in" in state.reason
        async with serving(node, operator.authorized, node.port):
            await watch.state(NodeState.LIVE)
            await watch.end()


async def test_a_peer_that_accepts_and_is_silent_is_given_up_in_time(operator, watching, quick) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    node = operator.node()
    node.port = server.sockets[0].getsockname()[1]
    operator.config.write_text(node.config(operator.key))
    hasty = dataclasses.replace(quick, connect_timeout=0.5)
    async with server, watching(operator.source(settings=hasty)) as watch:
        state = await watch.state(*DOWN)
        assert (state.state, state.code) == (NodeState.BACKOFF, "unreachable")
        assert "did not answer within 0.5 s (silent)" in state.reason


async def test_a_name_that_does_not_resolve_is_told_from_a_node_that_is_down(operator, watching) -> None:
    operator.config.write_text(f"Host n1\n  HostName n1.invalid\n  IdentityFile {operator.key}\n")
    async with watching(operator.source()) as watch:
        assert "is not found" in (await watch.state(*DOWN)).reason


async def test_an_account_with_a_nologin_shell_is_named_as_such(operator, watching) -> None:
    shell = ["/bin/sh", "-c", "echo This account is currently not available.; exit 1"]
    async with operator.serving(operator.node(shell=shell)), watching(operator.source()) as watch:
        state = await watch.state(*DOWN)
        assert (state.state, state.code) == (NodeState.FAILED, "refused")
        assert "may log in but run nothing" in state.reason
        assert "not available" in state.reason


async def test_a_node_without_python_is_live_with_reduced_readings(operator, watching, tmp_path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "env", "dd", "sleep", "uname", "timeout"):
        (tools / tool).symlink_to(shutil.which(tool))
    node = operator.node(environment={"PATH": str(tools)})
    async with operator.serving(node), watching(operator.source()) as watch:
        state = await watch.state(NodeState.LIVE, *DOWN)
        assert (state.state, state.code) == (NodeState.LIVE, "no-python")
        assert "reduced readings" in state.reason
        facts = [fact for item in watch.items if isinstance(item, FactsRead) for fact in item.facts]
        assert ("collector", "sh") in [(fact.key, fact.value) for fact in facts]


async def test_a_login_script_that_chatters_does_no_harm(operator, watching) -> None:
    shell = ["/bin/sh", "-c", 'echo "Welcome to gpu-001"; echo "[1,2]"; exec /bin/sh -c "$0"']
    async with operator.serving(operator.node(shell=shell)), watching(operator.source()) as watch:
        await watch.state(NodeState.LIVE)


async def test_one_dead_node_costs_the_others_nothing(operator, watching) -> None:
    nodes = [operator.node("n1"), operator.node("n2")]
    dead = operator.node("dead")
    dead.port = free_port()
    async with operator.serving(*nodes):
        operator.config.write_text(operator.config.read_text() + dead.config(operator.key))
        async with watching(operator.source("n[1-2],dead")) as watch:
            for name in ("n1", "n2"):
                await watch.state(NodeState.LIVE, node=name)
            await watch.state(NodeState.BACKOFF, node="dead")


def test_a_configuration_file_that_is_not_there_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match="no such file"):
        SshSource(["n1"], ssh_config=tmp_path / "nowhere")


async def test_a_configuration_that_can_not_be_read_is_shown_on_the_node(operator, watching) -> None:
    operator.config.write_text("Host n1\n  Port many\n")
    async with watching(operator.source()) as watch:
        state = await watch.state(*DOWN)
        assert (state.state, state.code) == (NodeState.FAILED, "input")
        assert "ssh configuration" in state.reason


async def test_a_user_key_that_can_not_be_read_is_named_and_not_tried_again(operator, watching) -> None:
    async with operator.serving(operator.node()):
        operator.key.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nrubbish\n-----END OPENSSH PRIVATE KEY-----\n")
        async with watching(operator.source()) as watch:
            state = await watch.state(*DOWN)
            assert state.state is NodeState.FAILED
            assert "key" in state.reason
