"""What a trial of any path is expected to tell, from what is believed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .evidence import BandwidthEvidence
from .likelihood import Tables, entropy
from .parts import Floats, Ints, Parts
from .posterior import Belief
from .settings import MODES

WINDOWS = 16
HEALTHY_STEPS = 1e-3
"""Rate at which a healthy counter is taken to step when planning."""


@dataclass(frozen=True, slots=True)
class Information:
    """By column, with one more of no weight at the end as padding; outcomes are a bad, a soft and a clean trial."""

    at_fault: Floats
    """[C + 1] probability that it is, in a way that trials could still show."""
    mixed: Floats
    """[C + 1, 3] of that, by the outcome a trial would have."""
    spoken: Floats
    """[C + 1] entropy that is left in the outcome when it is at fault, weighed with that probability."""
    healthy: Floats
    """[3] outcomes of a trial when nothing is."""
    deaf: Floats
    """[C + 1] 0 for columns of convicted parts, whose trials teach nothing; else 1."""
    by_counter: Floats
    """[P + 1] nats expected from reading each part's counters once."""

    @classmethod
    def of(cls, parts: Parts, belief: Belief, bandwidth: BandwidthEvidence) -> Information:
        """What the present belief leaves open."""
        outcomes, healthy = trial_outcomes(bandwidth.tables, bandwidth.calibration.burst)
        left, modes = entropy(outcomes), len(MODES)
        by_mode = np.where(bandwidth.spent, 0.0, belief.by_mode)
        own, gated = by_mode[:, :modes], by_mode[:, modes:]
        mixed, spoken = gated @ outcomes[0], gated @ left[0]
        for share in np.unique(parts.column_share):
            mine = parts.column_share == share
            mixed[mine] += own[mine] @ outcomes[share]
            spoken[mine] += own[mine] @ left[share]
        deaf = np.ones(parts.columns + 1)
        deaf[sorted(bandwidth.muted)] = 0.0
        return cls(
            np.append(by_mode.sum(axis=1), 0.0),
            np.concatenate([mixed, np.zeros((1, 3))]),
            np.append(spoken, 0.0),
            healthy,
            deaf,
            _by_counter(parts, belief),
        )

    def of_paths(self, columns: Ints) -> Floats:
        """[paths] nats that the bandwidth of a trial would tell; `columns` [paths, longest]."""
        clean = np.maximum(0.0, 1.0 - self.at_fault[columns].sum(axis=1))
        expected = self.mixed[columns].sum(axis=1) + clean[:, None] * self.healthy
        told = entropy(expected) - self.spoken[columns].sum(axis=1) - clean * entropy(self.healthy)
        gains: Floats = np.maximum(told, 0.0) * self.deaf[columns].min(axis=1, initial=1.0)
        return gains

    def of_counters(self, counted: Ints) -> Floats:
        """[paths] nats that counters read at its edges would tell; `counted` [paths, most]."""
        summed: Floats = self.by_counter[counted].sum(axis=1)
        return summed


def trial_outcomes(table: Tables, burst: float) -> tuple[Floats, Floats]:
    """[S, M, 3] and [3]: probability that the worst window of a trial is bad, soft or clean."""
    independent = WINDOWS / burst
    return _worst(table.outcomes, independent), _worst(table.healthy_outcomes, independent)


def _worst(window: Floats, independent: float) -> Floats:
    none_bad = (1 - window[..., 0]) ** independent
    clean = window[..., 2] ** independent
    return np.stack([1 - none_bad, np.maximum(none_bad - clean, 0.0), clean], axis=-1)


def _by_counter(parts: Parts, belief: Belief) -> Floats:
    part = np.append(belief.part * parts.counted, 0.0)
    rate = np.append(np.maximum(belief.step_rate, HEALTHY_STEPS), HEALTHY_STEPS)
    steps = part * rate + (1 - part) * HEALTHY_STEPS
    told = _binary(steps) - part * _binary(rate) - (1 - part) * _binary(np.array(HEALTHY_STEPS))
    gains: Floats = np.maximum(told, 0.0)
    return gains


def _binary(probability: Floats) -> Floats:
    return entropy(np.stack([probability, 1 - probability], axis=-1))
