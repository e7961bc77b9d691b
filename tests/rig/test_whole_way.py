"""The whole way through the commands, over real OpenSSH servers: connect, stream, localize, bundle; and Ctrl-C."""

from __future__ import annotations

import json
import signal
import time
import zipfile

import pytest
from lanescope.evidence.verify import verify

from .nodes import wait_until

LONGEST = 60.0
LANE = "rig1/gpu3/nvlink7"


def ended(process):
    """Exit status, standard output and error of a command."""
    out, err = process.communicate(timeout=LONGEST)
    return process.returncode, out, err


def test_a_lane_that_recovers_under_load_is_localized_and_nothing_else_is_named(rig):
    node = rig.up_with_a_marginal_lane("rig1")
    status, out, err = ended(rig.command("localize", "rig1", "--json", "--yes", "--budget", "20"))
    document = json.loads(out)
    assert document["outcome"] == "localized", err
    assert [verdict["component"] for verdict in document["verdicts"]] == [LANE]
    assert document["verdict"]["by"] == "counters"
    assert set(document["verdict"]["evidence"]) <= set(document["evidence_index"])
    assert document["nodes"] == {"rig1": "live"}
    assert status == 1
    assert node.marks.stat().st_size > 0
    rig.expect_nothing_left()


@pytest.mark.slow
def test_a_lane_that_whole_transfers_wait_for_is_localized_and_nothing_else_is_named(rig):
    rig.up_with_a_marginal_lane("rig1", left=0.5)
    _, out, err = ended(rig.command("localize", "rig1", "--json", "--yes", "--budget", "20"))
    document = json.loads(out)
    assert [verdict["component"] for verdict in document["verdicts"]] == [LANE], err


@pytest.mark.slow
def test_a_healthy_node_has_no_fault_and_says_what_that_excludes(rig):
    rig.up("rig1")
    status, out, err = ended(rig.command("localize", "rig1", "--json", "--yes", "--budget", "4"))
    document = json.loads(out)
    assert document["verdicts"] == [], err
    assert document["outcome"] in ("none", "undecided")
    assert document["probes"] > 0
    assert document["excludes"]
    assert status == {"none": 0, "undecided": 2}[document["outcome"]]
    rig.expect_nothing_left()


@pytest.mark.slow
def test_a_plan_over_a_newly_accepted_key_says_what_it_would_load_and_runs_nothing(rig):
    node = rig.up_with_a_marginal_lane("rig1")
    rig.known_hosts.write_text("")
    status, out, err = ended(rig.command("localize", "rig1", "--json", "--plan", "--accept-new"))
    assert status == 0, err
    document = json.loads(out)
    assert document["plan"]["trials"]
    assert document["probes"] == 0
    assert node.marks.stat().st_size == 0
    assert rig.own_known_hosts.read_text() == node.known_hosts_line()
    rig.expect_nothing_left()


@pytest.mark.usefixtures("with_devices")
def test_two_nodes_are_collected_into_a_bundle_that_verifies_and_holds_what_they_said(rig, tmp_path):
    first, _ = rig.up("rig1", "rig2")
    first.log("NVRM: Xid (PCI:0000:3b:00): 74, pid=0, NVLink: fatal error detected on link 7")
    out = tmp_path / "incident.evb.zip"
    status, said, err = ended(rig.command("collect", "rig1", "rig2", "--out", str(out), "--yes"))
    assert status == 0, err
    assert str(out) in said
    assert verify(out).intact
    with zipfile.ZipFile(out) as bundle:
        texts = b"\n".join(bundle.read(name) for name in bundle.namelist())
    assert b"Linux rig1 " in texts
    assert b"Linux rig2 " in texts
    assert b"fatal error detected on link 7" in texts
    rig.expect_nothing_left()


def test_a_host_key_nobody_vouches_for_ends_localizing_in_a_sentence(rig):
    node, *_ = rig.up("rig1")
    rig.known_hosts.write_text("")
    status, _, err = ended(rig.command("localize", "rig1", "--json", "--yes", "--budget", "4"))
    assert status == 3
    assert node.fingerprint() in err
    assert "Traceback" not in err
    assert "Accepted" not in node.said()


MOMENTS = {
    "rig1": ("connecting", lambda node: node.sessions()),
    "rig2": ("watching", lambda node: len(node.processes("LANESCOPE_RUN")) > 2),
    "rig3": ("probing", lambda node: node.marks.stat().st_size),
}
"""Node: how far the command that localizes there comes before Ctrl-C, and how that shows on the node."""


@pytest.mark.usefixtures("with_devices")
def test_ctrl_c_while_connecting_watching_or_probing_leaves_nothing_on_the_nodes(rig):
    nodes = {name: rig.up_with_a_marginal_lane(name) for name in MOMENTS}
    commands = {name: rig.command("localize", name, "--json", "--yes") for name in MOMENTS}
    for name, (moment, reached) in MOMENTS.items():
        wait_for(moment, reached, nodes[name], commands[name])
        interrupt_and_look(rig, nodes[name], commands[name])


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, *(half / 2 for half in range(1, 20))])
def test_ctrl_c_at_any_moment_leaves_nothing_on_the_node(rig, seconds):
    node = rig.up_with_a_marginal_lane("rig1")
    command = rig.command("localize", "rig1", "--json", "--yes")
    time.sleep(seconds)
    interrupt_and_look(rig, node, command)


def wait_for(moment, reached, node, command):
    """Wait until a command has come that far."""
    wait_until(lambda: reached(node) or command.poll() is not None, 20.0, lambda: f"it never came to {moment}")
    assert command.poll() is None, command.communicate()


def interrupt_and_look(rig, node, command):
    """Press Ctrl-C, and see how the command ends and what it leaves."""
    already = command.poll()
    command.send_signal(signal.SIGINT)
    status, out, err = ended(command)
    came_too_late = already is not None or (status == 1 and json.loads(out)["outcome"] == "localized")
    assert came_too_late or status == 130, err
    assert "Traceback" not in err
    assert "a defect of ours" not in err
    rig.expect_nothing_left_on(node)
