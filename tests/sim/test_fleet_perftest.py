"""The simulated perftest and dcgmi print what the real ones print, and show the faults of their nodes."""

from __future__ import annotations

import pickle
import socket
import subprocess
import time
from collections.abc import Callable

import pytest
from lanescope.parsers.bandwidth.perftest import RdmaBandwidth, RdmaFailure, RdmaLatency, RdmaRun, parse_perftest
from lanescope.parsers.dcgm.diag import DiagResult, DiagStatus
from lanescope.parsers.dcgm.diag_json import parse_diag_json
from lanescope.parsers.dcgm.diag_text import parse_diag_text
from lanescope.sim.hosts import prepare
from lanescope.sim.scenario import load_scenario

SCENARIO = """
platform = "h100_hgx"
nodes = 2
speed = 1000.0
[world]
tenants = 0.0
noise = 0.01
[[fault]]
component = "sim1/gpu2/pcie"
kind = "degraded"
width = 8
[[fault]]
component = "sim2/mlx5_4/pcie"
kind = "degraded"
width = 8
[[fault]]
component = "cable/sim2:mlx5_3~leaf-2:port2"
kind = "hard"
from = -100.0
"""

Pair = Callable[..., tuple[str, str]]
Run = Callable[..., str]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], subprocess.Popen[str]]:
    """Starts a command on a node."""
    folder = tmp_path_factory.mktemp("perftest")
    (folder / "two.toml").write_text(SCENARIO, "utf-8")
    scenario = load_scenario(folder / "two.toml")
    (folder / "scenario.pickle").write_bytes(pickle.dumps(scenario))
    hosts = {name: prepare(folder, scenario, name, time.time()) for name in scenario.nodes}

    def begin(node: str, command: str) -> subprocess.Popen[str]:
        host = hosts[node]
        argv = ["/bin/sh", "-c", command]
        return subprocess.Popen(argv, env=host.environment(), cwd=host.home, stdout=subprocess.PIPE, text=True)

    return begin


@pytest.fixture
def pair(start: Callable[[str, str], subprocess.Popen[str]]) -> Pair:
    """Runs a test as a server on one node and as a client on another; what client and server print."""

    def run(
        command: str, client: str, client_nic: str, server: str, server_nic: str, words: str = ""
    ) -> tuple[str, str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        sides = [
            start(server, f"{command} -d {server_nic} -p {port} {words}"),
            start(client, f"{command} -d {client_nic} -p {port} {words} {server}"),
        ]
        try:
            return sides[1].communicate(timeout=30)[0], sides[0].communicate(timeout=30)[0]
        finally:
            for side in sides:
                side.kill()

    return run


def gbps(text: str) -> float:
    (row,) = [row for row in parse_perftest(text).readings if isinstance(row, RdmaBandwidth)]
    assert row.gbps is not None
    return row.gbps


@pytest.mark.parametrize("tool", ["ib_write_bw", "ib_read_bw"])
def test_both_sides_print_the_same_figure_and_every_line_is_read(pair: Pair, tool: str) -> None:
    client, server = pair(tool, "sim1", "mlx5_0", "sim2", "mlx5_0", "-F --report_gbits -s 8388608 -D 4")
    assert parse_perftest(client).unread == parse_perftest(server).unread == []
    assert gbps(client) == gbps(server) == pytest.approx(393, rel=0.05)
    roles = [
        next(row.role for row in parse_perftest(text).readings if isinstance(row, RdmaRun)) for text in (client, server)
    ]
    assert roles == ["client", "server"]


def test_a_nic_on_half_of_its_lanes_shows_in_a_loopback_and_across(pair: Pair) -> None:
    well, _ = pair("ib_write_bw", "sim2", "mlx5_0", "sim2", "mlx5_0", "--report_gbits")
    looped, _ = pair("ib_write_bw", "sim2", "mlx5_4", "sim2", "mlx5_4", "--report_gbits")
    across, _ = pair("ib_write_bw", "sim1", "mlx5_0", "sim2", "mlx5_4", "--report_gbits")
    assert gbps(well) == pytest.approx(393, rel=0.02)
    assert gbps(looped) < 250
    assert gbps(across) < 250


def test_both_ways_at_once_move_twice_as_much(pair: Pair) -> None:
    one, _ = pair("ib_write_bw", "sim1", "mlx5_0", "sim2", "mlx5_0", "--report_gbits")
    both, _ = pair("ib_write_bw", "sim1", "mlx5_0", "sim2", "mlx5_0", "--report_gbits -b")
    assert gbps(both) == pytest.approx(2 * gbps(one), rel=0.1)


def test_a_gpu_on_half_of_its_lanes_shows_with_the_nic_beside_it(pair: Pair) -> None:
    words = "--report_gbits --use_cuda_bus_id="
    slow, _ = pair("ib_write_bw", "sim1", "mlx5_4", "sim1", "mlx5_4", f"{words}0000:4c:00.0")
    well, _ = pair("ib_write_bw", "sim1", "mlx5_0", "sim1", "mlx5_0", f"{words}0000:19:00.0")
    assert gbps(slow) < 0.6 * gbps(well)


def test_a_latency_is_printed_as_a_row_of_microseconds(pair: Pair) -> None:
    client, server = pair("ib_write_lat", "sim1", "mlx5_0", "sim2", "mlx5_0", "-s 8 -n 5000")
    assert parse_perftest(client).unread == parse_perftest(server).unread == []
    (row,) = [row for row in parse_perftest(client).readings if isinstance(row, RdmaLatency)]
    assert (row.size, row.iterations) == (8, 5000)
    assert row.typical is not None
    assert 1.5 < row.typical < 4


def test_a_port_that_is_down_says_so_and_ends(start: Callable[[str, str], subprocess.Popen[str]]) -> None:
    ended = start("sim2", "ib_write_bw -d mlx5_3")
    text = ended.communicate(timeout=30)[0]
    assert ended.returncode == 1
    assert any(isinstance(row, RdmaFailure) for row in parse_perftest(text).readings)


def test_a_client_without_a_server_gives_up(start: Callable[[str, str], subprocess.Popen[str]]) -> None:
    ended = start("sim1", "ib_write_bw -d mlx5_0 -p 1 sim2")
    assert "Couldn't connect to sim2:1" in ended.communicate(timeout=30)[0]
    assert ended.returncode == 1


def test_the_diagnostic_fails_on_the_gpu_whose_link_is_narrow_in_both_forms(
    start: Callable[[str, str], subprocess.Popen[str]],
) -> None:
    for words, parse in (("-j", parse_diag_json), ("", parse_diag_text)):
        ended = start("sim1", f"dcgmi diag -r 2 {words}")
        parsed = parse(ended.communicate(timeout=30)[0])
        assert parsed.unread == []
        failed = [row for row in parsed.readings if isinstance(row, DiagResult) and row.status is DiagStatus.FAIL]
        assert [(row.test, row.gpu) for row in failed] == [("PCIe", 2)]
        assert ended.returncode != 0


def test_services_are_up_and_the_fabric_manager_has_the_drivers_version(
    start: Callable[[str, str], subprocess.Popen[str]],
) -> None:
    assert start("sim1", "systemctl is-active nvidia-fabricmanager").communicate(timeout=30)[0] == "active\n"
    assert "570.124.06" in start("sim1", "nv-fabricmanager --version").communicate(timeout=30)[0]
    assert start("sim1", "systemctl is-active nonsense").wait(30) == 3
