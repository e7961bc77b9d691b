"""The sum behind a posterior adds up, for whomever it is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lanescope.incident.events import Trial
from lanescope.incident.ids import ComponentId
from lanescope.probes.h2d import HostToDeviceCopy
from lanescope.probes.localize.posterior import believe
from lanescope.probes.localize.reckoning import (
    History,
    Reckoning,
    class_of,
    classes,
    counters_say,
    reckon,
    rivals,
    speaks_by_bandwidth,
)
from lanescope.probes.localize.settings import Settings

from .bench import Bench, crosses

BRIDGE = ComponentId("n1/gpu3/pcie")
LANE = ComponentId("n1/gpu5/nvlink7")


def never_convicting(bench: Bench) -> Bench:
    bench.localizer.settings = Settings(budget=120.0, convict=math.inf, convict_by_counters=math.inf)
    return bench


def total_of(sums: Reckoning) -> float:
    terms = sum(term.nats for term in sums.terms)
    return sums.prior + sums.findings + sums.ways + terms + sums.held_back + sums.equals + sums.excused + sums.alike


def reckoned(bench: Bench, part: str, rounds: int) -> Reckoning:
    """The sum of a part's class after so many rounds, its counters followed round by round."""
    assert bench.run(rounds) is None
    final = bench.localizer.grounds
    belief = believe(final)
    found = class_of(final, belief, final.parts.index[ComponentId(part)])
    shown = speaks_by_bandwidth(final, found.part)
    again = never_convicting(Bench(slow=bench.slow, steps=bench.steps))
    before = last = counters_say(again.localizer.grounds, found.part, shown)
    steps = {}
    for number, (trials, seconds) in enumerate(bench.rounds, start=1):
        again.localizer.learn(trials, seconds)
        now = counters_say(again.localizer.grounds, found.part, shown)
        steps[number], last = now - last, now
    return reckon(final, belief, bench.localizer.books, found, History(before, steps))


def slow_link(bench: Bench) -> Bench:
    probe = HostToDeviceCopy()

    def slow(trial: Trial, windows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        hit = trial.probe == probe.name and crosses(trial, BRIDGE, bench.fabric)
        return windows * np.where(rng.random(len(windows)) < 0.3, 0.4, 1.0) if hit else windows

    bench.slow = slow
    return never_convicting(bench)


def stepping_lane(bench: Bench) -> Bench:
    bench.steps = lambda trial, rng: [LANE] if trial.probe == "p2p" and LANE.parent in trial.targets else []
    return never_convicting(bench)


@pytest.mark.parametrize("part", [BRIDGE, "n1/gpu3", "n1/host", "n2/gpu0/nvlink0", "n2/nvswitch1"])
def test_the_terms_of_any_part_add_up_to_its_log_odds(part: str) -> None:
    bench = slow_link(Bench())
    sums = reckoned(bench, part, 12)
    belief = believe(bench.localizer.grounds)
    assert total_of(sums) == pytest.approx(sums.total, abs=1e-9)
    assert sums.total == pytest.approx(math.log(sums.posterior / belief.no_fault), abs=1e-9)


def test_a_part_that_bandwidth_convicts_is_convicted_by_its_bad_trials() -> None:
    sums = reckoned(slow_link(Bench()), BRIDGE, 12)
    assert sums.convicting
    assert all(term.bad and term.targets == (BRIDGE.parent,) for term in sums.convicting)
    assert sum(term.by_bandwidth for term in sums.convicting) > 3
    assert min(min(term.windows) for term in sums.convicting) < 0.5


def test_a_part_that_counters_convict_is_convicted_by_the_trials_they_moved_in() -> None:
    sums = reckoned(stepping_lane(Bench()), LANE, 8)
    assert total_of(sums) == pytest.approx(sums.total, abs=1e-9)
    assert sums.members == (LANE,)
    assert sum(term.struck for term in sums.terms) >= 3
    assert all(term.struck for term in sums.convicting)
    assert sum(term.by_counters for term in sums.convicting) > 5


def test_siblings_of_a_struck_lane_are_rivals_that_crossed_the_same_trials() -> None:
    bench = stepping_lane(Bench())
    sums = reckoned(bench, LANE, 8)
    grounds = bench.localizer.grounds
    found = {rival.part.parent: rival for rival in rivals(grounds, believe(grounds), bench.localizer.books, sums)}
    siblings = found[LANE.parent]
    assert siblings.alike == 17
    assert siblings.shared == len(sums.convicting)
    assert siblings.strikes == 0


def test_the_class_believed_in_most_comes_first_and_no_part_is_in_two() -> None:
    bench = stepping_lane(Bench())
    bench.run(8)
    grounds = bench.localizer.grounds
    found = classes(grounds, believe(grounds), 20)
    assert grounds.parts.components[found[0].part] == LANE
    assert [one.posterior for one in found] == sorted((one.posterior for one in found), reverse=True)
    members = np.concatenate([one.members for one in found])
    assert len(set(members.tolist())) == len(members)
