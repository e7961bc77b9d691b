"""Host keys, against real OpenSSH servers: nothing is said to a node that nobody vouches for."""

from __future__ import annotations

import asyncio

from lanescope.incident.events import NodeState
from lanescope.incident.ids import NodeId

from .conftest import QUICK

N1 = NodeId("rig1")
SOON = 8.0


def in_state(*states):
    return lambda snapshot: N1 in snapshot.nodes and snapshot.nodes[N1].state in states


def refused(session):
    return session.until(in_state(NodeState.FAILED, NodeState.LIVE), SOON)


async def test_a_changed_host_key_is_refused_with_both_fingerprints_and_nothing_is_sent(rig):
    (node,) = rig.up(N1)
    known = node.fingerprint()
    node.kill()
    node.new_host_key()
    node.start()
    async with rig.session(N1) as session:
        await refused(session)
        view = session.snapshot().nodes[N1]
        assert (view.state, view.code) == (NodeState.FAILED, "host-key-changed")
        assert known in view.reason
        assert node.fingerprint() in view.reason
        assert node.fingerprint() != known
        assert not node.processes()
    assert "Accepted" not in node.said(), "the node was logged in to"


async def test_a_changed_host_key_is_refused_even_where_new_ones_are_accepted(rig):
    (node,) = rig.up(N1)
    node.kill()
    node.new_host_key()
    node.start()
    async with rig.session(N1, accept_new=True) as session:
        await refused(session)
        assert session.snapshot().nodes[N1].code == "host-key-changed"
    assert not rig.own_known_hosts.exists()


async def test_an_unknown_host_key_is_refused_and_shown(rig):
    (node,) = rig.up(N1)
    rig.known_hosts.write_text("")
    async with rig.session(N1) as session:
        await refused(session)
        view = session.snapshot().nodes[N1]
        assert (view.state, view.code) == (NodeState.FAILED, "host-key-unknown")
        assert node.fingerprint() in view.reason
        assert "--accept-new" in view.reason
    assert "Accepted" not in node.said()


async def test_an_unknown_host_key_is_accepted_on_the_operators_word_and_remembered(rig):
    (node,) = rig.up(N1)
    rig.known_hosts.write_text("")
    async with rig.session(N1, accept_new=True) as session:
        await refused(session)
        assert session.snapshot().nodes[N1].state is NodeState.LIVE
    assert rig.own_known_hosts.read_text() == node.known_hosts_line()
    async with rig.session(N1) as session:
        await refused(session)
        assert session.snapshot().nodes[N1].state is NodeState.LIVE


async def test_a_key_that_the_node_does_not_know_is_refused_once_and_not_tried_again(rig):
    (node,) = rig.up(N1)
    rig.use_another_key()
    async with rig.session(N1) as session:
        await refused(session)
        view = session.snapshot().nodes[N1]
        assert (view.state, view.code) == (NodeState.FAILED, "refused")
        assert "permission denied" in view.reason
        await asyncio.sleep(2 * max(QUICK.backoff))
    assert node.said().count("Failed publickey") == 1
