"""Choosing the next round: most expected information per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...incident.ids import ComponentId, NodeId
from ...topology.fabric import Fabric
from .evidence import BandwidthEvidence
from .likelihood import Tables, entropy
from .parts import Floats, Parts, ProbePath
from .posterior import Belief
from .rounds import NodeRound, rounds_of
from .settings import MODES

FRUGAL = 0.99
"""Share of a round's information that the trials it keeps must hold."""
VARIETY = 0.1
"""By how much a path that was never measured is preferred to one measured often."""
WINDOWS = 16
HEALTHY_STEPS = 1e-3
"""Rate at which a healthy counter is taken to step when planning."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The trials of a round, and what they are expected to tell."""

    paths: tuple[ProbePath, ...]
    gain: float
    """Nats."""
    seconds: float


class Planner:
    """Scores all paths at once and picks, probe by probe, the best disjoint trials of every node."""

    def __init__(self, parts: Parts, fabric: Fabric, seed: int) -> None:
        self._parts = parts
        self._fabric = fabric
        self._rng = np.random.default_rng(seed)
        self._visits = np.zeros(len(parts.paths))
        self._columns, self._shares = _padded(parts)
        self._counted = _padded_counts(parts)

    def ran(self, paths: Sequence[ProbePath]) -> None:
        """Remember what was measured, so that partners vary."""
        for path in paths:
            self._visits[path.index] += 1

    def choose(
        self,
        belief: Belief,
        bandwidth: BandwidthEvidence,
        usable: dict[NodeId, tuple[ComponentId, ...]],
        overhead: float,
        deaf: frozenset[int],
        whole: bool,
    ) -> Choice | None:
        """The best round, or None where nothing can be measured.

        `usable`: GPUs that can be probed; `deaf`: columns of convicted parts, whose trials teach nothing;
        `whole`: keep trials that tell little, for the calibration's sake.
        """
        gains = self._gains(belief, bandwidth, deaf)
        tempting = gains * (1 + VARIETY / (1 + self._visits))
        best: Choice | None = None
        best_rate = -1.0
        for probe in dict.fromkeys(path.probe for path in self._parts.paths):
            chosen: list[ProbePath] = []
            for node, gpus in usable.items():
                chosen += self._best_of(rounds_of(self._parts, self._fabric, probe, node, gpus, self._rng), tempting)
            if not chosen:
                continue
            gain = float(sum(gains[path.index] for path in chosen))
            seconds = max(path.seconds for path in chosen) + overhead
            if gain / seconds > best_rate:
                best, best_rate = Choice(tuple(chosen), gain, seconds), gain / seconds
        return best if best is None or whole else _frugal(best, gains)

    def _best_of(self, rounds: Sequence[NodeRound], tempting: Floats) -> NodeRound:
        if not rounds:
            return ()
        scores = np.array([sum(tempting[path.index] for path in candidate) for candidate in rounds])
        ties = np.flatnonzero(scores >= scores.max() * (1 - 1e-9))
        return rounds[int(self._rng.choice(ties))]

    def _gains(self, belief: Belief, bandwidth: BandwidthEvidence, deaf: frozenset[int]) -> Floats:
        """Expected information of every path's trial: what bandwidth and what counters would tell."""
        outcomes, healthy = trial_outcomes(bandwidth.tables, bandwidth.calibration.burst)
        modes, columns = len(MODES), self._parts.columns
        share = self._parts.column_share
        by_mode = np.where(bandwidth.spent, 0.0, belief.by_mode)
        pi = np.concatenate([by_mode, np.zeros((1, 2 * modes))])
        seen = np.concatenate([outcomes[share], np.broadcast_to(outcomes[0], (columns, modes, 3))], axis=1)
        mixed = np.concatenate([np.einsum("cm,cmo->co", by_mode, seen), np.zeros((1, 3))])
        spoken = np.concatenate([np.einsum("cm,cm->c", by_mode, entropy(seen)), np.zeros(1)])
        at_fault = pi.sum(axis=1)[self._columns].sum(axis=1)
        clean = np.maximum(0.0, 1.0 - at_fault)
        expected = mixed[self._columns].sum(axis=1) + clean[:, None] * healthy
        by_bandwidth = entropy(expected) - spoken[self._columns].sum(axis=1) - clean * entropy(healthy)
        if deaf:
            by_bandwidth[np.isin(self._columns, sorted(deaf)).any(axis=1)] = 0.0
        gains: Floats = np.maximum(by_bandwidth, 0.0) + self._counter_gains(belief)
        return gains

    def _counter_gains(self, belief: Belief) -> Floats:
        part = np.append(belief.part * self._parts.counted, 0.0)
        rate = np.append(np.maximum(belief.step_rate, HEALTHY_STEPS), HEALTHY_STEPS)
        steps = part * rate + (1 - part) * HEALTHY_STEPS
        told = _binary(steps) - part * _binary(rate) - (1 - part) * _binary(np.array(HEALTHY_STEPS))
        summed: Floats = np.maximum(told, 0.0)[self._counted].sum(axis=1)
        return summed


def trial_outcomes(table: Tables, burst: float) -> tuple[Floats, Floats]:
    """[S, M, 3] and [3]: probability that the worst window of a trial is bad, soft or clean."""
    independent = WINDOWS / burst
    return _worst(table.outcomes, independent), _worst(table.healthy_outcomes, independent)


def _worst(window: Floats, independent: float) -> Floats:
    none_bad = (1 - window[..., 0]) ** independent
    clean = window[..., 2] ** independent
    return np.stack([1 - none_bad, np.maximum(none_bad - clean, 0.0), clean], axis=-1)


def _binary(probability: Floats) -> Floats:
    return entropy(np.stack([probability, 1 - probability], axis=-1))


def _frugal(choice: Choice, gains: Floats) -> Choice:
    """Only the trials that hold nearly all of the round's information: the rest of the fleet stays undisturbed."""
    order = sorted(choice.paths, key=lambda path: -gains[path.index])
    kept: list[ProbePath] = []
    held = 0.0
    for path in order:
        kept.append(path)
        held += float(gains[path.index])
        if held >= FRUGAL * choice.gain:
            break
    return Choice(tuple(kept), held, choice.seconds)


def _padded(parts: Parts) -> tuple[np.ndarray, np.ndarray]:
    """[paths, longest] columns of every path, padded with a column of no weight, and their share codes."""
    longest = max((len(path.columns) for path in parts.paths), default=0)
    columns = np.full((len(parts.paths), longest), parts.columns, dtype=np.int64)
    shares = np.zeros_like(columns)
    for path in parts.paths:
        columns[path.index, : len(path.columns)] = path.columns
        shares[path.index, : len(path.shares)] = path.shares
    return columns, shares


def _padded_counts(parts: Parts) -> np.ndarray:
    """[paths, most] parts whose counters a path's trial reads, padded with a part of no weight."""
    longest = max((len(path.counted) for path in parts.paths), default=0)
    counted = np.full((len(parts.paths), longest), len(parts.components), dtype=np.int64)
    for path in parts.paths:
        counted[path.index, : len(path.counted)] = path.counted
    return counted
