"""What the engine may conclude from what it is shown."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from lanescope.incident.events import encode_event
from lanescope.incident.findings import Confidence
from lanescope.incident.ids import ComponentId
from lanescope.probes.localize.localizer import Localizer, RoundPlan, Stop
from lanescope.probes.localize.settings import Settings
from lanescope.probes.localize.words import naming, next_test

from .bench import Bench, crosses

LANE = ComponentId("n1/gpu3/nvlink7")


def in_every_third_trial(*lanes):
    """The lane's counter moves in every third trial that loads it."""
    loaded = {}

    def steps(trial, rng):
        for lane in lanes:
            if trial.probe == "p2p" and lane.parent in trial.targets:
                loaded[lane] = loaded.get(lane, 0) + 1
                if loaded[lane] % 3 == 1:
                    yield lane

    return steps


def dips(part, duty, drop):
    """Windows of trials across the part lose `drop` for a share `duty` of the time."""

    def slow(trial, windows, rng):
        if any(crossed == part for crossed in slow.fabric_paths(trial)):
            windows = np.where(rng.random(len(windows)) < duty, windows * (1 - drop), windows)
        return windows

    return slow


def bench_with(part, duty, drop, **kwargs):
    bench = Bench(**kwargs)
    fault = dips(part, duty, drop)
    fault.fabric_paths = lambda trial: [part] if crosses(trial, part, bench.fabric) else []
    bench.slow = fault
    return bench


def test_a_lane_whose_counter_steps_in_three_loaded_trials_while_its_siblings_stay_still_is_named_and_called_likely():
    bench = Bench(steps=in_every_third_trial(LANE))
    assert bench.run().outcome == "localized"
    (verdict,) = bench.localizer.verdicts
    assert verdict.component == LANE
    assert verdict.by == "counters"
    assert verdict.drop == (0.0, 0.0)
    assert verdict.fault_class == "nvlink-link/marginal"
    assert verdict.fru == "gpu-module"
    assert verdict.confidence is Confidence.LIKELY
    assert verdict.duty[0] < 0.05 < verdict.duty[1]
    assert set(verdict.evidence) <= {event for ended, _ in bench.rounds for event, _ in ended}


def test_two_steps_are_not_enough_however_unlikely_they_look():
    struck = []

    def twice(trial, rng):
        if trial.probe == "p2p" and LANE.parent in trial.targets and len(struck) < 2:
            struck.append(trial.id)
            return (LANE,)
        return ()

    bench = Bench(steps=twice, settings=Settings(budget=30.0))
    bench.run()
    assert len(struck) == 2
    assert bench.localizer.verdicts == ()


def test_a_red_herring_counter_that_moves_without_load_as_well_never_convicts():
    bench = Bench(steps=in_every_third_trial(LANE), idle_steps=(LANE,), settings=Settings(budget=30.0))
    bench.run()
    assert bench.localizer.verdicts == ()


def test_counters_that_move_on_many_lanes_convict_none_of_them():
    lanes = tuple(
        ComponentId(f"n{node}/gpu{gpu}/nvlink{lane}") for node in (1, 2) for gpu in range(8) for lane in (3, 9)
    )
    bench = Bench(steps=in_every_third_trial(*lanes), settings=Settings(budget=30.0))
    bench.run()
    assert bench.localizer.verdicts == ()


def test_a_standing_counter_steers_but_never_convicts():
    bench = Bench(priors={LANE: 50.0}, settings=Settings(budget=30.0))
    bench.run()
    assert bench.localizer.verdicts == ()


@pytest.mark.parametrize("seed", range(3))
def test_healthy_nodes_are_called_healthy_with_what_that_excludes(seed):
    bench = Bench(nodes=("n1",), seed=seed, settings=Settings(budget=300.0))
    assert bench.run().outcome == "none"
    reached = bench.localizer.conclusion(0.0)
    assert reached.verdicts == ()
    lanes = [row for row in reached.excludes if row.family == "nvlink"]
    assert [row.by for row in lanes] == ["counters"]
    assert 0 < lanes[0].duty < 0.15
    assert any(row.family == "gpu" and row.by == "bandwidth" for row in reached.excludes)


def test_a_gpu_link_that_drops_now_and_then_is_found_by_host_copies_with_the_bridges_beside_it():
    part = ComponentId("n2/gpu4/pcie")
    bench = bench_with(part, 0.2, 0.5)
    assert bench.run().outcome == "localized"
    (verdict,) = bench.localizer.verdicts
    assert verdict.component == part
    assert verdict.by == "bandwidth"
    assert verdict.fault_class.startswith("pcie-link")
    assert ComponentId("n2/pcie/0000:99:00.0") in verdict.alternatives
    assert verdict.duty[0] < 0.2 < verdict.duty[1]
    assert any("were slow now and then" in sentence for sentence in verdict.why)
    assert any(sentence.startswith("Acquitted: ") for sentence in verdict.why)


def test_a_gpu_that_has_lost_half_its_bandwidth_for_good_is_found_within_seconds():
    bench = bench_with(ComponentId("n1/gpu6"), 1.0, 0.5)
    bench.run()
    assert [verdict.component for verdict in bench.localizer.verdicts] == ["n1/gpu6"]
    assert bench.localizer.seconds < 30


def test_a_lane_that_gates_whole_copies_is_named_by_its_counter_among_lanes_that_look_the_same():
    bench = bench_with(LANE, 0.1, 0.6, steps=in_every_third_trial(LANE))
    bench.run()
    (verdict,) = bench.localizer.verdicts
    assert verdict.component == LANE


def test_a_lane_that_gates_copies_without_a_counter_is_named_with_all_it_can_be_mistaken_for():
    bench = bench_with(LANE, 0.2, 0.6)
    bench.run()
    (verdict,) = bench.localizer.verdicts
    assert verdict.component.parent == LANE.parent
    assert LANE in {verdict.component, *verdict.alternatives}
    assert len(verdict.alternatives) == 17


def test_a_path_that_is_always_three_percent_slow_is_not_a_dead_lane():
    def slow(trial, windows, rng):
        return windows * 0.97 if trial.targets == ("n1/gpu2", "n1/gpu5") else windows

    bench = Bench(slow=slow, settings=Settings(budget=60.0))
    bench.run()
    assert bench.localizer.verdicts == ()


@pytest.mark.parametrize("seed", range(3))
def test_paths_that_all_differ_a_little_accuse_nobody(seed):
    bias = {}

    def slow(trial, windows, rng):
        path = (trial.probe, trial.targets)
        bias.setdefault(path, rng.normal(0, 0.02))
        return windows * np.exp(bias[path])

    bench = Bench(slow=slow, seed=seed, settings=Settings(budget=45.0))
    bench.run()
    assert bench.localizer.verdicts == ()


@pytest.mark.parametrize("seed", range(3))
def test_bursts_that_outlast_a_probe_do_not_convict_an_innocent_part(seed):
    """Benign slowness that lasts a whole trial, now here, now there."""

    def slow(trial, windows, rng):
        return windows * rng.uniform(0.3, 0.9) if rng.random() < 0.02 else windows

    bench = Bench(slow=slow, seed=seed, settings=Settings(budget=45.0))
    bench.run()
    assert bench.localizer.verdicts == ()


def test_somebody_elses_traffic_on_a_host_path_for_half_a_minute_is_no_fault():
    def slow(trial, windows, rng):
        return windows * 0.88 if trial.targets == ("n1/gpu1",) and bench.localizer.seconds < 30 else windows

    bench = Bench(settings=Settings(budget=60.0))
    bench.slow = slow
    bench.run()
    assert bench.localizer.verdicts == ()


@pytest.mark.parametrize("noise", [0.02, 0.06, 0.08])
def test_the_noise_is_learnt_and_accuses_nobody(noise):
    bench = Bench(noise=noise, settings=Settings(budget=30.0))
    bench.run()
    assert bench.localizer.verdicts == ()
    assert bench.localizer.belief(1, 0.0).noise == pytest.approx(noise, rel=0.2)


def test_a_counter_that_moves_without_load_convicts_when_bandwidth_dips_in_the_very_same_trials():
    """Marginal at rest as under load, and every copy waits for it: no red herring."""
    bench = Bench(steps=in_every_third_trial(LANE), idle_steps=(LANE,))

    def slow(trial, windows, rng):
        struck = LANE.parent in trial.targets and trial.probe == "p2p" and loads.append(trial) is None
        return np.where(np.arange(16) == 5, windows * 0.4, windows) if struck and len(loads) % 3 == 1 else windows

    loads = []
    bench.slow = slow
    bench.run()
    (verdict,) = bench.localizer.verdicts
    assert verdict.component == LANE
    assert verdict.drop[1] > 0.4


def test_a_lane_that_is_down_is_named_within_seconds_where_a_finding_points_at_it():
    bench = bench_with(LANE, 1.0, 1 / 18, priors={LANE: 4.0})
    bench.run()
    (verdict,) = bench.localizer.verdicts
    assert verdict.component == LANE
    assert verdict.fault_class == "nvlink-link"
    assert bench.localizer.seconds < 20
    assert any("points to it among them" in sentence for sentence in verdict.why)


def test_small_lasting_losses_on_a_host_path_may_be_somebody_elses_traffic_for_as_long_as_they_like():
    def slow(trial, windows, rng):
        return windows * 0.86 if trial.targets == ("n1/gpu1",) else windows

    bench = Bench(slow=slow, nodes=("n1",), settings=Settings(budget=60.0))
    assert bench.run().outcome in ("none", "undecided")
    assert bench.localizer.verdicts == ()


def test_nodes_whose_gpus_all_answer_nothing_leave_no_belief_and_no_warning():
    bench = Bench(nodes=("n1",), error=lambda trial: ("no device answers at that bus address", "probe"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bench.run(40).outcome == "not_run"


def test_every_sentence_for_people_starts_with_a_capital_or_a_number():
    bench = Bench(steps=in_every_third_trial(LANE))
    plan = bench.localizer.next_round()
    stop = bench.run()
    (verdict,) = bench.localizer.verdicts
    reached = bench.localizer.conclusion(0.0)
    for sentence in (plan.reason, stop.reason, reached.reason, *verdict.why):
        assert not sentence[0].islower(), sentence
    assert reached.reason.endswith(".")


def test_two_faults_are_both_named():
    bench = bench_with(ComponentId("n2/gpu4/pcie"), 0.2, 0.5, steps=in_every_third_trial(LANE))
    bench.run()
    assert {verdict.component for verdict in bench.localizer.verdicts} == {LANE, "n2/gpu4/pcie"}


def test_trials_that_could_not_run_are_no_evidence_and_their_gpu_is_left_out():
    lost = ComponentId("n1/gpu5")
    bench = Bench(
        error=lambda trial: ("no device answers at that bus address", "probe") if lost in trial.targets else ("", ""),
        settings=Settings(budget=30.0),
    )
    bench.run()
    reached = bench.localizer.conclusion(0.0)
    assert reached.verdicts == ()
    assert lost in reached.untestable
    assert "measured nothing" in reached.reason
    tried = [trial for ended, _ in bench.rounds[4:] for _, trial in ended if lost in trial.trial.targets]
    assert tried == []


def test_a_transfer_that_fails_with_an_uncorrectable_nvlink_error_is_evidence():
    def error(trial):
        fails = trial.probe == "p2p" and "n1/gpu3" in trial.targets
        return ("cuMemcpyPeerAsync: CUDA_ERROR_NVLINK_UNCORRECTABLE", "probe") if fails else ("", "")

    bench = Bench(error=error)
    bench.run()
    assert bench.localizer.verdicts[0].component.parent == "n1/gpu3"


def test_nodes_on_which_nothing_runs_end_as_not_run():
    bench = Bench(error=lambda trial: ("compute processes run on its GPUs", "busy"))
    assert bench.run(20).outcome == "not_run"
    assert bench.localizer.conclusion(0.0).outcome == "not_run"


def test_a_spent_budget_ends_undecided_and_says_so():
    bench = Bench(settings=Settings(budget=2.0))
    stop = bench.run()
    assert stop.outcome == "undecided"
    assert "budget" in stop.reason


def test_the_same_trials_give_the_same_belief_bit_for_bit():
    bench = bench_with(ComponentId("n2/gpu4/pcie"), 0.1, 0.5, steps=in_every_third_trial(LANE))
    bench.run(8)
    again = Localizer(bench.fabric, bench.fabric.nodes, bench.settings)
    for ended, seconds in bench.rounds:
        again.next_round()
        again.learn(ended, seconds)
    assert encode_event(again.belief(8, 1.0)) == encode_event(bench.localizer.belief(8, 1.0))
    assert encode_event(again.conclusion(1.0)) == encode_event(bench.localizer.conclusion(1.0))


def test_nics_and_what_only_they_hang_on_are_reported_as_untestable():
    bench = Bench(nodes=("n1",))
    untestable = bench.localizer.conclusion(0.0).untestable
    assert "n1/mlx5_0" in untestable
    assert "n1/mlx5_0/pcie" in untestable
    assert "n1/gpu0" not in untestable


def test_the_trials_of_a_round_are_disjoint():
    bench = Bench(platform="h100_hgx_4sw")
    for _ in range(6):
        plan = bench.localizer.next_round()
        assert isinstance(plan, RoundPlan)
        targets = [gpu for trial in plan.trials for gpu in trial.targets]
        assert len(targets) == len(set(targets))
        if plan.trials[0].probe == "h2d":
            roots = [bench.fabric.chain(gpu)[-1] for gpu in targets]
            assert len(roots) == len(set(roots))
        bench.answer(plan)


def test_after_a_strike_the_rounds_load_the_suspect_with_changing_partners():
    bench = Bench(steps=in_every_third_trial(LANE))
    while not bench.localizer.belief(1, 0.0).suspects[:1] or bench.localizer.belief(1, 0.0).suspects[0].strikes < 2:
        plan = bench.localizer.next_round()
        assert not isinstance(plan, Stop)
        bench.answer(plan)
    partners = set()
    for ended, _ in bench.rounds:
        partners |= {frozenset(trial.trial.targets) for _, trial in ended if LANE.parent in trial.trial.targets}
    assert len(partners) >= 3


def test_a_suspect_row_counts_its_trials_and_strikes():
    bench = Bench(steps=in_every_third_trial(LANE))
    bench.run(4)
    top = bench.localizer.belief(4, 0.0).suspects[0]
    assert top.component == LANE
    assert top.strikes >= 1
    assert top.bad + top.clean >= top.strikes
    assert top.nats > 0


def test_a_finding_points_at_one_lane_of_a_group_that_bandwidth_has_convicted():
    bench = bench_with(LANE, 0.2, 0.6, priors={LANE: 5.0})
    bench.run()
    (verdict,) = bench.localizer.verdicts
    assert verdict.component == LANE


def test_the_reasons_say_what_convicts_and_that_bandwidth_shows_nothing_where_only_a_counter_does():
    bench = Bench(steps=in_every_third_trial(LANE))
    bench.run()
    why = bench.localizer.verdicts[0].why
    assert why[0].startswith("Its error counter moved in 3 of ")
    assert "none moved; between trials it never moved" in why[0]
    assert any("counter alone convicts" in sentence for sentence in why)


def test_a_gpu_known_to_be_gone_is_never_probed_and_told_as_untestable():
    gone = ComponentId("n1/gpu2")
    bench = Bench(unusable=(gone,), priors={gone: 4.0})
    bench.run(12)
    assert all(gone not in ended.trial.targets for ended_ones, _ in bench.rounds for _, ended in ended_ones)
    assert {gone, gone / "pcie", gone / "nvlink0"} <= set(bench.localizer.conclusion(0.0).untestable)


def test_where_nothing_was_measured_nothing_is_called_healthy():
    bench = Bench(nodes=("n1",), error=lambda trial: ("no device answers at that bus address", "probe"))
    bench.run(40)
    assert bench.localizer.belief(1, 0.0).no_fault < 0.9


def test_a_second_search_of_a_case_gives_its_trials_other_ids():
    first, second = Bench().localizer.next_round(), Bench(rounds_before=3).localizer.next_round()
    assert {trial.id for trial in first.trials}.isdisjoint(trial.id for trial in second.trials)
    assert second.trials[0].id == "R4T1"


def test_a_nics_pcie_link_goes_by_the_nic_and_a_gpus_by_its_module():
    nic, gpu = ComponentId("n1/mlx5_4/pcie"), ComponentId("n1/gpu3/pcie")
    assert (naming("pcie", nic).fru, naming("pcie", gpu).fru) == ("nic", "gpu-module")
    assert "follows the NIC" in next_test("pcie", nic)
