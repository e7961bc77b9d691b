"""Transfers across the simulated network: what they cross, what faults of its parts cost, what NICs count of them."""

from __future__ import annotations

import time
from itertools import permutations, product
from statistics import mean

import numpy as np
import pytest
from lanescope.benchmarks.network import fabric_of_world
from lanescope.incident.ids import ComponentId
from lanescope.incident.platforms import platform
from lanescope.sim.ledger import Ledger, Transfer
from lanescope.sim.network import way_to_nic
from lanescope.sim.scenario import Scenario
from lanescope.sim.world import Request, World
from lanescope.topology.paths import path

from .worlds import BEGAN, HEALTHY, QUIET, fault, send, world_of

GPUS = ["gpu0", "gpu3", "gpu7"]
ENDS = [f"sim{node}/{gpu}" for node in range(1, 7) for gpu in GPUS]
PAIRS = [pair for pair in permutations(ENDS, 2) if pair[0].split("/")[0] != pair[1].split("/")[0]]
"""Within leaves, between leaves of a rail and between rails."""
ADAPTIVE = 'nodes_per_leaf = 2\nspines = 3\nrouting = "adaptive"\n'


def crossed(world: World, source: str, target: str):
    (one, gpu), (other, its) = source.split("/"), target.split("/")
    return world.network.crossed(world.hardware(one), gpu, world.hardware(other), its)


def rate(world: World, source: str, target: str, **more) -> float:
    return mean(send(world, source, target, **more).gbps)


# ---- healthy


def test_a_healthy_transfer_measures_what_the_platforms_nics_do(tmp_path):
    world = world_of(tmp_path)
    assert [rate(world, *pair) for pair in PAIRS] == pytest.approx([HEALTHY] * len(PAIRS))


def test_both_nics_count_what_went_through_them_and_no_other_does(tmp_path):
    world = world_of(tmp_path)
    source, target = send(world, "sim1/gpu2", "sim2/gpu3").ends
    words = HEALTHY * 1e9 * 0.52 / 4
    assert source.steps["mlx5_4", "port_xmit_data"] == pytest.approx(words)
    assert target.steps["mlx5_5", "port_rcv_data"] == pytest.approx(words)
    assert {nic for nic, _ in source.steps} == {"mlx5_4"}
    assert not [name for _, name in target.steps if "xmit" in name]
    both, _ = send(world, "sim1/gpu2", "sim2/gpu3", both_ways=True).ends
    assert both.steps["mlx5_4", "port_rcv_data"] == both.steps["mlx5_4", "port_xmit_data"]


def test_a_transfer_within_a_node_that_may_not_use_nvlink_leaves_by_one_nic_and_comes_in_by_the_other(tmp_path):
    parts = crossed(world_of(tmp_path), "sim1/gpu0", "sim1/gpu3")
    assert {part for part in parts if part.startswith(("cable", "leaf"))} == {
        "cable/sim1:mlx5_0~leaf-1:port1",
        "cable/sim1:mlx5_5~leaf-4:port1",
        "leaf-1",
        "leaf-4",
    }
    source, target = send(world_of(tmp_path), "sim1/gpu0", "sim1/gpu3").ends
    assert ("mlx5_0", "port_xmit_data") in source.steps
    assert ("mlx5_5", "port_rcv_data") in target.steps


def test_a_gpu_reaches_a_nic_of_another_socket_over_both_sockets(tmp_path):
    board = world_of(tmp_path).hardware("sim1").board
    way = way_to_nic(board.gpu("gpu0"), board.nic("mlx5_11"))
    assert {"numa0", "numa1", "pcie/0000:15:01.0", "pcie/0000:d7:01.0"} <= set(way)
    beside = way_to_nic(board.gpu("gpu0"), board.nic("mlx5_0"))
    assert not {"numa0", "pcie/0000:15:01.0"} & set(beside)


def test_a_world_of_512_nodes_stands_in_a_second(tmp_path):
    began = time.process_time()
    names = tuple(f"sim{number}" for number in range(1, 513))
    world = World(Scenario("large", platform("h100_hgx"), names), BEGAN)
    send(world, "sim1/gpu0", "sim512/gpu7")
    assert time.process_time() - began < 1.0
    assert (world.network.leaves, world.network.spines) == (128, 32)


# ---- routing


def test_static_traffic_to_a_nic_takes_one_spine_from_every_leaf(tmp_path):
    world = world_of(tmp_path)
    for target in ENDS:
        spines = {
            part
            for source in ENDS
            if source.split("/")[0] != target.split("/")[0]
            for part in crossed(world, source, target)
            if part.startswith("spine")
        }
        assert len(spines) == 1
    every = {part for pair in PAIRS for part in crossed(world, *pair) if part.startswith("spine")}
    assert every == {"spine-1", "spine-2", "spine-3"}


def test_below_one_leaf_no_spine_is_taken(tmp_path):
    parts = crossed(world_of(tmp_path), "sim1/gpu0", "sim2/gpu0")
    assert [part for part in parts if part.startswith(("leaf", "spine", "uplink"))] == ["leaf-1"]


def test_adaptive_traffic_is_spread_evenly_over_all_spines(tmp_path):
    parts = crossed(world_of(tmp_path, network=ADAPTIVE), "sim1/gpu0", "sim3/gpu0")
    shares = {part: share for part, share in parts.items() if part.startswith(("spine", "uplink"))}
    assert list(shares.values()) == pytest.approx([1 / 3] * 9)


def test_spines_are_enough_for_every_node_of_a_leaf_unless_declared(tmp_path):
    assert world_of(tmp_path, nodes=6, network="nodes_per_leaf = 4\n").network.spines == 4
    assert world_of(tmp_path, nodes=3, network="told = true\n").network.spines == 3


@pytest.mark.parametrize("network", ["nodes_per_leaf = 2\nspines = 3\n", ADAPTIVE], ids=["static", "adaptive"])
def test_the_engines_paths_over_the_fabric_that_people_see_are_what_the_world_crosses(tmp_path, network):
    world = world_of(tmp_path, network=network)
    fabric = fabric_of_world(world)
    assert not fabric.contradictions
    for source, target in PAIRS:
        found = {str(part.component): part.share for part in path(fabric, ComponentId(source), ComponentId(target))}
        assert found == {part: pytest.approx(share) for part, share in crossed(world, source, target).items()}


def test_where_nobody_is_told_the_forwarding_the_fabric_knows_the_wires_alone(tmp_path):
    fabric = fabric_of_world(world_of(tmp_path, network="nodes_per_leaf = 2\nspines = 3\ntold = false\n"))
    assert fabric.leaf_of("sim3/mlx5_4") == "leaf-11"
    assert fabric.cable_of("sim3/mlx5_4") == "cable/sim3:mlx5_4~leaf-11:port1"
    assert fabric.spine_to("sim3/mlx5_4") is None
    assert len(fabric.netswitches) == 24 + 3


def test_a_look_at_the_network_does_not_find_what_is_gone(tmp_path):
    world = world_of(tmp_path, fault("cable/sim1:mlx5_0~leaf-1:port1", "hard", **{"from": 60}))
    assert '"sim1 mlx5_0"' in world.fabric_text(BEGAN + 59)
    assert '"sim1 mlx5_0"' not in world.fabric_text(BEGAN + 61)
    assert '"sim1 mlx5_0"' in world.fabric_text()


# ---- faults of its parts


@pytest.mark.parametrize(
    "part",
    [
        "leaf-9",
        "spine-2",
        "uplink/leaf-1~spine-2",
        "cable/sim3:mlx5_0~leaf-9:port1",
        "sim3/mlx5_0",
        "sim3/mlx5_0/pcie",
        "sim3/pcie/0000:17:01.0",
        "sim3/pcie/0000:16:00.0",
        "sim3/gpu0",
    ],
)
def test_a_fault_slows_exactly_the_transfers_that_cross_its_part(tmp_path, part):
    world = world_of(tmp_path, fault(part, slowdown=0.5))
    for pair in PAIRS:
        share = crossed(world, *pair).get(part, 0.0)
        assert rate(world, *pair) == pytest.approx(HEALTHY * (1 - 0.5 * share)), pair
    assert any(part in crossed(world, *pair) for pair in PAIRS)


def test_a_slow_spine_costs_adaptive_traffic_no_more_than_its_share(tmp_path):
    world = world_of(tmp_path, fault("spine-2", slowdown=0.9), network=ADAPTIVE)
    assert rate(world, "sim1/gpu0", "sim3/gpu0") == pytest.approx(HEALTHY * (1 - 0.9 / 3))
    assert rate(world, "sim1/gpu0", "sim2/gpu0") == pytest.approx(HEALTHY)


def test_adaptive_traffic_goes_round_an_uplink_that_is_gone_and_static_traffic_is_lost_in_it(tmp_path):
    gone = fault("uplink/leaf-1~spine-2", "hard")
    assert rate(world_of(tmp_path, gone, network=ADAPTIVE), "sim1/gpu0", "sim3/gpu0") == pytest.approx(HEALTHY)
    world = world_of(tmp_path, gone)
    (lost,) = [gpu for gpu in ("sim3/gpu0", "sim4/gpu0") if "spine-2" in crossed(world, "sim1/gpu0", gpu)]
    transfer = send(world, "sim1/gpu0", lost)
    assert [end.error.name for end in transfer.ends if end.error] == ["ncclRemoteError"] * 2
    assert not transfer.gbps


@pytest.mark.parametrize("part", ["cable/sim3:mlx5_0~leaf-9:port1", "sim3/mlx5_0"])
def test_a_nic_without_a_link_says_so_and_its_partner_waits_for_it(tmp_path, part):
    world = world_of(tmp_path, fault(part, "hard"))
    source, target = send(world, "sim1/gpu0", "sim3/gpu0").ends
    assert (source.error, target.error.name) == (None, "ncclInvalidUsage")
    readings = world.readings("sim3", BEGAN, Ledger())
    assert (readings["mlx5_0", "port_state"], readings["mlx5_3", "port_state"]) == (1, 4)
    assert any(line.text.endswith("Link down") for line in world.log("sim3", 0.0, BEGAN, Ledger()))


def test_a_leaf_that_is_gone_takes_the_link_of_every_nic_on_it(tmp_path):
    world = world_of(tmp_path, fault("leaf-9", "hard"))
    states = {
        (node, nic): world.readings(node, BEGAN, Ledger())[nic, "port_state"]
        for node, nic in product([node.name for node in world.nodes], ["mlx5_0", "mlx5_3"])
    }
    assert {key for key, state in states.items() if state == 1} == {("sim3", "mlx5_0"), ("sim4", "mlx5_0")}


def test_a_bad_cable_moves_the_counters_of_its_nic_at_whichever_end_that_is(tmp_path):
    part, key = "cable/sim3:mlx5_0~leaf-9:port1", ("mlx5_0", "symbol_error")
    world = world_of(tmp_path, fault(part, slowdown=0.3, counters="{ symbol_error = 20 }"))
    out, into = send(world, "sim3/gpu0", "sim1/gpu0"), send(world, "sim1/gpu0", "sim3/gpu0")
    assert (out.ends[0].steps[key] > 1, key in out.ends[1].steps) == (True, False)
    assert (into.ends[1].steps[key] > 1, key in into.ends[0].steps) == (True, False)
    assert key not in send(world, "sim1/gpu0", "sim4/gpu0").ends[0].steps
    early, late = (world.readings("sim3", BEGAN + at, Ledger())[key] for at in (0, 100))
    assert late - early == pytest.approx(2000)


def test_a_bad_leaf_moves_counters_of_both_nics_and_only_under_a_transfer(tmp_path):
    world = world_of(tmp_path, fault("leaf-9", slowdown=0.3, counters="{ port_rcv_errors = 20 }"))
    source, target = send(world, "sim1/gpu0", "sim3/gpu0").ends
    key = ("mlx5_0", "port_rcv_errors")
    assert source.steps[key] == target.steps[key] > 1
    assert world.readings("sim3", BEGAN + 100, Ledger())[key] == 0


def test_what_a_transfer_moved_stands_in_the_nics_counters_from_then_on(tmp_path):
    world = world_of(tmp_path)
    source, _ = send(world, "sim1/gpu0", "sim2/gpu0").ends
    ledger = Ledger().after([source], source.seconds, BEGAN + 20)
    moved, before = (world.readings("sim1", BEGAN + 30, one)["mlx5_0", "port_xmit_data"] for one in (ledger, Ledger()))
    assert moved - before == source.steps["mlx5_0", "port_xmit_data"]


def test_a_fault_under_load_of_the_network_runs_by_the_later_clock_of_the_two_nodes(tmp_path):
    world = world_of(
        tmp_path, fault("leaf-1", "intermittent", duty=0.3, burst=2.0, when="load", slowdown=0.9), network=ADAPTIVE
    )
    slow = [start for start in np.arange(0.0, 60.0, 0.6) if rate(world, "sim1/gpu0", "sim2/gpu0", start=start) < 40]
    assert 10 < len(slow) < 60

    def at(one: float, other: float) -> tuple[float, ...]:
        return world.net_transfer(
            "sim1", "gpu0", "sim2", "gpu0", (one, other), 0.03, 16, 0, at=BEGAN + 10, warm_s=0.04
        ).gbps

    assert at(0.0, slow[0]) == at(slow[0], 0.0) == at(slow[0], slow[0])


def test_a_fault_under_load_of_a_node_runs_by_its_own_clock(tmp_path):
    world = world_of(tmp_path, fault("sim2/mlx5_0", "intermittent", duty=0.3, burst=2.0, when="load", slowdown=0.9))

    def low(one: float, other: float) -> bool:
        found = world.net_transfer("sim1", "gpu0", "sim2", "gpu0", (one, other), 0.03, 16, 0, at=BEGAN + 10)
        return min(found.gbps) < 40

    clocks = np.arange(0.0, 60.0, 0.6)
    assert [low(500.0, clock) for clock in clocks] == [low(0.0, clock) for clock in clocks]
    assert len({low(0.0, clock) for clock in clocks}) == 2


def test_lines_of_a_cable_fault_under_load_are_written_on_its_node(tmp_path):
    part = "cable/sim3:mlx5_0~leaf-9:port1"
    text = fault(part, "intermittent", duty=0.5, burst=0.2, slowdown=0.9)
    text += '\n[[fault.log]]\ntext = "mlx5_core {bus} {netdev}: Link down"\non = "sim3/mlx5_0"'
    transfers = [send(world_of(tmp_path, text), "sim1/gpu0", "sim3/gpu0", start=0.6 * n, nonce=n) for n in range(10)]
    assert not [line for transfer in transfers for line in transfer.ends[0].lines]
    lines = [line.text for transfer in transfers for line in transfer.ends[1].lines]
    assert set(lines) == {"mlx5_core 0000:1a:00.0 ib0: Link down"}


# ---- at once, and by others


def test_transfers_that_share_a_nic_or_a_gpu_halve_each_other_and_others_do_not(tmp_path):
    world = world_of(tmp_path)
    one = ("sim1/gpu0", "sim3/gpu0")
    assert rate(world, *one, beside=[("net", ("sim2/gpu0", "sim3/gpu0"))]) == pytest.approx(HEALTHY / 2)
    assert rate(world, *one, beside=[("h2d", ("gpu0",))]) == pytest.approx(HEALTHY / 2)
    assert rate(world, *one, beside=[("h2d", ("gpu1",))]) == pytest.approx(HEALTHY)
    assert not any(
        "uplink" in part for part in set(crossed(world, *one)) & set(crossed(world, "sim2/gpu0", "sim4/gpu0"))
    )
    assert rate(world, *one, beside=[("net", ("sim2/gpu0", "sim4/gpu0"))]) == pytest.approx(HEALTHY)


def test_static_transfers_over_one_uplink_take_turns(tmp_path):
    world = world_of(tmp_path, network="nodes_per_leaf = 2\nspines = 1\n")
    assert rate(world, "sim1/gpu0", "sim3/gpu0", beside=[("net", ("sim2/gpu0", "sim5/gpu0"))]) == pytest.approx(
        HEALTHY / 2
    )


def test_copies_within_a_node_and_transfers_from_it_share_its_gpus(tmp_path):
    world = world_of(tmp_path)
    alone = world.transfer("sim1", "p2p", ("gpu0", "gpu1"), 0.0, 0.03, 16, 1, at=BEGAN)
    beside = [("net", ("sim2/gpu3", "sim1/gpu1"))]
    shared = world.transfer("sim1", "p2p", ("gpu0", "gpu1"), 0.0, 0.03, 16, 1, at=BEGAN, beside=beside)
    assert shared.gbps == pytest.approx([rate / 2 for rate in alone.gbps])


@pytest.mark.parametrize("network", ["nodes_per_leaf = 2\nspines = 3\n", ADAPTIVE], ids=["static", "adaptive"])
def test_transfers_asked_for_together_are_those_asked_for_one_by_one(tmp_path, network):
    faults = fault("spine-2", "intermittent", duty=0.3, burst=0.1, slowdown=0.8)
    faults += fault("sim2/gpu3/pcie", slowdown=0.4, counters="{ replays = 3 }")
    faults += fault("uplink/leaf-1~spine-1", "hard")
    world = world_of(tmp_path, faults, network=network, world="net_tenants = 0.3\ntenants = 0.3\nherrings = 0.3\n")
    flows = [("net", pair) for pair in PAIRS[::7]]
    flows += [("p2p", ("sim1/gpu0", "sim1/gpu3")), ("h2d", ("sim2/gpu3",)), ("h2d", ("sim2/gpu2",))]
    requests = [
        Request(op, ends, (0.6,) * len(ends), 0.03, 16, number, BEGAN + 7, 0.04)
        for number, (op, ends) in enumerate(flows)
    ]
    for request, found in zip(requests, world.transfers(requests), strict=True):
        others = [flow for flow in flows if flow[1] != request.ends]
        if isinstance(found, Transfer):
            node, names = request.ends[0].split("/")[0], [end.split("/")[1] for end in request.ends]
            again = world.transfer(
                node, request.operation, names, 0.6, 0.03, 16, request.nonce, at=BEGAN + 7, warm_s=0.04, beside=others
            )
        else:
            again = send(world, *request.ends, start=0.6, nonce=request.nonce, at=7, beside=others)
        assert found == again


def test_two_processes_that_ask_in_different_orders_see_the_same_transfers(tmp_path):
    text = fault("leaf-1", "intermittent", duty=0.3, burst=0.1, slowdown=0.8, counters="{ symbol_error = 4 }")
    one, other = (world_of(tmp_path, text, world="net_tenants = 0.2\nduty_drift = 5\n") for _ in range(2))
    asked = [(pair, 0.6 * number, number) for number, pair in enumerate(PAIRS[::11])]
    seen = {key: send(one, *key[0], start=key[1], nonce=key[2]) for key in asked}
    for key in reversed(asked):
        assert send(other, *key[0], start=key[1], nonce=key[2]) == seen[key]


def test_a_path_keeps_its_bias_and_another_has_its_own(tmp_path):
    world = world_of(tmp_path, world=QUIET.replace("path_bias = 0", "path_bias = 0.03"))
    rates = {pair: {rate(world, *pair, nonce=nonce) for nonce in range(3)} for pair in PAIRS[:40]}
    assert all(len(found) == 1 for found in rates.values())
    logs = np.log([found.pop() for found in rates.values()])
    assert logs.std() == pytest.approx(0.03, rel=0.4)


def test_others_on_uplinks_slow_what_crosses_them_for_the_declared_share_of_time(tmp_path):
    world = world_of(tmp_path, world=QUIET + "net_tenants = 0.2\nnet_tenants_take = 0.5\n")
    below = np.array([send(world, "sim1/gpu0", "sim2/gpu0", at=30.0 * n).gbps[8] for n in range(300)])
    assert (below < HEALTHY * 0.99).mean() == pytest.approx(0.2, abs=0.07)
    assert below.min() == pytest.approx(HEALTHY * 0.5)
    host = [world.transfer("sim1", "h2d", ("gpu0",), 0, 0.03, 16, n, at=BEGAN + 30 * n).gbps[8] for n in range(50)]
    assert host == pytest.approx([55.4] * 50)


def test_a_tenant_of_a_nic_slows_transfers_by_it(tmp_path):
    world = world_of(tmp_path, world=QUIET.replace("tenants = 0", "tenants = 0.3"))
    rates = np.array([send(world, "sim1/gpu0", "sim2/gpu0", at=60.0 * n).gbps[8] for n in range(200)]) / HEALTHY
    assert (rates < 0.99).mean() == pytest.approx(1 - 0.7**2, abs=0.12)
    assert rates.min() == pytest.approx(0.88**2)


@pytest.mark.parametrize("ends", [("sim1/gpu0", "sim1/gpu0"), ("sim1/gpu0", "sim9/gpu0"), ("sim1/gpu0", "sim2/gpu8")])
def test_a_transfer_between_ends_that_there_are_not_is_refused(tmp_path, ends):
    with pytest.raises(ValueError, match="no transfer 'net'"):
        send(world_of(tmp_path), *ends)


def test_error_counters_alone_read_as_among_all_readings(tmp_path):
    text = fault("cable/sim1:mlx5_0~leaf-1:port1", slowdown=0.3, counters="{ symbol_error = 20 }")
    text += fault("sim1/gpu5/nvlink7", slowdown=0.3, counters="{ recovery_errors = 2 }")
    text += fault("sim1/gpu2", "hard", **{"from": 50})
    world = world_of(tmp_path, text, world="herrings = 0.5\nherring_rate = 5\n")
    ledger = Ledger(steps={("gpu5/nvlink7", "recovery_errors"): 7})
    keys = [key for key in world.fields("sim1") if key[1] in ("recovery_errors", "symbol_error", "replays")]
    for at in (0.0, 40.0, 60.0):
        every = world.readings("sim1", BEGAN + at, ledger)
        expected = {key: every[key] for key in keys if key in every}
        assert world.error_counters("sim1", keys, BEGAN + at, ledger) == expected
