"""The world: what transfers, counters and logs show of declared faults; the same to every process that asks."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.platforms import platform
from lanescope.sim.crossing import crossed
from lanescope.sim.drifting import Drifting
from lanescope.sim.ledger import Ledger, LogLine, Transfer
from lanescope.sim.onoff import OnOff
from lanescope.sim.readings import domain_of
from lanescope.sim.scenario import load_scenario
from lanescope.sim.world import World

BEGAN = 1_000_000_000.0
QUIET = """
platform = "h100_hgx"
nodes = 4
[world]
noise = 0
path_bias = 0
outliers = 0
herrings = 0
background = 0
tenants = 0
"""
LANE = """
[[fault]]
component = "sim1/gpu5/nvlink7"
kind = "intermittent"
duty = 0.05
burst = 0.045
slowdown = 0.9
counters = { recovery_errors = { rate = 20, trials = 0.85 } }
"""


@pytest.fixture
def world_of(tmp_path: Path):
    """A world of a scenario's text, the quiet one unless told."""

    def make(faults: str = "", base: str = QUIET) -> World:
        path = tmp_path / "it.toml"
        path.write_text(base + faults)
        return World(load_scenario(path), BEGAN)

    return make


def copy(
    world: World, op: str, *ends: str, node: str = "sim1", start: float = 0.0, nonce: int = 0, beside=()
) -> Transfer:
    """A copy of 16 windows of 30 ms after a warm-up of 40 ms."""
    return world.transfer(node, op, ends, start, 0.03, 16, nonce, at=BEGAN + 10 + nonce, warm_s=0.04, beside=beside)


# ---- transfers


def test_a_healthy_copy_measures_what_the_platform_expects(world_of):
    world = world_of()
    expect = platform("h100_hgx").expect
    assert copy(world, "p2p", "gpu0", "gpu7").gbps == pytest.approx([expect["nvbandwidth_d2d_write_ce"].value] * 16)
    assert copy(world, "h2d", "gpu3").gbps == pytest.approx([expect["h2d_pinned"].value] * 16)


def test_a_lane_that_is_down_costs_copies_of_its_gpu_one_eighteenth_and_others_nothing(world_of):
    world = world_of('[[fault]]\ncomponent = "sim1/gpu5/nvlink7"\nkind = "hard"')
    healthy = copy(world, "p2p", "gpu1", "gpu2").gbps[0]
    for ends in (("gpu5", "gpu1"), ("gpu1", "gpu5")):
        assert copy(world, "p2p", *ends).gbps[0] == pytest.approx(healthy * 17 / 18)
    assert copy(world, "p2p", "gpu5", "gpu1", node="sim2").gbps[0] == pytest.approx(healthy)
    assert copy(world, "h2d", "gpu5").gbps[0] == pytest.approx(55.4)


def test_a_lane_that_gates_holds_up_the_whole_copy(world_of):
    lane = '[[fault]]\ncomponent = "sim1/gpu5/nvlink7"\nkind = "degraded"\nslowdown = 0.5\nshare = '
    striped, gated = (copy(world_of(f'{lane}"{share}"'), "p2p", "gpu5", "gpu0").gbps[0] for share in ("stripe", "gate"))
    assert striped == pytest.approx(397 * (1 - 0.5 / 18))
    assert gated == pytest.approx(397 * 0.5)


def test_a_narrow_pcie_link_halves_host_copies_and_leaves_peer_copies_alone(world_of):
    world = world_of('[[fault]]\ncomponent = "sim1/gpu4/pcie"\nkind = "degraded"\nwidth = 8')
    assert copy(world, "h2d", "gpu4").gbps[0] == pytest.approx(55.4 / 2)
    assert copy(world, "p2p", "gpu4", "gpu5").gbps[0] == pytest.approx(397)


def test_copies_that_share_a_gpu_or_a_pcie_switch_halve_each_other_and_others_do_not(world_of):
    world = world_of(base=QUIET.replace('"h100_hgx"', '"h100_hgx_4sw"'))
    alone = copy(world, "h2d", "gpu0").gbps[0]
    assert copy(world, "h2d", "gpu0", beside=[("h2d", ("gpu1",))]).gbps[0] == pytest.approx(alone / 2)
    assert copy(world, "h2d", "gpu0", beside=[("h2d", ("gpu2",))]).gbps[0] == pytest.approx(alone)
    peers = copy(world, "p2p", "gpu0", "gpu1").gbps[0]
    assert copy(world, "p2p", "gpu0", "gpu1", beside=[("p2p", ("gpu2", "gpu3"))]).gbps[0] == pytest.approx(peers)
    assert copy(world, "p2p", "gpu0", "gpu1", beside=[("p2p", ("gpu1", "gpu3"))]).gbps[0] == pytest.approx(peers / 2)


def test_copies_with_a_gpu_off_the_bus_fail_in_the_driver_and_load_nothing(world_of):
    world = world_of('[[fault]]\ncomponent = "sim1/gpu2"\nkind = "hard"')
    for transfer in (copy(world, "h2d", "gpu2"), copy(world, "p2p", "gpu1", "gpu2")):
        assert transfer.error is not None
        assert transfer.error.name == "CUDA_ERROR_INVALID_DEVICE"
        assert not transfer.gbps


def test_noise_is_as_declared_and_a_path_keeps_its_bias(world_of):
    world = world_of(base=QUIET.replace("noise = 0", "noise = 0.04").replace("path_bias = 0", "path_bias = 0.03"))
    logs = {
        ends: np.log([copy(world, "p2p", *ends, nonce=nonce).gbps for nonce in range(200)])
        for ends in (("gpu0", "gpu1"), ("gpu1", "gpu0"), ("gpu2", "gpu3"))
    }
    for values in logs.values():
        assert values.std() == pytest.approx(0.04, rel=0.1)
    centres = [values.mean() for values in logs.values()]
    assert max(centres) - min(centres) > 0.005


def test_outliers_come_as_often_as_declared_and_in_runs_where_so_declared(world_of):
    base = QUIET.replace("outliers = 0", "outliers = 0.04\noutlier_windows = 4")
    world = world_of(base=base)
    low = np.array([copy(world, "p2p", "gpu0", "gpu1", nonce=nonce).gbps for nonce in range(600)]) < 390
    assert 0.025 < low.mean() < 0.05
    runs = (np.diff(low.astype(int), axis=1, prepend=0) == 1).sum()
    assert low.sum() / runs > 2


def test_somebody_elses_traffic_on_the_same_switch_slows_host_copies_and_no_peer_copies(world_of):
    world = world_of(base=QUIET.replace("tenants = 0", "tenants = 0.4"))
    host = [world.transfer("sim1", "h2d", ("gpu0",), 0, 0.03, 16, n, at=BEGAN + 30 * n).gbps[8] for n in range(60)]
    peer = [
        world.transfer("sim1", "p2p", ("gpu0", "gpu1"), 0, 0.03, 16, n, at=BEGAN + 30 * n).gbps[8] for n in range(60)
    ]
    assert min(host) == pytest.approx(55.4 * 0.88)
    assert max(host) == pytest.approx(55.4)
    assert peer == pytest.approx([397] * 60)


def test_others_come_and_go_as_fast_as_probes_run(world_of):
    slow, fast = (
        world_of(base=QUIET.replace("tenants = 0", "tenants = 0.4").replace("nodes = 4", f"nodes = 4\nspeed = {speed}"))
        for speed in (1.0, 50.0)
    )
    for step in range(40):
        one, other = (
            world.transfer("sim1", "h2d", ("gpu0",), 0, 0.03, 16, step, at=BEGAN + seconds)
            for world, seconds in ((slow, 30.0 * step), (fast, 0.6 * step))
        )
        assert one.gbps == pytest.approx(other.gbps)


# ---- faults in time


def test_the_demos_lane_is_met_by_about_half_of_the_trials_and_moves_its_counter_in_most_of_them(world_of):
    world = world_of(LANE)
    key = ("gpu5/nvlink7", "recovery_errors")
    trials = [copy(world, "p2p", "gpu5", "gpu1", start=0.6 * n, nonce=n) for n in range(1500)]
    moved = sum(key in trial.steps for trial in trials) / len(trials)
    bad = sum(min(trial.gbps) < 396.9 for trial in trials) / len(trials)
    assert 0.4 < bad < 0.6
    assert 0.33 < moved < bad
    assert all(set(trial.steps) <= {key, ("gpu5", "tx_kib"), ("gpu1", "rx_kib")} for trial in trials)


def test_a_fault_under_load_moves_nothing_while_nobody_probes(world_of):
    world = world_of(LANE)
    first, later = (world.readings("sim1", BEGAN + at, Ledger()) for at in (1, 10_000))
    assert later["gpu5/nvlink7", "recovery_errors"] == first["gpu5/nvlink7", "recovery_errors"] == 0


def test_what_a_copy_moved_stands_in_the_counters_from_then_on(world_of):
    world = world_of(LANE)
    ledger = Ledger()
    for nonce in range(30):
        transfer = copy(world, "p2p", "gpu1", "gpu5", start=ledger.load_clock, nonce=nonce)
        ledger = ledger.after([transfer], transfer.seconds + 0.05, BEGAN + nonce)
    readings = world.readings("sim1", BEGAN + 100, ledger)
    untouched = world.readings("sim1", BEGAN + 100, Ledger())
    assert ledger.load_clock == pytest.approx(30 * 0.57)
    assert readings["gpu5/nvlink7", "recovery_errors"] == ledger.steps["gpu5/nvlink7", "recovery_errors"] > 3
    assert readings["gpu1/nvlink0", "tx_kib"] > untouched["gpu1/nvlink0", "tx_kib"]
    assert readings["gpu5/nvlink17", "rx_kib"] > untouched["gpu5/nvlink17", "rx_kib"]
    assert readings["gpu2/nvlink0", "tx_kib"] == untouched["gpu2/nvlink0", "tx_kib"]


def test_a_fault_of_the_wall_moves_its_counter_as_time_passes_and_writes_into_the_log(world_of):
    world = world_of(
        '[[fault]]\ncomponent = "sim2/mlx5_6"\nkind = "intermittent"\nwhen = "always"\nduty = 0.05\nburst = 4.0\n'
        "counters = { link_downed = 0 }"
    )
    ups = [world.readings("sim2", BEGAN + at, Ledger())["mlx5_6", "link_downed"] for at in range(0, 1200, 10)]
    downs = [line for line in world.log("sim2", BEGAN, BEGAN + 1190, Ledger()) if line.text.endswith("Link down")]
    assert ups == sorted(ups)
    assert ups[-1] == len(downs) > 5
    states = {world.readings("sim2", BEGAN + at, Ledger())["mlx5_6", "port_state"] for at in range(1200)}
    assert states == {1.0, 4.0}


@given(
    duty=st.floats(0.02, 0.9), burst=st.floats(0.01, 30.0), key=st.integers(), at=st.floats(0, 1e6), cut=st.floats(0, 1)
)
@settings(max_examples=40, deadline=None)
def test_time_on_adds_up_however_it_is_cut(duty, burst, key, at, cut):
    process = OnOff(duty, burst, key)
    long = 500 * burst
    middle = at + cut * long
    whole = process.seconds_on(at, at + long)
    assert process.seconds_on(at, middle) + process.seconds_on(middle, at + long) == pytest.approx(
        whole, abs=1e-6 * long
    )
    assert process.count(at, middle) + process.count(middle, at + long) == process.count(at, at + long)
    edges = np.linspace(at, at + long, 9)
    assert (process.shares_on(edges) * np.diff(edges)).sum() == pytest.approx(whole, abs=1e-6 * long)


@pytest.mark.parametrize(("duty", "burst"), [(0.05, 0.045), (0.3, 2.0)])
def test_a_process_is_on_as_much_and_as_long_as_declared(duty, burst):
    process = OnOff(duty, burst, "calibration")
    span = 20_000 * burst / duty
    assert process.seconds_on(0, span) / span == pytest.approx(duty, rel=0.05)
    assert process.seconds_on(0, span) / process.count(0, span) == pytest.approx(burst, rel=0.05)


@given(
    duty=st.floats(0.02, 0.9), burst=st.floats(0.01, 5.0), key=st.integers(), at=st.floats(0, 1e5), long=st.floats(0, 2)
)
@settings(max_examples=60, deadline=None)
def test_a_process_that_is_steady_is_on_all_the_time_or_never(duty, burst, key, at, long):
    process = OnOff(duty, burst, key)
    until = at + long * burst
    steady = process.steady(at, until)
    share = process.seconds_on(at, until) / (until - at) if until > at else float(process.is_on(at))
    assert steady is None or share == pytest.approx(float(steady), abs=1e-6)
    if 0.001 < share < 0.999:
        assert steady is None


def test_a_drifting_duty_goes_from_as_declared_to_double_back_and_to_half():
    process = Drifting(0.1, 0.05, 1000.0, "drift")
    shares = [process.seconds_on(1000.0 * spell, 1000.0 * (spell + 1)) / 1000.0 for spell in range(8)]
    assert shares[:4] != pytest.approx(shares[1:5], rel=0.2)
    assert sorted(shares[:4]) == pytest.approx([0.05, 0.1, 0.1, 0.2], rel=0.2)
    assert shares[:4] == pytest.approx(shares[4:], rel=0.25)


@given(key=st.integers(), at=st.floats(0, 1e4), cut=st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_time_on_of_a_drifting_process_adds_up_however_it_is_cut(key, at, cut):
    process = Drifting(0.2, 0.3, 7.0, key)
    middle, until = at + cut * 100, at + 100
    whole = process.seconds_on(at, until)
    assert process.seconds_on(at, middle) + process.seconds_on(middle, until) == pytest.approx(whole, abs=1e-6)
    edges = np.linspace(at, until, 14)
    assert (process.shares_on(edges) * np.diff(edges)).sum() == pytest.approx(whole, abs=1e-6)
    assert len(process.bursts(at, until)) == process.count(at, until)


def test_a_world_with_drifting_duties_shows_them_in_transfers(world_of):
    lane = LANE.replace("nvlink7", "pcie").replace("recovery_errors", "replays")
    world = world_of(lane, QUIET + "duty_drift = 300\n")
    low = np.array([min(copy(world, "h2d", "gpu5", start=0.6 * n, nonce=n).gbps) < 55 for n in range(2000)])
    shares = low.reshape(4, 500).mean(axis=1)
    assert max(shares) > 1.8 * min(shares)


# ---- what crosses what


def test_the_worlds_own_table_of_a_peer_copy_shares_out_all_lanes_of_both_ends(world_of):
    parts = crossed(world_of().hardware("sim1"), "p2p", ("gpu0", "gpu5"))
    lanes = [share for part, share in parts.items() if "nvlink" in part]
    switches = [share for part, share in parts.items() if part.startswith("nvswitch")]
    assert len(lanes) == 36
    assert sum(lanes) == pytest.approx(2.0)
    assert sum(switches) == pytest.approx(1.0)
    assert not [part for part in parts if "pcie" in part]


def test_the_worlds_own_table_of_a_host_copy_runs_from_the_socket_to_the_gpu(world_of):
    parts = crossed(world_of().hardware("sim1"), "h2d", ("gpu5",))
    bridges = ["pcie/0000:b7:01.0", "pcie/0000:b8:00.0", "pcie/0000:b9:00.0"]
    assert list(parts) == ["host", "numa1", *bridges, "gpu5/pcie", "gpu5"]
    assert set(parts.values()) == {1.0}


# ---- readings


def test_idle_gpus_rest_at_gen1_and_loaded_ones_run_at_gen5(world_of):
    world = world_of()
    busy = Ledger().after([copy(world, "h2d", "gpu3")], 0.6, BEGAN + 20)
    readings = world.readings("sim1", BEGAN + 19, busy)
    assert (readings["gpu3/pcie", "generation"], readings["gpu3/pcie", "speed_gts"]) == (5, 32)
    assert (readings["gpu4/pcie", "generation"], readings["gpu4/pcie", "speed_gts"]) == (1, 2.5)
    assert world.readings("sim1", BEGAN + 21, busy)["gpu3/pcie", "generation"] == 1
    assert readings["gpu3/pcie", "width"] == readings["gpu4/pcie", "width"] == 16


def test_a_gpu_off_the_bus_says_it_is_lost_and_nothing_else(world_of):
    world = world_of('[[fault]]\ncomponent = "sim3/gpu2"\nkind = "hard"\nfrom = 60')
    before, after = (world.readings("sim3", BEGAN + at, Ledger()) for at in (59, 61))
    assert before["gpu2", "nvml_error"] == 0
    nvml = {key: value for key, value in after.items() if key[0].split("/")[0] == "gpu2" and domain_of(key) == "nvml"}
    assert nvml == {("gpu2", "nvml_error"): 15}
    assert set(before) - set(after) == {
        key for key in before if key[0].startswith("gpu2") and key[1] != "nvml_error" and "aer" not in key[1]
    }


def test_a_narrow_link_shows_its_width_at_both_of_its_ends(world_of):
    readings = world_of('[[fault]]\ncomponent = "sim1/mlx5_4/pcie"\nkind = "degraded"\nwidth = 8').readings(
        "sim1", BEGAN, Ledger()
    )
    narrow = [key for key, value in readings.items() if key[1] == "current_width" and value != 16]
    assert sorted(narrow) == [("mlx5_4/pcie", "current_width"), ("pcie/0000:4a:01.0", "current_width")]


def test_a_dead_nvswitch_takes_its_lanes_of_every_gpu_down(world_of):
    readings = world_of('[[fault]]\ncomponent = "sim1/nvswitch1"\nkind = "hard"').readings("sim1", BEGAN, Ledger())
    down = {key[0] for key, value in readings.items() if key[1] == "state" and value == 0}
    assert down == {f"gpu{gpu}/nvlink{lane}" for gpu in range(8) for lane in range(5, 9)}


def test_red_herrings_stand_on_some_innocent_parts_and_few_of_them_still_move(world_of):
    base = QUIET.replace("herrings = 0", "herrings = 0.1\nherring_rate = 1.0")
    world = world_of(base=base)
    first, later = (world.readings("sim1", BEGAN + at, Ledger()) for at in (0, 600))
    errors = [key for key in first if key[1] in ("recovery_errors", "replay_errors")]
    standing = [key for key in errors if first[key]]
    moving = [key for key in errors if later[key] > first[key]]
    assert 5 < len(standing) < 40
    assert 0 < len(moving) < len(standing)


def test_the_empty_port_of_a_storage_nic_is_disabled_and_not_just_down(world_of):
    world = world_of(base=QUIET + "storage_nics = true\n")
    readings = world.readings("sim1", BEGAN, Ledger())
    assert (readings["mlx5_2", "port_state"], readings["mlx5_2", "phys_state"]) == (1, 3)
    assert (readings["mlx5_1", "port_state"], readings["mlx5_1", "phys_state"]) == (4, 5)


def test_counters_never_fall(world_of):
    world = world_of(LANE, QUIET.replace("tenants = 0", "tenants = 0.5").replace("herrings = 0", "herrings = 0.2"))
    counting = [key for key in world.fields("sim1") if key[1].endswith(("_errors", "_j", "_data", "_kib", "_packets"))]
    seen = [world.readings("sim1", BEGAN + at, Ledger()) for at in (0, 1, 7, 100, 5000)]
    for key in counting:
        values = [readings[key] for readings in seen]
        assert values == sorted(values), key


def test_healthy_lanes_replay_now_and_then_under_load_as_often_as_declared(world_of):
    world = world_of(base=QUIET.replace("background = 0", "background = 0.01"))
    steps = [copy(world, "p2p", "gpu0", "gpu1", nonce=nonce).steps for nonce in range(400)]
    replays = sum(count for step in steps for (_, name), count in step.items() if name == "replay_errors")
    assert replays / (400 * 36 * 0.52) == pytest.approx(0.01, rel=0.3)
    assert not copy(world, "h2d", "gpu0").steps


def test_a_moving_herring_steps_in_a_copy_no_more_often_than_in_any_other_seconds(world_of):
    world = world_of(base=QUIET.replace("herrings = 0", "herrings = 1\nherring_rate = 6"))
    moving = [
        key
        for key, value in world.readings("sim1", BEGAN + 60, Ledger()).items()
        if value > world.readings("sim1", BEGAN, Ledger())[key] and key[0].startswith(("gpu0/nvlink", "gpu1/nvlink"))
    ]
    steps = [copy(world, "p2p", "gpu0", "gpu1", nonce=nonce).steps for nonce in range(400)]
    moved = sum(count for step in steps for key, count in step.items() if key in moving)
    assert moved / (400 * len(moving) * 0.52) == pytest.approx(0.1, rel=0.2)


# ---- logs


def test_victims_of_a_gpu_off_the_bus_come_after_it_in_the_log(world_of):
    world = world_of('[[fault]]\ncomponent = "sim3/gpu2"\nkind = "hard"\nfrom = -480')
    lines = world.log("sim3", BEGAN - 500, BEGAN, Ledger())
    texts = [line.text for line in lines]
    assert texts[0] == "NVRM: Xid (PCI:0000:4c:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    assert lines[0].at == BEGAN - 480
    assert sum("SXid" in text and ": 20034, Fatal" in text for text in texts) == 18
    peers = [text for text in texts if "): 45, " in text]
    assert len(peers) == 7
    assert not any("0000:4c:00" in text for text in peers)


def test_a_log_line_can_be_written_on_another_node(world_of):
    world = world_of(
        '[[fault]]\ncomponent = "sim1/mlx5_0"\nkind = "hard"\nfrom = 5\n[[fault.log]]\n'
        'text = "mlx5_core {bus} {netdev}: Link down"\non = "sim2/mlx5_0"\nafter = 0.5'
    )
    assert world.log("sim2", BEGAN, BEGAN + 10, Ledger()) == [
        LogLine(BEGAN + 5.5, "mlx5_core 0000:1a:00.0 ib0: Link down")
    ]
    assert world.log("sim1", BEGAN, BEGAN + 10, Ledger()) == []


def test_lines_of_a_fault_under_load_come_with_the_copy_and_stay_in_the_ledger(world_of):
    world = world_of(LANE + '[[fault.log]]\ntext = "lane {link} of {bus}, port {port} of {far}"')
    transfers = [copy(world, "p2p", "gpu5", "gpu0", start=0.6 * n, nonce=n) for n in range(20)]
    written = [line for transfer in transfers for line in transfer.lines]
    assert written[0].text == "lane 7 of 0000:bb:00.0, port 22 of 0000:84:00.0"
    ledger = Ledger().after(transfers, 12.0, BEGAN + 40)
    assert world.log("sim1", BEGAN, BEGAN + 60, ledger) == sorted(written)


def test_a_word_that_does_not_apply_reads_as_a_question_mark(world_of):
    world = world_of(
        '[[fault]]\ncomponent = "sim1/mlx5_0"\nkind = "hard"\nfrom = 5\n[[fault.log]]\ntext = "{bus} {link}"'
    )
    assert [line.text for line in world.log("sim1", BEGAN, BEGAN + 10, Ledger())] == ["0000:1a:00.0 ?"]


# ---- the same for everybody


def test_two_processes_that_ask_in_different_orders_see_the_same(world_of):
    one, other = world_of(LANE), world_of(LANE)
    keys = [(5.0, 3), (400.0, 77), (0.0, 0), (12.3, 9)]
    seen = {key: copy(one, "p2p", "gpu5", "gpu3", start=key[0], nonce=key[1]) for key in keys}
    for key in reversed(keys):
        assert copy(other, "p2p", "gpu5", "gpu3", start=key[0], nonce=key[1]) == seen[key]
    assert one.readings("sim1", BEGAN + 7, Ledger()) == other.readings("sim1", BEGAN + 7, Ledger())


def test_another_seed_is_another_world_of_the_same_kind(world_of):
    one, other = world_of(), world_of(base=QUIET.replace("nodes = 4", "nodes = 4\nseed = 2"))
    serials = {world.identity("sim1")["gpu0"]["serial"] for world in (one, other)}
    assert len(serials) == 2
    assert one.fields("sim1") == other.fields("sim1")


def test_no_two_parts_of_a_fleet_have_the_same_serial_uuid_or_guid(world_of):
    world = world_of()
    facts = [part for node in world.nodes for part in world.identity(node.name).values()]
    for key in ("serial", "uuid", "node_guid"):
        values = [part[key] for part in facts if key in part]
        assert len(values) == 32
        assert len(set(values)) == 32


def test_each_port_of_an_nvswitch_ends_one_lane_only(world_of):
    hardware = world_of().hardware("sim1")
    ends = [hardware.switch_port(gpu, lane) for gpu in range(8) for lane in range(18)]
    assert len(set(ends)) == 144


@given(
    clock=st.floats(0, 1e6),
    steps=st.dictionaries(
        st.tuples(st.sampled_from(["gpu5/nvlink7", "pcie/0000:19:00.0"]), st.just("x")), st.integers(0, 9)
    ),
    text=st.text(max_size=40),
)
@settings(max_examples=30, deadline=None)
def test_a_ledger_survives_its_file(clock, steps, text):
    ledger = Ledger(clock, steps, (LogLine(1.5, text),), {"gpu1": 2.5}, 7)
    assert Ledger.from_json(ledger.to_json()) == ledger


def test_a_ledger_keeps_a_bounded_number_of_lines(world_of):
    lines = tuple(LogLine(float(at), "x") for at in range(1000))
    ledger = Ledger().after([Transfer(lines=lines)], 1.0, 0.0)
    assert len(ledger.lines) == 400
    assert median(line.at for line in ledger.lines) > 600
