"""The simulated fleet behind its SSH server: keys, commands, channels that close, and an end that leaves nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh
import pytest
from lanescope.sim.fleet import FleetFailed, SimFleet, serve_until_stopped
from lanescope.sim.scenario import load_scenario

SCENARIO = """
platform = "h100_hgx"
nodes = 3
seed = 5
[[sick]]
node = "sim3"
how = "refuses"
"""

needs_openssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="no OpenSSH client here")


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "three.toml"
    path.write_text(SCENARIO, "utf-8")
    return path


@pytest.fixture
async def fleet(scenario_file: Path) -> AsyncIterator[SimFleet]:
    async with SimFleet(load_scenario(scenario_file)) as fleet:
        yield fleet


def connect(fleet: SimFleet, host: str) -> asyncssh.misc.ACMWrapper[asyncssh.SSHClientConnection]:
    return asyncssh.connect(host, config=[str(fleet.ssh_config)])


async def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether a process ends within that time; a zombie has ended."""
    for _ in range(round(seconds / 0.05)):
        try:
            if Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        await asyncio.sleep(0.05)
    return False


async def test_commands_are_real_processes_with_input_output_and_exit_status(fleet: SimFleet) -> None:
    async with connect(fleet, "sim1") as connection:
        done = await connection.run("cat; echo problem >&2; exit 5", input="some input")
        assert (done.stdout, done.stderr, done.exit_status) == ("some input", "problem\n", 5)
        killed = await connection.run("kill -TERM $$")
        assert killed.exit_signal is not None
        assert killed.exit_signal[0] == "TERM"
        large = await connection.run("head -c 3000000 /dev/zero", encoding=None)
        assert len(large.stdout or b"") == 3_000_000


async def test_every_node_has_its_own_port_key_name_and_home(fleet: SimFleet) -> None:
    lines = fleet.known_hosts.read_text("utf-8").splitlines()
    assert len({line.split()[0] for line in lines}) == len({line.split()[2] for line in lines}) == 3
    assert stat.S_IMODE((fleet.directory / "id_ed25519").stat().st_mode) == 0o600
    names = []
    for host in ("sim1", "sim2"):
        async with connect(fleet, host) as connection:
            names.append((await connection.run("hostname; pwd; echo $HOME; command -v nvidia-smi")).stdout)
    assert isinstance(names[0], str)
    assert names[0].split("\n")[1:3] == [str(fleet.directory / "nodes" / "sim1" / "home")] * 2
    assert names[0].split("\n")[3] == str(fleet.directory / "nodes" / "sim1" / "bin" / "nvidia-smi")
    assert names[0].split("\n")[0] != names[1].split("\n")[0]


async def test_a_node_that_refuses_lets_nobody_in(fleet: SimFleet) -> None:
    with pytest.raises(asyncssh.PermissionDenied):
        await connect(fleet, "sim3")


async def test_a_key_that_is_not_the_fleets_is_refused(fleet: SimFleet) -> None:
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    with pytest.raises(asyncssh.PermissionDenied):
        await asyncssh.connect("sim1", config=[str(fleet.ssh_config)], client_keys=[stranger])


async def test_closing_a_channel_ends_the_input_of_its_command_and_kills_nothing(fleet: SimFleet) -> None:
    async with connect(fleet, "sim1") as connection:
        waiter = await connection.create_process("echo $$; cat >/dev/null; echo over > ended; exec sleep 30")
        pid = int(await waiter.stdout.readline())
        waiter.close()
        ended = fleet.directory / "nodes" / "sim1" / "home" / "ended"
        for _ in range(100):
            if ended.exists():
                break
            await asyncio.sleep(0.05)
        assert ended.read_text("utf-8") == "over\n"
        assert not await gone(pid, 0.3)
        writer = await connection.create_process("echo $$; exec yes")
        writing = int(await writer.stdout.readline())
        writer.close()
        assert await gone(writing), "a command that writes gets a broken pipe"


async def test_a_signal_goes_to_the_whole_process_group(fleet: SimFleet) -> None:
    async with connect(fleet, "sim1") as connection:
        process = await connection.create_process("sleep 60 & echo $!; wait")
        child = int(await process.stdout.readline())
        process.send_signal("TERM")
        await asyncio.wait_for(process.wait(), 5)
        assert await gone(child)


async def test_nothing_is_left_when_the_fleet_ends(scenario_file: Path) -> None:
    async with SimFleet(load_scenario(scenario_file), nodes=1) as fleet:
        async with connect(fleet, "sim1") as connection:
            started = await connection.run(
                "setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $!;"
                "(trap '' TERM; sleep 299) >/dev/null 2>&1 & echo $!"
            )
        assert isinstance(started.stdout, str)
        pids = [*map(int, started.stdout.split()), fleet.pid]
        directory = fleet.directory
        assert not await gone(pids[0], 0.1)
    for pid in pids:
        assert await gone(pid, 1.0)
    assert not directory.exists()


async def test_the_server_ends_with_the_process_that_started_it(scenario_file: Path) -> None:
    code = f"""
import asyncio, os
from lanescope.sim.fleet import SimFleet
from lanescope.sim.scenario import load_scenario
async def main():
    async with SimFleet(load_scenario({str(scenario_file)!r}), nodes=1) as fleet:
        print(fleet.pid, fleet.directory, flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    pid, directory = (await asyncio.wait_for(parent.stdout.readline(), 20)).decode().split()
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    assert await gone(int(pid))
    assert not Path(directory).exists()


async def test_a_server_that_does_not_come_up_is_one_sentence(scenario_file: Path, tmp_path: Path) -> None:
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / "nodes").write_text("in the way", "utf-8")
    with pytest.raises(FleetFailed, match=r"ended at once; its log says: .*nodes"):
        async with SimFleet(load_scenario(scenario_file), directory=tmp_path / "fleet"):
            pass


def test_more_nodes_than_the_scenario_has_are_refused(scenario_file: Path) -> None:
    with pytest.raises(FleetFailed, match="has 3 nodes; 4 were asked for"):
        SimFleet(load_scenario(scenario_file), nodes=4)


async def test_sim_up_serves_until_it_is_told_to_stop_and_leaves_nothing(scenario_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    code = f"""
import asyncio, pathlib
from lanescope.sim.fleet import serve_until_stopped
from lanescope.sim.scenario import load_scenario
asyncio.run(serve_until_stopped(load_scenario({str(scenario_file)!r}), 2, pathlib.Path({str(config)!r})))
"""
    serving = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code), stderr=asyncio.subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert serving.stderr is not None
    said = (await asyncio.wait_for(serving.stderr.readline(), 20)).decode()
    assert said == f"2 simulated nodes, sim1 to sim2; ssh -F {config} sim1 nvidia-smi topo -m\n"
    async with asyncssh.connect("sim2", config=[str(config)]) as connection:
        assert (await connection.run("echo here")).stdout == "here\n"
    serving.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(serving.wait(), 10) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["three.toml"]


async def test_an_ssh_config_of_somebody_else_is_not_overwritten(scenario_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host mine\n", "utf-8")
    with pytest.raises(FleetFailed, match="name another file"):
        await serve_until_stopped(load_scenario(scenario_file), 1, config)
    assert config.read_text("utf-8") == "Host mine\n"


async def test_a_node_that_falls_silent_answers_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "silent.toml"
    path.write_text('nodes = 1\n[[sick]]\nnode = "sim1"\nhow = "silent"\nfrom = 2.0\n', "utf-8")
    async with SimFleet(load_scenario(path)) as fleet:
        connection = await connect(fleet, "sim1")
        assert (await connection.run("echo early")).stdout == "early\n"
        await asyncio.sleep(2.2)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(connection.run("echo late"), 0.5)
        connection.abort()


@needs_openssh
async def test_the_plain_openssh_client_works(fleet: SimFleet) -> None:
    async def ssh(*command: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            *("ssh", "-F", str(fleet.ssh_config), *command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "HOME": "/nonexistent"},
        )
        output, _ = await asyncio.wait_for(process.communicate(), 20)
        return process.returncode, output.decode()

    status, matrix = await ssh("sim1", "nvidia-smi", "topo", "-m")
    assert status == 0
    assert "GPU7\tNV18" in matrix
    assert await ssh("sim2", "exit 9") == (9, "")
