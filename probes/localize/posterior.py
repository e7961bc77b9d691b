"""From evidence to belief: part x mode, and `no fault`.

A part's weight is prior x (what bandwidth says, over modes) x (what counters say, over step rates). Modes that
bandwidth can't resolve say nothing there; a fault that neither bandwidth nor counters could show is not counted at all,
it is reported as not covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .counters import CounterEvidence
from .likelihood import LEAST_DIVERGENCE, Tables, log_sum
from .parts import Bools, Floats, Ints, Parts
from .settings import MODES, RAISES_COUNTER, STEP_RATES, Prompts, Settings

RESOLUTION = 2.5
"""Drops smaller than so many spreads of the paths' baselines can't be told from a baseline."""

OTHERS_TAKE = 0.2
"""Lasting drops up to this share, on paths that others use as well, can't be told from their traffic."""


@dataclass(frozen=True, slots=True)
class Belief:
    """Probabilities. C columns, M modes, P parts, G groups."""

    no_fault: float
    part: Floats
    """[P]"""
    group: Floats
    """[G]"""
    column: Floats
    """[C]"""
    by_mode: Floats
    """[C, 2 M] of the modes bandwidth resolves."""
    step_rate: Floats
    """[P] mean step rate of the part's counter, given that the part is at fault."""
    ratios: Floats
    """[2 M] mean likelihood ratio of every way bandwidth can show a fault, over all parts; NaN where not tested."""
    stepping: Floats
    """[kinds, R] the same of counters that step, by kind of part; NaN where none has a counter that can be read."""

    def acquits(self, missed: float, duty: float, step_rate: float) -> bool:
        """Whether every kind of fault is that unlikely; those that are on, or step, at least so often."""
        shown = self.ratios[np.array([mode.duty for mode in MODES] * 2) >= duty]
        tested = shown[np.isfinite(shown)]
        return bool(len(tested)) and bool((tested <= missed).all()) and not self.unheard(missed, step_rate).any()

    def unheard(self, missed: float, step_rate: float) -> Bools:
        """[kinds of part] whether counters that step at least so often are not that unlikely yet.

        Kind by kind: many NICs that stayed still say nothing of lanes that nobody has loaded."""
        asked = self.stepping[:, np.array(STEP_RATES) >= step_rate]
        return np.asarray((asked > missed).any(axis=1))

    def leaning_to(self, parts: Parts, pinned: Sequence[int], lent: float) -> Belief:
        """As if a share of the belief lay on some parts, in whichever way their columns could be at fault."""
        columns = sorted({int(parts.column[part]) for part in pinned})
        rows = self.by_mode[columns]
        totals = rows.sum(axis=1, keepdims=True)
        spread = np.where(totals > 0, rows / np.maximum(totals, 1e-300), 1.0 / rows.shape[1]) / len(columns)
        by_mode = self.by_mode * (1 - lent)
        by_mode[columns] += lent * spread
        part = self.part * (1 - lent)
        part[list(pinned)] += lent / len(pinned)
        return replace(self, by_mode=by_mode, part=part)

    def top(self) -> int:
        """The group believed in most."""
        return int(self.group.argmax())


def resolved(parts: Parts, table: Tables, spread: float, drained: bool) -> Bools:
    """[C, 2 M]: modes that bandwidth can tell from noise, baselines and others' traffic, column by column."""
    mean_drop = np.array([(mode.low + mode.high) / 2 for mode in MODES])
    by_share = table.divergence >= LEAST_DIVERGENCE
    by_share &= np.array(parts.shares)[:, None] * mean_drop >= RESOLUTION * spread
    own = by_share[parts.column_share]
    if not drained:
        small = np.array([mode.duty >= 1.0 and mode.high <= OTHERS_TAKE for mode in MODES])
        own = own & ~(parts.column_shared[:, None] & small)
    gate = np.where(parts.column_share[:, None] > 0, by_share[0][None, :], False)
    return np.concatenate([own, gate], axis=1)


def mode_priors(parts: Parts) -> Floats:
    """[C, 2 M] log prior of every mode; a part that carries a share may lose that share or gate the whole transfer."""
    prior = np.log([mode.prior for mode in MODES])
    striped = parts.column_share[:, None] > 0
    own = np.where(striped, prior + np.log(0.5), prior)
    gate = np.where(striped, prior + np.log(0.5), -np.inf)
    return np.concatenate([own, gate], axis=1)


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a belief is computed from; replace one of them to ask `what if`."""

    parts: Parts
    settings: Settings
    seen: Bools
    """[C, 2 M] modes that bandwidth resolves."""
    ratios: Floats
    """[C, 2 M] what bandwidth says."""
    harmless: Floats
    """[C, 2 M] log prior of being slow like that without being at fault."""
    counters: CounterEvidence
    prompts: Prompts | None
    """Standing counters and findings; None leaves them out."""
    dead: frozenset[int] = frozenset()
    """Convicted parts."""

    def without_prompts(self) -> Grounds:
        """What probes alone say."""
        return replace(self, prompts=None)

    def without_counters(self) -> Grounds:
        """What bandwidth alone says."""
        return replace(self, prompts=None, counters=self.counters.silenced())

    def without(self, columns: Ints, said: Floats) -> Grounds:
        """As if these columns had not heard `said` [2 M]."""
        ratios = self.ratios.copy()
        ratios[columns] -= said
        return replace(self, ratios=ratios)


def believe(grounds: Grounds) -> Belief:
    """The belief that follows."""
    parts, settings, counters, seen = grounds.parts, grounds.settings, grounds.counters, grounds.seen
    prior = mode_priors(parts)
    said = prior + np.where(seen, grounds.ratios, 0.0)
    visible = np.where(seen, said, -np.inf)
    shown, hidden = log_sum(visible, axis=1), log_sum(np.where(seen, -np.inf, said), axis=1)
    raised = np.log(RAISES_COUNTER / len(STEP_RATES)) + counters.ratios
    stepping = np.where(counters.readable, log_sum(raised, axis=1), -np.inf)
    silent = np.where(counters.readable, np.log(1 - RAISES_COUNTER), 0.0)
    either = np.logaddexp(stepping, silent)
    base = np.log(parts.rate * (1 - settings.no_fault)) + nudges(grounds)
    if grounds.dead:
        base[sorted(grounds.dead)] = -np.inf
    column = parts.column
    weight = base + np.logaddexp(shown[column] + either, hidden[column] + stepping)
    no_fault = np.log(settings.no_fault) + _slow_without_fault(grounds)
    norm = float(np.logaddexp(log_sum(weight[None, :], axis=1)[0], no_fault))
    part = np.exp(weight - norm)
    per_column = _totals(column, np.exp(base + either - norm), parts.columns)
    by_mode: Floats = np.exp(np.minimum(visible, 700)) * per_column[:, None]
    rates = np.exp(raised - np.maximum(stepping, -700)[:, None])
    return Belief(
        no_fault=float(np.exp(no_fault - norm)),
        part=part,
        group=_totals(parts.group, part, parts.groups),
        column=_totals(column, part, parts.columns),
        by_mode=by_mode,
        step_rate=np.where(counters.readable, np.exp(_given(stepping, shown, hidden, either, column)), 0.0)
        * (rates * np.array(STEP_RATES)).sum(axis=1),
        ratios=_mean_ratios(parts, seen, prior, grounds.ratios, base),
        stepping=_mean_steps(parts, counters, base),
    )


def _slow_without_fault(grounds: Grounds) -> float:
    """Nats that `no fault` gains because some part may be slow for no fault of its own."""
    slow = np.where(grounds.seen, grounds.ratios + grounds.harmless, -np.inf)
    return float(np.logaddexp(0.0, log_sum(slow.reshape(1, -1), axis=1)[0]))


def _totals(numbers: Ints, weights: Floats, count: int) -> Floats:
    """Sums of weights by number."""
    totals: Floats = np.bincount(numbers, weights, count).astype(np.float64)
    return totals


def nudges(grounds: Grounds) -> Floats:
    """[P] nats that standing counters and findings add to every part."""
    prompts, components = grounds.prompts, grounds.parts.components
    if prompts is None or not prompts.nats:
        return np.zeros(len(components))
    return np.array([prompts.of(part, grounds.settings.prior_cap) for part in components])


def _given(stepping: Floats, shown: Floats, hidden: Floats, either: Floats, column: Ints) -> Floats:
    """Log probability that a part at fault is one whose counter steps."""
    with_steps = np.logaddexp(shown[column], hidden[column]) + stepping
    total = np.logaddexp(shown[column] + either, hidden[column] + stepping)
    given: Floats = np.where(np.isfinite(total), with_steps - np.where(np.isfinite(total), total, 0.0), -np.inf)
    return given


def _weights(base: Floats) -> Floats:
    """Parts weighed with their priors."""
    weight: Floats = np.exp(base - base.max()) if np.isfinite(base).any() else np.zeros(len(base))
    return weight


def _mean_ratios(parts: Parts, seen: Bools, prior: Floats, ratios: Floats, base: Floats) -> Floats:
    """For every way bandwidth can show a fault its mean likelihood ratio over the parts that can show it."""
    per_column = _totals(parts.column, _weights(base), parts.columns)
    tested = np.where(seen & np.isfinite(prior), per_column[:, None], 0.0)
    total = tested.sum(axis=0)
    bandwidth = (tested * np.exp(np.minimum(ratios, 700))).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = bandwidth / total
    return means


def _mean_steps(parts: Parts, counters: CounterEvidence, base: Floats) -> Floats:
    """For every kind of part and step rate the mean likelihood ratio over the parts whose counters can be read."""
    kinds = int(parts.kind.max(initial=-1)) + 1
    counted = np.where(counters.readable, _weights(base), 0.0)
    said = counted[:, None] * np.exp(np.minimum(counters.ratios, 700))
    summed = [_totals(parts.kind, said[:, rate], kinds) for rate in range(said.shape[1])]
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.stack(summed, axis=1) / _totals(parts.kind, counted, kinds)[:, None]
    return means
