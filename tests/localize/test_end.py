"""When a search may end: what counters have and have not been heard of."""

from __future__ import annotations

import numpy as np
import pytest
from lanescope.incident.events import Trial, TrialEnded
from lanescope.incident.findings import CounterMove
from lanescope.incident.platforms import platform
from lanescope.probes.catalogue import CATALOGUE
from lanescope.probes.localize.edits import Edits
from lanescope.probes.localize.localizer import Localizer, RoundPlan
from lanescope.probes.localize.settings import Settings
from lanescope.topology.sources.platform import fabric_of

ONCE = 0.6


@pytest.fixture(scope="module")
def fabric():
    return fabric_of(["n1", "n2", "n3", "n4"], platform("h100_hgx"), rails=8, leaves=8, spines=4)


@pytest.fixture
def localizer(fabric):
    return Localizer(fabric, fabric.nodes, Settings(budget=900.0))


def clean(fabric, trial: Trial, number: int, rng: np.random.Generator) -> TrialEnded:
    """A healthy trial whose counters all stay still."""
    probe = CATALOGUE[trial.probe]
    expected = probe.expected(fabric, trial.targets)
    moves = tuple(
        CounterMove(component=part, counter="errors", before=0.0, after=0.0)
        for part in probe.counted(fabric, trial.targets)
    )
    windows = tuple((expected * np.exp(rng.normal(0.0, 0.02, 16))).tolist())
    return TrialEnded(
        time=0.0, trial=trial, round=number, windows=windows, moves=moves, started=number * 1.0, ended=number + ONCE,
        seconds=ONCE,
    )  # fmt: skip


def run(localizer: Localizer, fabric, rounds: int) -> list[str]:
    """Run so many rounds where nothing is wrong; the probe of each."""
    rng, probes = np.random.default_rng(3), []
    for number in range(rounds):
        plan = localizer.next_round()
        if not isinstance(plan, RoundPlan):
            break
        ended = [(trial.id, clean(fabric, trial, number, rng)) for trial in plan.trials]
        localizer.learn(ended, ONCE)
        probes.append(plan.trials[0].probe)
    return probes


def test_nics_that_stayed_still_don_t_end_a_search_whose_lanes_nobody_loaded(fabric, localizer):
    localizer.edit(Edits(forbidden=frozenset({"p2p"})))
    run(localizer, fabric, 60)
    assert localizer._counted.trials[localizer._parts.index[fabric.lanes(fabric.gpus("n1")[0])[0]]] == 0
    assert localizer.conclusion(0.0).outcome != "none"


def test_what_alone_holds_the_end_back_is_probed_until_it_is_heard_of(fabric, localizer):
    probes = run(localizer, fabric, 400)
    assert localizer.conclusion(0.0).outcome == "none"
    assert {"p2p", "h2d", "net_pair"} <= set(probes)
    assert localizer._counted.trials[localizer._counted.readable].min() >= 5
