"""External tools in the probe worker: real processes, whose scripts stand in for the tools of their name."""

from __future__ import annotations

import asyncio
import os
import runpy
import signal
import socket
import sys
import time
from pathlib import Path

import pytest
from lanescope.fleet import worker as operator_side
from lanescope.fleet.joint import Runs
from lanescope.incident.counter_facts import counters
from lanescope.incident.errors import Busy
from lanescope.incident.ids import NodeId
from lanescope.incident.source import Task

from .pipe_node import GPUS, found, gone, h2d, rates, started  # noqa: TID251 (this folder, not the room)

NODE_PROGRAMS = Path(__file__).parents[2] / "fleet" / "node"
SERVER = """
import socket, sys
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", int(sys.argv[1])))
server.listen(1)
peer = server.accept()[0]
server.close()
print("heard", peer.recv(100).decode())
"""
"""Takes one connection, as the servers of perftest do."""
CLIENT = """
import socket, sys
peer = socket.create_connection((sys.argv[2], int(sys.argv[1])), 2)
peer.sendall(b"data")
"""
ESCAPES = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
print("out", flush=True)
time.sleep(60)
"""
"""Ignores TERM, and so does its grandchild in a session of its own."""


@pytest.fixture
def tools(tmp_path):
    """Puts a script in place of a tool; its folder comes first in the nodes' PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def put(name, text):
        path = folder / name
        path.write_text(f"#!{sys.executable} -IS\n{text}")
        path.chmod(0o755)
        return path

    put.folder = folder
    return put


@pytest.fixture
def node_with(node, tools):
    """A node on which the tools are."""
    return lambda **more: node(path=tools.folder, **more)


@pytest.fixture
def pair(node_with):
    """Runs a server's task on one node and a client's on another; gives their outputs."""
    nodes = {NodeId(name): node_with(name=name) for name in ("n-a", "n-b")}
    runs = Runs(lambda name: nodes[name][1])

    async def run(server, client, deadline=15):
        outputs = await runs.on_all({NodeId("n-a"): [server], NodeId("n-b"): [client]}, deadline)
        return [output for mine in outputs.values() for output in mine]

    run.links = [link for link, _ in nodes.values()]
    return run


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def tool(*argv, name="T1", **more):
    return Task(name, "tool", {"argv": list(argv), **more})


def server(number, **more):
    given = {"argv": ["ib_write_bw", str(number)], "rendezvous": "server", "port": number, **more}
    return Task("T1.0", "tool", given, "R1T1")


def client(port, **more):
    given = {"argv": ["ib_write_bw", str(port)], "rendezvous": "client", "server": "127.0.0.1", **more}
    return Task("T1.1", "tool", given, "R1T1")


def text(output, stream="out"):
    return "".join(found(output, stream))


async def left(link, before):
    """What a node runs more than before, after a moment."""
    end = time.monotonic() + 2
    while (more := set(link.processes()) - set(before)) and time.monotonic() < end:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return more


async def test_a_tool_is_run_and_what_it_says_passed_on(node_with, tools):
    path = tools("nvbandwidth", "import sys; print(sys.argv[1:]); print('oh', file=sys.stderr)")
    _, worker = node_with()
    (said,) = await worker.run([tool("nvbandwidth", "-t", "$(id); *")], 15)
    assert (said.error, said.lines[-1]["end"]) == ("", "done")
    assert found(said, "head") == [{"tool": str(path), "argv": ["nvbandwidth", "-t", "$(id); *"]}]
    assert text(said) == "['-t', '$(id); *']\n"
    assert text(said, "err") == "oh\n"
    assert found(said, "exit") == [0]


async def test_how_a_tool_ended_is_said_and_is_for_its_reader_to_judge(node_with, tools):
    tools("nvbandwidth", "raise SystemExit(3)")
    tools("ib_send_bw", "import os; os.kill(os.getpid(), 11)")
    _, worker = node_with()
    outputs = await worker.run([tool("nvbandwidth"), tool("ib_send_bw", name="T2")], 15)
    assert [(output.error, found(output, "exit")) for output in outputs] == [("", [3]), ("", [-11])]


async def test_a_tool_that_is_missing_is_not_tested_and_its_package_named(node_with):
    _, worker = node_with()
    missing, host = await worker.run([tool("ib_read_lat"), h2d(0, "T2")], 15)
    assert (missing.code, missing.error) == ("not-tested", "not tested: ib_read_lat (package: perftest)")
    assert len(rates(host)) == 16


@pytest.mark.parametrize(
    "arguments",
    [
        {"argv": ["sh", "-c", "id"]},
        {"argv": ["/bin/ib_write_bw"]},
        {"argv": "nvbandwidth"},
        {"argv": []},
        {"argv": ["nvbandwidth", 7]},
        {"argv": ["nvbandwidth", "a\nb"]},
        {"argv": ["nvidia-smi", "--gpu-reset"]},
        {"argv": ["nvidia-smi", "-q", "-r"]},
        {"argv": ["nvidia-smi", "-q", "-f", "/etc/motd"]},
        {"argv": ["ib_write_bw", "--out_json_file=/etc/motd"]},
        {"argv": ["all_reduce_perf", "-J", "/etc/motd"]},
        {"argv": ["nvidia-smi", "-e", "0"]},
        {"argv": ["nvidia-smi"]},
        {"argv": ["nvidia-smi", "nvlink", "-re", "0"]},
        {"argv": ["dcgmi", "config", "--set"]},
        {"argv": ["systemctl", "restart", "nvidia-fabricmanager"]},
        {"argv": ["systemctl", "is-active", "sshd"]},
        {"argv": ["nvbandwidth"], "counters": ["../../etc"]},
        {"argv": ["ib_write_bw"], "rendezvous": "client", "server": "-x"},
        {"argv": ["ib_write_bw"], "rendezvous": "both"},
        {"argv": ["ib_write_bw"], "rendezvous": "server", "port": "18515"},
        {"argv": ["ib_write_bw"], "start_delay": 1e9},
    ],
    ids=str,
)
async def test_what_is_no_measurement_is_not_run(node_with, tools, arguments, tmp_path):
    for name in ("sh", "nvbandwidth", "nvidia-smi", "dcgmi", "systemctl", "ib_write_bw"):
        tools(name, f"open({str(tmp_path / 'ran')!r}, 'w')")
    _, worker = node_with()
    (refused,) = await worker.run([Task("T1", "tool", arguments)], 15)
    assert "BAD_TASK" in refused.error
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "argv",
    [
        ["nvidia-smi", "-q", "-d", "ECC,PERFORMANCE"],
        ["nvidia-smi", "topo", "-m"],
        ["nvidia-smi", "nvlink", "-s", "-i", "0"],
        ["nvidia-smi", "--query-gpu=name,uuid", "--format=csv,noheader"],
        ["dcgmi", "diag", "-r", "2", "-j"],
        ["systemctl", "is-active", "nvidia-fabricmanager"],
    ],
    ids=" ".join,
)
async def test_looking_is_allowed(node_with, tools, argv):
    tools(argv[0], "import sys; print(*sys.argv[1:])")
    _, worker = node_with()
    (said,) = await worker.run([tool(*argv)], 15)
    assert text(said) == " ".join(argv[1:]) + "\n"


async def test_a_tool_that_anybody_could_have_written_is_not_run(node_with, tools):
    tools("nvbandwidth", "print('mine')").chmod(0o777)
    _, worker = node_with()
    (refused,) = await worker.run([tool("nvbandwidth")], 15)
    assert refused.code == "denied"
    assert "can be written by others" in refused.error


async def test_compute_processes_on_the_gpus_it_names_keep_a_tool_from_running(node_with, tools):
    tools("nvbandwidth", "print('ran')")
    _, worker = node_with(nvml={"computing": {GPUS[1]: [1]}})
    with pytest.raises(Busy):
        await worker.run([tool("nvbandwidth", gpus=[GPUS[1]])], 15)
    (ran,) = await worker.run([tool("nvbandwidth", gpus=[])], 15)
    assert text(ran) == "ran\n"


async def test_output_above_the_cap_is_read_dropped_and_said_to_be(node_with, tools):
    tools("nvbandwidth", "for _ in range(3000): print('x' * 1023)\nprint('last')")
    _, worker = node_with()
    (loud,) = await worker.run([tool("nvbandwidth")], 15)
    assert (loud.error, found(loud, "exit")) == ("", [0])
    (truncated,) = found(loud, "truncated")
    said = len(text(loud))
    assert said + truncated["dropped"] == 3000 * 1024 + 5
    assert (1 << 20) - (1 << 16) < said <= 1 << 20


async def test_text_keeps_its_letters_across_pieces_and_bytes_that_are_none_are_marked(node_with, tools):
    tools("nvbandwidth", "import sys; sys.stdout.buffer.write('ü'.encode() * 20_000 + b'a' + b'\\xff\\xfe')")
    _, worker = node_with()
    (said,) = await worker.run([tool("nvbandwidth")], 15)
    assert text(said) == "ü" * 20_000 + "a\ufffd\ufffd"


async def test_at_its_deadline_a_tool_is_killed_with_all_that_it_started_and_the_worker_lives_on(node_with, tools):
    tools("nvbandwidth", ESCAPES)
    link, worker = node_with()
    await worker.run([h2d(0)], 15)
    before = link.processes()
    began = time.monotonic()
    (late,) = await worker.run([tool("nvbandwidth")], 3)
    assert time.monotonic() - began < 3
    assert late.code == "deadline"
    assert "was killed" in late.error
    assert text(late) == "out\nout\n"
    assert not await left(link, before)
    (again,) = await worker.run([h2d(0)], 15)
    assert not again.error


@pytest.mark.parametrize("end", ["cancel", "supervisor killed", "child killed", "lease"])
async def test_whatever_ends_the_worker_ends_the_tool_and_its_grandchildren(node_with, tools, end, monkeypatch):
    monkeypatch.setattr(operator_side, "KEEP_EVERY", 0.2)
    tools("nvbandwidth", ESCAPES)
    link, worker = node_with(lease=2.0 if end == "lease" else None)
    run = asyncio.create_task(worker.run([tool("nvbandwidth")], 30))
    await started(link, 4, run)
    supervisor = link.channels[0].process.pid
    if end == "cancel":
        run.cancel()
    elif end == "supervisor killed":
        os.kill(supervisor, signal.SIGKILL)
    elif end == "child killed":
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        (died,) = await run
        assert "DIED" in died.error
        await worker.close()
    else:
        worker._keeper.cancel()
    assert await gone(link, 4)
    await asyncio.gather(run, return_exceptions=True)


async def test_what_a_tool_leaves_behind_in_the_background_ends_with_it(node_with, tools):
    tools("nvbandwidth", "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(60)\nprint('done')")
    link, worker = node_with()
    (said,) = await worker.run([tool("nvbandwidth")], 15)
    assert (text(said), found(said, "exit")) == ("done\n", [0])
    assert len(link.processes()) == 2


async def test_a_client_starts_when_the_server_listens_and_nobody_else_connects(pair, tools, port):
    tools("ib_write_bw", f"import sys, time\nif len(sys.argv) == 2:\n    time.sleep(0.5)\n{nested(SERVER, CLIENT)}")
    outputs = await pair(server(port, start_delay=10), client(port))
    assert [output.error for output in outputs] == ["", ""]
    assert text(outputs[0]) == "heard data\n"
    assert found(outputs[1], "head")[0]["argv"] == ["ib_write_bw", str(port), "127.0.0.1"]


def nested(on_one, on_other):
    """A script that does one thing as a server and another as a client, as perftest does by its arguments."""
    return f"exec({on_one!r} if len(sys.argv) == 2 else {on_other!r})"


async def test_a_server_whose_port_is_not_seen_is_taken_to_listen_after_its_delay(pair, tools, port):
    tools("ib_write_bw", f"import sys\n{nested(SERVER, CLIENT)}")
    outputs = await pair(server(port, port=0, start_delay=1.0), client(port))
    assert [output.error for output in outputs] == ["", ""]


@pytest.mark.parametrize(
    ("on_one", "on_other", "who"),
    [("raise SystemExit(7)", CLIENT, "n-a"), (SERVER, "raise SystemExit(7)", "n-b")],
    ids=["server", "client"],
)
async def test_when_one_side_fails_the_other_ends_at_once_with_its_reason(pair, tools, port, on_one, on_other, who):
    tools("ib_write_bw", f"import sys\n{nested(on_one, on_other)}")
    began = time.monotonic()
    outputs = await pair(server(port), client(port), 30)
    assert time.monotonic() - began < 15
    failed, ended = outputs if who == "n-a" else reversed(outputs)
    assert failed.error.endswith("it ended with status 7")
    assert ended.error.startswith(f"a partner failed: {who}: ")
    for link in pair.links:
        assert len(link.processes()) <= 2


async def test_a_client_goes_where_the_servers_own_side_says_it_is(pair, tools, port):
    tools("ib_write_bw", f"import sys\n{nested(SERVER, 'print(sys.argv[-1])')}")
    _, ended = await pair(server(port, port=0, start_delay=0.2), client(port, server=""), 15)
    assert text(ended).strip() == socket.gethostname()


async def test_what_a_side_said_last_is_in_the_sentence_of_its_failure(pair, tools, port):
    fails = "print('----', file=sys.stderr); print(' Unable to find the device', file=sys.stderr); sys.exit(1)"
    tools("ib_write_bw", f"import sys\n{nested(fails, CLIENT)}")
    failed, _ = await pair(server(port), client(port))
    assert failed.error.endswith("it ended with status 1: Unable to find the device")


async def test_a_tool_that_does_not_know_an_option_is_not_tested_and_names_the_option(pair, tools, port):
    says = ("x: unrecognized option '--use_cuda_bus_id=0000:19:00.0'", " Please check command line and run again.")
    fails = "".join(f"print({line!r}, file=sys.stderr);" for line in says) + "sys.exit(1)"
    tools("ib_write_bw", f"import sys\n{nested(fails, CLIENT)}")
    outputs = await pair(server(port), client(port))
    assert [output.code for output in outputs] == ["not-tested", "not-tested"]
    assert "unrecognized option '--use_cuda_bus_id=0000:19:00.0' (package: perftest)" in outputs[0].error


async def test_a_port_that_somebody_else_listens_on_is_said_before_anything_runs(pair, tools, port):
    tools("ib_write_bw", f"import sys\n{nested(SERVER, CLIENT)}")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen(1)
        taken, _ = await pair(server(port), client(port))
    assert "another process listens on it" in taken.error


async def test_error_counters_of_the_nics_are_read_before_and_after(node_with, tools, tmp_path):
    folder = tmp_path / "mlx5_0" / "ports" / "1" / "counters"
    folder.mkdir(parents=True)
    values = {"symbol_error": "5", "link_downed": "0", "port_xmit_wait": "9", "port_rcv_errors": "N/A"}
    for name, value in values.items():
        (folder / name).write_text(value + "\n")
    tools("ib_write_bw", f"open({str(folder / 'symbol_error')!r}, 'w').write('7\\n')")
    _, worker = node_with(swaps={"/sys/class/infiniband": str(tmp_path)})
    (said,) = await worker.run([tool("ib_write_bw", counters=["mlx5_0", "mlx5_9"])], 15)
    assert found(said, "counters") == [
        [
            {"nic": "mlx5_0", "name": "symbol_error", "before": 5, "after": 7},
            {"nic": "mlx5_0", "name": "link_downed", "before": 0, "after": 0},
        ]
    ]


def test_every_nic_counter_that_is_read_has_a_meaning():
    known = {name for row in counters().values() if row.layer.startswith("sysfs-ib") for name in row.id.split(" / ")}
    read = {name for _, names in runpy.run_path(str(NODE_PROGRAMS / "nic_counters.py"))["NAMES"] for name in names}
    assert read <= known
