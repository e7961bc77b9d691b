"""The rules that keep the likelihood honest: with each of them no innocent is accused, without it somebody is.

Worlds that are not as the model has them show it: more noise, bursts, counters that move for nothing, a second fault.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from lanescope.benchmarks.localization.arena import Arena
from lanescope.benchmarks.localization.cluster import cluster_of
from lanescope.benchmarks.localization.draw import draw
from lanescope.benchmarks.localization.strategies.ours import ours
from lanescope.benchmarks.localization.worlds import WORLDS
from lanescope.probes.localize import conviction, evidence, together
from lanescope.probes.localize.localizer import Localizer, RoundPlan
from lanescope.probes.localize.settings import Settings


def searched(nodes, world, fault, seed):
    """How a search ended in a world that the model does not know, and who was guilty."""
    circumstances = WORLDS[world]
    cluster = cluster_of(nodes, circumstances.wiring, circumstances.knows_network)
    drawn = draw(cluster, fault, world, seed)
    return ours(Arena(cluster, drawn), np.random.default_rng(seed)), drawn.guilty


def accused(world, seed):
    """Innocent parts named in eight healthy nodes."""
    outcome, guilty = searched(8, world, "healthy", seed)
    return outcome.accused(guilty)


def test_noise_is_learnt_and_without_that_a_noisier_cluster_is_accused(monkeypatch):
    assert accused("noise-6", 2) == 0
    monkeypatch.setattr(evidence, "recalibrate", taken_as_known)
    assert accused("noise-6", 2) > 0


def taken_as_known(now, settings, seen):
    """The noise of the start, for good."""
    return replace(now, next_at=math.inf, windows=len(seen.steady))


def test_a_trial_is_one_strike_and_without_that_a_burst_accuses(monkeypatch):
    assert accused("bursts-4", 3) == 0
    for module in (evidence, together):
        monkeypatch.setattr(module, "strike", every_window_counts)
    assert accused("bursts-4", 3) > 0


def every_window_counts(ratios, run):
    """Windows taken as independent."""
    return ratios.sum(axis=-1)


def test_counters_and_findings_steer_and_without_that_they_convict_an_innocent():
    assert named_beside_a_standing_finding(Settings(budget=60.0, drained=True)) == set()
    deciding = Settings(budget=60.0, drained=True, prior_cap=60.0, convict_unprompted=0.0)
    assert named_beside_a_standing_finding(deciding) == {"sim1/gpu3"}


def named_beside_a_standing_finding(settings):
    """Parts named on a healthy node of which one GPU has an old finding."""
    circumstances = WORLDS["standard"]
    cluster = cluster_of(1, circumstances.wiring, circumstances.knows_network)
    arena = Arena(cluster, draw(cluster, "healthy", "standard", 0))
    innocent = cluster.fabric.gpus(cluster.nodes[0])[3]
    localizer = Localizer(cluster.fabric, cluster.nodes, settings, {innocent: 50.0}, probes=cluster.probes)
    while isinstance(plan := localizer.next_round(), RoundPlan):
        since = arena.seconds
        ended = arena.run([(trial.probe, trial.targets) for trial in plan.trials])
        localizer.learn([(trial.trial.id, trial) for trial in ended], arena.seconds - since)
    return {str(verdict.component) for verdict in localizer.verdicts}


def test_a_second_fault_is_no_rival_and_without_that_a_pair_is_not_named(monkeypatch):
    outcome, guilty = searched(8, "standard", "0.2+0.2", 0)
    assert outcome.is_right(guilty)
    monkeypatch.setattr(conviction, "_independent", lambda *_: ())
    monkeypatch.setattr(evidence.BandwidthEvidence, "mute", lambda self, columns: None)
    outcome, guilty = searched(8, "standard", "0.2+0.2", 0)
    assert not outcome.is_right(guilty)
