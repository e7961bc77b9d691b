"""RDMA by perftest: where it goes, what is asked of the nodes, what is expected, and how either side is read."""

from __future__ import annotations

import math

import pytest
from lanescope.incident.errors import InputError, NotTested, ProbeError, Unparsable
from lanescope.incident.events import Trial
from lanescope.incident.ids import ComponentId, gpu_id
from lanescope.incident.platforms import platform
from lanescope.probes.catalogue import CATALOGUE, probe_named
from lanescope.probes.probe import Measure
from lanescope.topology.sources.facts import build_fabric

from .tool_runs import DATA, N0, N1, captured, crossed, ran, read, trial_of


def test_a_nic_that_writes_to_itself_crosses_its_pcie_links_and_its_socket_but_no_cable(hgx):
    way = crossed(CATALOGUE["rdma_loopback"].exercises(hgx, (ComponentId("n0/mlx5_4"),)))
    assert {"n0/mlx5_4", "n0/mlx5_4/pcie", "n0/numa0", "n0/host"} <= way
    assert not any(part.kind == "cable" for part in way)


def test_from_host_memory_to_host_memory_the_pcie_links_of_both_nics_are_crossed(hgx):
    way = crossed(CATALOGUE["rdma_write"].exercises(hgx, (ComponentId("n0/mlx5_0"), ComponentId("n1/mlx5_0"))))
    assert {"n0/numa0", "n0/mlx5_0/pcie", "n0/mlx5_0", "leaf-1", "n1/mlx5_0", "n1/mlx5_0/pcie", "n1/numa0"} <= way
    assert not any(part.kind == "gpu" for part in way)


def test_gpudirect_crosses_the_gpus_and_their_own_nics_and_no_host_memory(hgx):
    ends = (gpu_id("n0", 0), gpu_id("n1", 7))
    way = crossed(CATALOGUE["rdma_write_gpu"].exercises(hgx, ends))
    assert {"n0/gpu0", "n0/gpu0/pcie", "n0/mlx5_0", "n1/mlx5_11", "n1/gpu7"} <= way
    assert not any(part.kind == "numa" for part in way)
    assert CATALOGUE["rdma_write_gpu"].counted(hgx, ends) == (ComponentId("n0/mlx5_0"), ComponentId("n1/mlx5_11"))


def test_a_gpu_and_a_nic_below_one_switch_turn_round_there_and_others_cross_the_sockets(hgx):
    near, far = (("n0/gpu0", "n0/mlx5_0"), ("n0/gpu0", "n0/mlx5_9"))
    ways = [crossed(CATALOGUE["gpu_nic"].exercises(hgx, tuple(map(ComponentId, ends)))) for ends in (near, far)]
    assert not any(part.kind == "numa" for part in ways[0])
    assert {"n0/numa0", "n0/numa1"} <= ways[1]


def test_the_client_runs_where_the_first_target_is_and_the_server_where_the_second_is(hgx):
    (where, server), (here, client) = CATALOGUE["rdma_write"].tasks(trial_of("rdma_write"), hgx)
    assert (where, server.arguments["rendezvous"]) == (N1, "server")
    assert (here, client.arguments["rendezvous"]) == (N0, "client")
    assert server.id != client.id
    assert server.joint == client.joint == "R1T1"
    assert "server" not in client.arguments  # the server's own side says where it is
    assert server.arguments["port"] == client.arguments["port"] > 1024
    assert client.arguments["counters"] == ["mlx5_0"]
    assert len(client.arguments["gpus"]) == 8


def test_a_duration_is_long_enough_for_perftest_to_have_a_margin(hgx):
    words = CATALOGUE["rdma_write"].tasks(trial_of("rdma_write"), hgx)[1][1].arguments["argv"]
    assert int(words[words.index("-D") + 1]) >= 4
    assert words[0] == "ib_write_bw"


def test_trials_of_one_round_use_other_ports(hgx):
    probe = CATALOGUE["rdma_write"]
    ports = set()
    for number in range(1, 9):
        trial = Trial(id=f"R1T{number}", probe="rdma_write", node=N0, targets=trial_of("rdma_write").targets, seconds=1)
        ports.add(probe.tasks(trial, hgx)[0][1].arguments["port"])
    assert len(ports) == 8


def test_a_loopback_is_two_tasks_of_one_node_that_meet_on_it(hgx):
    tasks = CATALOGUE["rdma_loopback"].tasks(trial_of("rdma_loopback"), hgx)
    assert [node for node, _ in tasks] == [N0, N0]
    assert tasks[1][1].arguments["server"] == "127.0.0.1"
    assert [task.arguments["argv"][task.arguments["argv"].index("-d") + 1] for _, task in tasks] == ["mlx5_4"] * 2


def test_gpu_memory_is_named_by_bus_address_on_both_sides(hgx):
    for name, dmabuf in (("rdma_write_gpu", False), ("rdma_write_gpu_dmabuf", True)):
        (_, server), (_, client) = CATALOGUE[name].tasks(trial_of(name), hgx)
        address = platform("h100_hgx").device("gpu0").address
        assert f"--use_cuda_bus_id={address}" in client.arguments["argv"]
        assert f"--use_cuda_bus_id={platform('h100_hgx').device('gpu7').address}" in server.arguments["argv"]
        assert ("--use_cuda_dmabuf" in client.arguments["argv"]) is dmabuf


def test_both_ways_at_once_is_asked_of_both_sides_and_expects_twice_as_much(hgx):
    one, both = CATALOGUE["rdma_write"], CATALOGUE["rdma_write_both"]
    trial = trial_of("rdma_write_both")
    assert all("-b" in task.arguments["argv"] for _, task in both.tasks(trial, hgx))
    assert both.expected(hgx, trial.targets) == 2 * one.expected(hgx, trial.targets)


def test_a_gid_index_and_a_traffic_class_are_options_that_stand_in_the_name(hgx):
    probe = probe_named("rdma_write@gid=3,tc=106,qp=4")
    assert probe.name == "rdma_write@gid=3,qp=4,tc=106"
    assert probe_named(probe.name) == probe
    for _, task in probe.tasks(trial_of("rdma_write"), hgx):
        words = task.arguments["argv"]
        assert words[words.index("-x") + 1] == "3"
        assert "--tclass=106" in words
        assert words[words.index("-q") + 1] == "4"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rdma_wirte", "did you mean rdma_write"),
        ("rdma_write@gid=300", "takes no gid=300"),
        ("rdma_write@color=3", "it takes gid=0..255"),
        ("rdma_write@gid", "rdma_write@gid=3,tc=106"),
        ("rdma_write@gid=1,gid=2", "is no variant"),
        ("p2p@gid=3", "has no variants"),
    ],
)
def test_a_probe_or_option_that_there_is_not_is_refused_with_what_there_is(name, words):
    with pytest.raises(InputError, match=words):
        probe_named(name)


def test_a_gpu_whose_bus_address_is_not_known_is_refused_in_a_sentence():
    with pytest.raises(ProbeError, match="n0/gpu0 can't be probed"):
        CATALOGUE["rdma_write_gpu"].tasks(trial_of("rdma_write_gpu"), build_fabric([]))


def test_a_nic_is_expected_to_carry_what_ib_write_bw_shows_on_its_platform(hgx):
    value = platform("h100_hgx").expect["ib_write_bw"].value / 8
    assert CATALOGUE["rdma_loopback"].expected(hgx, (ComponentId("n0/mlx5_4"),)) == value
    assert CATALOGUE["rdma_write"].expected(hgx, trial_of("rdma_write").targets) == value


def test_nothing_is_expected_of_a_latency_or_of_a_gpu_and_a_nic_that_are_far_apart(hgx):
    assert math.isnan(CATALOGUE["rdma_latency"].expected(hgx, trial_of("rdma_latency").targets))
    far = (gpu_id("n0", 0), ComponentId("n0/mlx5_9"))
    assert math.isnan(CATALOGUE["gpu_nic"].expected(hgx, far))
    assert not math.isnan(CATALOGUE["gpu_nic"].expected(hgx, (gpu_id("n0", 0), ComponentId("n0/mlx5_0"))))


def test_a_run_of_a_given_duration_gives_one_window_in_gigabytes_and_says_so(hgx):
    text = (DATA / "bandwidth" / "ib_write_bw-cuda-client.txt").read_text()
    measured = read(hgx, "rdma_write_gpu", ran(), ran(text))
    assert measured.windows == (pytest.approx(392.86 / 8),)
    assert "one window" in measured.measured_by
    assert "ib_write_bw" in measured.measured_by
    assert measured.detail == "MTU 4096, InfiniBand, GID index 3, 2 queue pairs."


def test_the_captured_loopback_of_a_200_gigabit_nic_is_24_gigabytes_a_second(hgx):
    text = captured("bandwidth/perftest-ib_write_bw-loopback-8M.log")
    (window,) = read(hgx, "rdma_loopback", ran(text), ran(text)).windows
    assert window == pytest.approx(24056.72 * 2**20 / 1e9, rel=1e-4)


def test_of_a_captured_sweep_the_largest_message_counts(hgx):
    text = captured("bandwidth/perftest-ib_write_bw-loopback-all-sizes.log")
    (window,) = read(hgx, "rdma_loopback", ran(), ran(text)).windows
    assert 23 < window < 26


def test_where_the_client_printed_nothing_the_servers_figure_counts(hgx):
    text = captured("bandwidth/perftest-ib_write_bw-a100-hdr-server.log")
    (window,) = read(hgx, "rdma_write", ran(text), ran("")).windows
    assert window == pytest.approx(23317.65 * 2**20 / 1e9, rel=1e-4)


def test_a_latency_is_the_typical_time_and_the_tail_is_told(hgx):
    measured = read(hgx, "rdma_latency", ran(), ran((DATA / "bandwidth" / "ib_write_lat-client.txt").read_text()))
    assert measured.windows == (1.87,)
    assert "99 % below 2.04 us" in measured.detail
    assert "typical time of 20000 writes" in measured.measured_by
    assert CATALOGUE["rdma_latency"].measure is Measure.LATENCY


def test_a_captured_latency_log_with_warnings_between_its_rows_is_read(hgx):
    text = captured("bandwidth/perftest-ib_write_lat-cpu-freq-warnings.log")
    assert read(hgx, "rdma_latency", ran(text), ran(text)).windows == (1.87,)


def test_counters_of_both_nics_are_taken_once_and_no_other(hgx):
    text = (DATA / "bandwidth" / "ib_write_bw-cuda-client.txt").read_text()
    near = [
        row("mlx5_0", "symbol_error", 4, 9),
        row("mlx5_9", "symbol_error", 0, 7),
        row("mlx5_0", "symbol_error", 1, 1),
    ]
    far = [row("mlx5_0", "link_downed", 2, 2), row("../x", "y", 0, 1), row("mlx5_0", "z", None, 1)]
    moves = read(hgx, "rdma_write", ran(rows=far), ran(text, rows=near)).moves
    assert {(move.component, move.counter, move.step) for move in moves} == {
        ("n0/mlx5_0", "symbol_error", 5.0), ("n1/mlx5_0", "link_downed", 0.0),
    }  # fmt: skip


def row(nic, name, before, after):
    return {"nic": nic, "name": name, "before": before, "after": after}


def test_a_run_without_a_result_is_no_measurement_and_the_tools_own_reason_is_told(hgx):
    text = "IB device mlx5_0 not found\n Unable to find the Infiniband/RoCE device\n"
    with pytest.raises(Unparsable, match=r"status 1 and gave no result.*mlx5_0 not found"):
        read(hgx, "rdma_write", ran("", 1), ran(text, 1))


def test_a_perftest_that_was_built_without_cuda_is_not_tested_and_named(hgx):
    err = "ib_write_bw: unrecognized option '--use_cuda_bus_id=0000:19:00.0'\n"
    with pytest.raises(NotTested, match="built with CUDA"):
        read(hgx, "rdma_write_gpu", ran("", 1, err), ran("", 1, err))
