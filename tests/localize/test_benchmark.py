"""The benchmark measures what it says: the arena repeats, practice does what practice does, and nothing runs twice."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from lanescope.benchmarks.localization.arena import OVERHEAD, Arena
from lanescope.benchmarks.localization.cells import Cell, cells
from lanescope.benchmarks.localization.ci import Interval, around, complaints_of, measure, recorded, write
from lanescope.benchmarks.localization.cluster import Cluster, Shot, cluster_of
from lanescope.benchmarks.localization.draw import FAULTS, PAIRS, Drawn, draw
from lanescope.benchmarks.localization.intervals import clopper_pearson, tail
from lanescope.benchmarks.localization.outcome import Named, Outcome
from lanescope.benchmarks.localization.pool import run_all
from lanescope.benchmarks.localization.runs import Finished, Key, run
from lanescope.benchmarks.localization.schedules import catalogue, circle, node_pairs
from lanescope.benchmarks.localization.strategies import STRATEGIES
from lanescope.benchmarks.localization.table import main, print_tables
from lanescope.benchmarks.localization.worlds import WORLDS
from lanescope.incident.ids import ComponentId
from lanescope.sim.faults import Fault
from lanescope.sim.scenario import Scenario
from lanescope.sim.surroundings import Surroundings
from lanescope.sim.wiring import Wiring

GPU = ComponentId("sim1/gpu3")
CALM = Surroundings(noise=0.01, path_bias=0.0, outliers=0.0, herrings=0.0, tenants=0.0)


def one_node() -> Cluster:
    return cluster_of(1)


def with_fault(*faults: Fault, nodes: int = 1, seed: int = 1) -> Drawn:
    cluster = cluster_of(nodes)
    scenario = Scenario("test", cluster.platform, cluster.names, seed, world=CALM, faults=faults)
    return Drawn(scenario, tuple(fault.component for fault in faults))


def gone(part: ComponentId) -> Fault:
    return Fault(part, "degraded", slowdown=0.98)


def search(strategy: str, drawn: Drawn, nodes: int = 1, seed: int = 1) -> Outcome:
    return STRATEGIES[strategy](Arena(cluster_of(nodes), drawn), np.random.default_rng(seed))


def outcome(*named: Named, healthy: bool = False) -> Outcome:
    return Outcome(named, healthy, math.nan, 10.0, 1.0, 2, 3)


# The arena


def test_the_same_rounds_measure_the_same_to_the_bit() -> None:
    drawn = draw(one_node(), "0.2", "everything-wrong", 3)
    rounds = catalogue(one_node(), one_node().nodes)
    first, again = Arena(one_node(), drawn), Arena(one_node(), drawn)
    assert [first.run(shots) for shots in rounds] == [again.run(shots) for shots in rounds]
    assert first.seconds == again.seconds


def test_a_round_takes_its_longest_trial_and_the_launch() -> None:
    arena = Arena(one_node(), with_fault())
    (ended,) = arena.run([("h2d", (GPU,))])
    assert arena.seconds == pytest.approx(OVERHEAD + 0.52)
    assert ended.seconds == pytest.approx(arena.seconds)
    assert (arena.rounds, arena.probes, arena.launching) == (1, 1, OVERHEAD)


def test_a_trial_tells_its_windows_and_the_counters_of_the_parts_it_loads() -> None:
    arena = Arena(one_node(), with_fault())
    (ended,) = arena.run([("p2p", (GPU, ComponentId("sim1/gpu5")))])
    assert len(ended.windows) == 16
    assert {move.component.parent for move in ended.moves} == {GPU, ComponentId("sim1/gpu5")}


def test_an_average_is_the_share_of_what_a_healthy_trial_measures() -> None:
    arena = Arena(one_node(), with_fault(Fault(GPU, "degraded", slowdown=0.5)))
    slow, sound = arena.averages([("h2d", (GPU,)), ("h2d", (ComponentId("sim1/gpu0"),))])
    assert slow == pytest.approx(0.5, abs=0.02)
    assert sound == pytest.approx(1.0, abs=0.02)


def test_a_collective_operation_goes_at_the_pace_of_its_slowest_gpu() -> None:
    arena = Arena(one_node(), with_fault(Fault(GPU, "degraded", slowdown=0.5)))
    gpus = one_node().gpus(one_node().nodes[0])
    with_it, without = arena.together([gpus[:4], gpus[4:]])
    assert with_it == pytest.approx(0.5, abs=0.02)
    assert without == pytest.approx(1.0, abs=0.02)


def test_the_clock_of_a_fault_under_load_runs_only_on_nodes_that_are_probed() -> None:
    part = ComponentId("sim2/gpu3")
    fault = Fault(part, "intermittent", duty=0.3, burst=2.0, when="load", slowdown=0.9)
    drawn = with_fault(fault, nodes=2)
    plain, waited = Arena(cluster_of(2), drawn), Arena(cluster_of(2), drawn)
    for _ in range(5):
        waited.averages([("h2d", (GPU,))])
    shot = ("h2d", (part,))
    first = [plain.averages([shot])[0] for _ in range(20)]
    later = [waited.averages([shot])[0] for _ in range(20)]
    assert later == pytest.approx(first)
    assert min(first) < 0.5 < max(first)


# What is drawn


@pytest.mark.parametrize("fault", [*FAULTS, *PAIRS])
def test_every_class_of_fault_is_drawn_the_same_again(fault: str) -> None:
    drawn = draw(one_node(), fault, "standard", 5)
    assert drawn == draw(one_node(), fault, "standard", 5)
    assert len(drawn.guilty) == (0 if fault == "healthy" else 1 + fault.count("+"))
    assert {part.component for part in drawn.scenario.faults} == set(drawn.guilty)


@pytest.mark.parametrize("world", WORLDS)
def test_every_world_runs_trials(world: str) -> None:
    arena = Arena(one_node(), draw(one_node(), "0.2", world, 5))
    assert all(
        0 < average < 1.5 for shots in catalogue(one_node(), one_node().nodes) for average in arena.averages(shots)
    )


def test_an_intermittent_fault_is_never_drawn_on_a_lane_but_in_the_row_for_lanes() -> None:
    kinds = {
        fault: {draw(one_node(), fault, "standard", seed).guilty[0].kind for seed in range(40)} for fault in FAULTS[:-1]
    }
    assert "nvlink" in kinds["hard"]
    assert kinds["lane"] == {"nvlink"}
    assert all("nvlink" not in kinds[fault] for fault in ("0.5", "0.2", "0.05", "0.02"))


def test_two_faults_are_drawn_on_parts_that_probes_can_separate() -> None:
    parts = one_node().parts
    for seed in range(20):
        one, other = draw(one_node(), "0.2+0.2", "standard", seed).guilty
        assert parts.group[parts.index[one]] != parts.group[parts.index[other]]


def test_parts_of_the_network_are_drawn_as_well_where_there_are_nodes_to_connect() -> None:
    kinds = {draw(cluster_of(4), "0.2", "standard", seed).guilty[0].kind for seed in range(150)}
    assert {"gpu", "pcie", "cable", "nic"} <= kinds


@pytest.mark.parametrize("world", ["standard", "adaptive"])
def test_a_fault_anywhere_slows_just_the_trials_that_the_fabric_says_cross_it(world: str) -> None:
    cluster = cluster_of(4, WORLDS[world].wiring)
    rounds = [*catalogue(cluster, cluster.nodes), *node_pairs(cluster)]
    for part in ("sim2/gpu3/pcie", "sim3/mlx5_0", "leaf-1", "spine-2", "uplink/leaf-1~spine-2", "sim4/nvswitch0"):
        number = cluster.parts.index[ComponentId(part)]
        scenario = Scenario(
            "test", cluster.platform, cluster.names, 1, world=CALM, faults=(gone(ComponentId(part)),),
            wiring=WORLDS[world].wiring,
        )  # fmt: skip
        arena = Arena(cluster, Drawn(scenario, ()))
        for shots in rounds:
            for shot, average in zip(shots, arena.averages(shots), strict=True):
                path = cluster.parts.find(*shot)
                place = np.flatnonzero(path.columns == cluster.parts.column[number])
                share = cluster.parts.shares[path.shares[place[0]]] if len(place) else 0.0
                assert average == pytest.approx(1 - 0.98 * share, abs=0.03), (part, shot)


# Schedules


@pytest.mark.parametrize("count", [2, 5, 8])
def test_the_circle_method_lets_everybody_meet_once_in_disjoint_rounds(count: int) -> None:
    rounds = list(circle(count))
    met = [frozenset(pair) for pairs in rounds for pair in pairs]
    assert len(met) == len(set(met)) == count * (count - 1) // 2
    assert all(len({seat for pair in pairs for seat in pair}) == 2 * len(pairs) for pairs in rounds)


def test_the_catalogue_runs_every_trial_within_a_node_once() -> None:
    shots = [shot for shots in catalogue(one_node(), one_node().nodes) for shot in shots]
    within = {(path.probe, path.targets) for path in one_node().parts.paths}
    assert len(shots) == len(set(shots))
    assert set(shots) == within


def test_every_two_nodes_meet_rail_by_rail_once_and_no_round_shares_an_uplink() -> None:
    cluster = cluster_of(5, Wiring(nodes_per_leaf=2))
    met = []
    for shots in node_pairs(cluster):
        crossed = [uplinks(cluster, shot) for shot in shots]
        assert sum(map(len, crossed)) == len(set().union(*crossed))
        assert len({gpu for _, gpus in shots for gpu in gpus}) == 2 * len(shots)
        met += [frozenset(gpus) for _, gpus in shots if gpus[0].name == gpus[1].name]
    assert len(met) == len(set(met)) == 8 * 10


def uplinks(cluster: Cluster, shot: Shot) -> set[ComponentId]:
    path = cluster.probes[shot[0]].exercises(cluster.fabric, shot[1])
    return {crossing.component for crossing in path if crossing.component.kind == "uplink"}


# Strategies


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_ends_with_a_bill_on_one_node(strategy: str) -> None:
    drawn = with_fault(gone(GPU))
    ended = search(strategy, drawn)
    assert ended.seconds > ended.launching > 0
    assert ended.rounds > 0
    assert ended.probes >= 1
    assert not ended.accused(drawn.guilty)


@pytest.mark.parametrize("strategy", ["ours", "fixed", "sweep", "two_round", "soak", "noisy_binary_search"])
def test_a_gpu_that_is_nearly_gone_is_named(strategy: str) -> None:
    drawn = with_fault(gone(GPU))
    assert search(strategy, drawn).is_right(drawn.guilty)


def test_bisection_names_a_gpu_in_a_cluster_that_is_nearly_gone() -> None:
    drawn = with_fault(gone(GPU), nodes=4)
    assert search("bisection", drawn, nodes=4).is_right(drawn.guilty)


@pytest.mark.parametrize("strategy", ["ours", "fixed", "sweep", "two_round", "bisection", "soak"])
def test_a_calm_healthy_node_is_called_healthy(strategy: str) -> None:
    ended = search(strategy, with_fault())
    assert ended.healthy
    assert not ended.named


def test_practice_does_not_see_a_fault_that_averages_hide_and_the_engine_does() -> None:
    drawn = with_fault(Fault(GPU, "intermittent", duty=0.02, burst=0.03, when="load", slowdown=0.9))
    assert search("ours", drawn).is_right(drawn.guilty)
    assert not any(search(strategy, drawn).named for strategy in ("sweep", "two_round", "bisection"))


def test_the_search_of_one_trial_at_a_time_takes_more_time_and_fewer_trials() -> None:
    drawn = with_fault(Fault(GPU, "intermittent", duty=0.5, burst=0.03, when="load", slowdown=0.9), nodes=4)
    one, many = search("noisy_binary_search", drawn, nodes=4), search("fixed", drawn, nodes=4)
    assert one.rounds == one.probes
    assert one.probes < many.probes


# Judgement


def test_a_verdict_is_right_where_the_part_stands_among_what_no_probe_separates_and_exact_where_it_is_named() -> None:
    other = ComponentId("sim1/gpu4")
    assert outcome(Named(GPU)).is_exact({GPU})
    among = outcome(Named(other, frozenset({GPU, other})))
    assert among.is_right({GPU})
    assert not among.is_exact({GPU})
    assert not outcome(Named(other)).is_right({GPU})
    assert outcome(Named(other)).accused({GPU}) == 1


def test_one_of_two_faults_is_not_right_and_an_innocent_beside_the_guilty_is_wrong() -> None:
    other = ComponentId("sim1/gpu4")
    assert not outcome(Named(GPU)).is_right({GPU, other})
    assert outcome(Named(GPU)).accused({GPU, other}) == 0
    assert not outcome(Named(GPU), Named(other)).is_right({GPU})


def test_undecided_is_not_right_on_healthy_nodes() -> None:
    assert outcome(healthy=True).is_right(())
    assert not outcome().is_right(())


def test_exact_intervals_are_those_of_the_tables() -> None:
    assert clopper_pearson(0, 200) == pytest.approx((0.0, 0.018275), abs=1e-5)
    assert clopper_pearson(3, 20) == pytest.approx((0.032071, 0.378927), abs=1e-5)
    assert clopper_pearson(20, 20) == pytest.approx((0.831567, 1.0), abs=1e-5)
    assert tail(2, 3, 0.5) == pytest.approx(math.log(0.5))


# Runs that are kept

SWEEP = Cell(1, "standard", "hard", "sweep")


def test_a_finished_run_is_read_back_and_not_run_again(tmp_path) -> None:
    path = tmp_path / "runs.jsonl"
    kept = Finished(path)
    kept.add(run(Key.of(SWEEP, 0)))
    heard = []
    again = Finished(path)
    assert run_all([Key.of(SWEEP, 0)], again, heard.append) == 0
    assert heard == []
    assert again.of([Key.of(SWEEP, 0)]) == kept.of([Key.of(SWEEP, 0)])


def test_a_run_of_other_sources_is_run_anew(tmp_path) -> None:
    kept = Finished(tmp_path / "runs.jsonl")
    kept.add(run(Key.of(SWEEP, 0)))
    key = Key.of(SWEEP, 0)
    assert key in kept
    assert type(key)(key.nodes, key.world, key.fault, key.strategy, key.seed, "others") not in kept


def test_half_a_line_at_the_end_is_passed_over_and_the_next_run_still_kept(tmp_path) -> None:
    path = tmp_path / "runs.jsonl"
    kept = Finished(path)
    for seed in (0, 1):
        kept.add(run(Key.of(SWEEP, seed)))
    path.write_bytes(path.read_bytes()[:-40])
    cut = Finished(path)
    assert [Key.of(SWEEP, seed) in cut for seed in (0, 1)] == [True, False]
    cut.add(run(Key.of(SWEEP, 1)))
    assert Key.of(SWEEP, 1) in Finished(path)


def test_missing_runs_are_run_in_the_pool_and_shown_in_the_table(tmp_path, capsys) -> None:
    path = tmp_path / "runs.jsonl"
    arguments = [
        "--nodes", "1", "--faults", "hard,healthy", "--strategies", "sweep,two_round", "--seeds", "2",
        "--results", str(path),
    ]  # fmt: skip
    main(arguments)
    first = capsys.readouterr()
    assert "8/8" not in first.out
    assert len(first.err.splitlines()) == len(path.read_bytes().splitlines()) == 8
    main(arguments)
    again = capsys.readouterr()
    assert again.err == ""
    assert again.out == first.out
    assert "1 node, standard world" in again.out


def test_a_table_of_what_was_not_run_is_empty(tmp_path, capsys) -> None:
    print_tables(list(cells([1], ["standard"], ["hard"], ["sweep"])), range(2), Finished(tmp_path / "none.jsonl"))
    assert "1 node" not in capsys.readouterr().out


# What is recorded


def test_what_lies_outside_a_recorded_interval_is_told(tmp_path) -> None:
    kept = Finished(tmp_path / "runs.jsonl")
    kept.add(run(Key.of(SWEEP, 0)))
    wide = Interval(SWEEP, 1, (0, 1), (0, 1), (0.0, 100.0))
    found = measure([wide], kept.path)
    assert complaints_of([wide], found) == []
    (complaint,) = complaints_of([replace(wide, seconds=(0.0, 1.0))], found)
    assert complaint.startswith("sweep on 1 nodes, hard in standard: seconds is 15.")


def test_intervals_recorded_around_what_was_found_hold_it_and_are_read_back_as_written(tmp_path) -> None:
    kept = Finished(tmp_path / "runs.jsonl")
    kept.add(run(Key.of(SWEEP, 0)))
    found = measure([Interval(SWEEP, 1, (0, 0), (0, 0), (0.0, 0.0))], kept.path)
    drawn = around(Interval(SWEEP, 1, (0, 0), (0, 0), (0.0, 0.0)), found[0])
    assert complaints_of([drawn], found) == []
    path = tmp_path / "intervals.toml"
    path.write_text("# of a test\n\n[[cell]]\n")
    write([drawn], path)
    assert recorded(path) == (drawn,)
    assert path.read_text().startswith("# of a test\n")


def test_recorded_intervals_are_of_small_clusters_and_of_the_engine() -> None:
    intervals = recorded()
    assert {interval.cell.nodes for interval in intervals} == {1, 8}
    assert all(interval.wrong[0] == 0 for interval in intervals)
    assert "ours" in {interval.cell.strategy for interval in intervals}
