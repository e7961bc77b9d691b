"""Counters that move while a trial loads their part: strikes, and what they say.

Rule: a counter that moves during a trial that loads its part, while its equals stay still, is an observation, at most
one strike a trial. How often a healthy one steps is learnt from its equals. A counter may also step for reasons that
don't hurt (a red herring); such a one steps without load as well, which shows between trials, and where others do the
same, a part that steps is less remarkable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ...incident.events import TrialEnded
from ...incident.findings import CounterMove
from .likelihood import log_sum
from .parts import Bools, Parts
from .settings import STEP_RATES

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

HEALTHY_PRIOR = (0.5, 500.0)
"""Strikes by trials that a counter's healthy rate is worth before any trial."""
EQUALS_THAT_MAY_MOVE = 0.1
"""Share of the equals in a trial that may move as well; above it the trial says nothing about any of them."""
HERRINGS_EXPECTED = 0.001
"""Harmless counters expected to step among all equals ..."""
HERRINGS_AMONG = 100
"""... on top of their number."""
HURTS = 3.0
"""Nats from which strikes that coincide with dips are more than chance: then moves without load excuse nothing."""
UNREADABLE_AFTER = 3
"""Trials that read no counter of a part until it counts as having none."""
IDLE_SHARE = 0.15
"""Steps per second between trials against those under load, of a part at fault: bursts outlast a trial's end."""


@dataclass(slots=True)
class _Tally:
    """One counter name over all parts."""

    trials: Floats
    strikes: Floats


@dataclass(frozen=True, slots=True)
class CounterEvidence:
    """What counters say about every part."""

    ratios: Floats
    """[parts, rates] log-likelihood ratio of a fault that steps at each of STEP_RATES, against `nothing wrong`."""
    strikes: Ints
    trials: Ints
    """Trials that loaded the part and read its counters."""
    idle_steps: Ints
    """Moves between trials."""
    readable: Bools
    """Whether trials that load the part read a counter of it, as far as has been tried."""
    together: Floats
    """Nats by which strikes and dips of the same trials speak for one cause."""

    def silenced(self) -> CounterEvidence:
        """As if no counter had been read: a counter says nothing, for or against."""
        return replace(
            self,
            ratios=np.zeros_like(self.ratios),
            strikes=np.zeros_like(self.strikes),
            together=np.zeros_like(self.together),
        )


@dataclass(slots=True)
class Counters:
    """The counters of an investigation."""

    parts: Parts
    tallies: dict[str, _Tally] = field(default_factory=dict)
    struck: dict[int, list[str]] = field(default_factory=dict)
    """Part -> events of the trials in which it was struck."""
    _last: dict[tuple[int, str], float] = field(default_factory=dict)
    """Where each counter stood when it was last read ..."""
    _last_time: dict[int, float] = field(default_factory=dict)
    """... and when that was."""
    _loaded_s: Floats = field(init=False)
    _idle_s: Floats = field(init=False)
    _idle_steps: Floats = field(init=False)
    _trials: Floats = field(init=False)
    _unread: Floats = field(init=False)
    """Trials that loaded the part and should have read its counters, and did not."""
    _strikes: Floats = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.parts.components)
        self._loaded_s, self._idle_s, self._idle_steps, self._trials, self._strikes, self._unread = np.zeros((6, count))

    def learn(self, event_id: str, ended: TrialEnded, expected: Ints) -> None:
        """Take in the counters read at the edges of one trial; `expected`: the parts whose counters it should read."""
        by_name: dict[str, list[tuple[int, CounterMove]]] = {}
        for move in ended.moves:
            part = self.parts.index.get(move.component)
            if part is not None:
                twin = int(self.parts.twin[part])
                told = (part,) if twin == part else (part, twin)
                by_name.setdefault(move.counter, []).extend((each, move) for each in told)
        read: set[int] = set()
        struck: set[int] = set()
        for name, moves in by_name.items():
            self._watch_idle(name, moves)
            struck.update(self._tally(name, moves))
            read.update(part for part, _ in moves)
        for part in sorted(read):
            self._trials[part] += 1
            self._loaded_s[part] += ended.seconds or ended.trial.seconds
            self._idle_s[part] += max(0.0, ended.started - self._last_time.get(part, ended.started))
            self._last_time[part] = ended.ended
        self._unread[[part for part in expected.tolist() if part not in read]] += 1
        for part in sorted(struck):
            self._strikes[part] += 1
            self.struck.setdefault(part, []).append(event_id)

    def evidence(self, together: Mapping[int, float] | None = None) -> CounterEvidence:
        """What all of them say so far; `together`: nats by which a part's strikes coincide with dips."""
        count = len(self.parts.components)
        ratios = np.zeros((count, len(STEP_RATES)))
        coinciding = np.zeros(count)
        for part, nats in (together or {}).items():
            coinciding[part] = nats
        if self.tallies:
            by_name = np.stack([_against_healthy(tally, self.parts.kind) for tally in self.tallies.values()])
            names = np.sum([tally.trials > 0 for tally in self.tallies.values()], axis=0)
            ratios = np.where(names[:, None] > 0, log_sum(by_name, axis=0) - np.log(np.maximum(names, 1))[:, None], 0.0)
            ratios += (coinciding - self._harmless(ratios, coinciding))[:, None]
        return CounterEvidence(
            ratios,
            self._strikes.astype(np.int64),
            self._trials.astype(np.int64),
            self._idle_steps.astype(np.int64),
            self.parts.counted & ((self._trials > 0) | (self._unread < UNREADABLE_AFTER)),
            coinciding,
        )

    def steps_without_load(self, part: int) -> bool:
        """Whether a part's counter moves between trials about as often as under them: then it convicts nobody."""
        if not self._idle_steps[part] or not self._idle_s[part]:
            return False
        idle = self._idle_steps[part] / self._idle_s[part]
        loaded = self._strikes[part] / max(self._loaded_s[part], 1e-9)
        return bool(idle > loaded / 3)

    def comparable(self, part: int) -> list[int]:
        """Equals elsewhere that were struck about as often, trial by trial."""
        rate = self._strikes / np.maximum(self._trials, 1)
        kinds = self.parts.kind
        alike = (kinds == kinds[part]) & (self._strikes >= 2) & (rate >= rate[part] / 3)
        alike[part] = False
        return [int(other) for other in np.flatnonzero(alike)]

    def _tally(self, name: str, moves: Sequence[tuple[int, CounterMove]]) -> Iterable[int]:
        """Count one counter of one trial; parts it strikes."""
        moved = [part for part, move in moves if move.step > 0]
        if len(moved) > max(1.0, EQUALS_THAT_MAY_MOVE * len(moves)):
            return []
        if name not in self.tallies:
            self.tallies[name] = _Tally(*np.zeros((2, len(self.parts.components))))
        tally = self.tallies[name]
        tally.trials[[part for part, _ in moves]] += 1
        tally.strikes[moved] += 1
        return moved

    def _watch_idle(self, name: str, moves: Sequence[tuple[int, CounterMove]]) -> None:
        """What moved since the counter was last read was not loaded by a trial."""
        for part, move in moves:
            self._idle_steps[part] += move.before > self._last.get((part, name), move.before)
            self._last[part, name] = move.after

    def _harmless(self, ratios: Floats, coinciding: Floats) -> Floats:
        """Log likelihood of `nothing wrong` once a harmless counter may be the reason for the strikes."""
        kinds = self.parts.kind
        says_fault = self._load_says_fault()
        says_fault = np.where(coinciding >= HURTS, np.maximum(says_fault, 0.0), says_fault)
        suspicious = np.where(self._strikes >= 2, 1 / (1 + np.exp(np.minimum(says_fault + coinciding, 50))), 0.0)
        excused = (self._strikes > 0) & (coinciding < HURTS)
        suspicious = np.maximum(suspicious, np.minimum(self._idle_steps, 1.0) * excused)
        of_kind = np.bincount(kinds, suspicious)[kinds] - suspicious
        equals = np.bincount(kinds, self._trials > 0)[kinds]
        share = np.minimum((HERRINGS_EXPECTED + of_kind) / (HERRINGS_AMONG + equals), 0.5)
        as_herring = log_sum(ratios, axis=1) - np.log(ratios.shape[1]) - says_fault
        combined: Floats = np.logaddexp(np.log1p(-share), np.log(share) + as_herring)
        return combined

    def _load_says_fault(self) -> Floats:
        """Nats by which the moves under load against those between trials speak for a fault, against a herring."""
        total = np.maximum(self._loaded_s + self._idle_s, 1e-9)
        herring = np.clip(self._loaded_s / total, 1e-6, 1 - 1e-6)
        fault = np.clip(self._loaded_s / np.maximum(self._loaded_s + IDLE_SHARE * self._idle_s, 1e-9), 1e-6, 1 - 1e-6)
        watched = (self._idle_s > 0) & (self._loaded_s > 0)
        said = self._strikes * np.log(fault / herring) + self._idle_steps * np.log((1 - fault) / (1 - herring))
        return np.where(watched, said, 0.0)


def _against_healthy(tally: _Tally, kinds: Ints) -> Floats:
    """[parts, rates]: strikes and misses against the healthy rate learnt from a part's equals, itself left out.

    -inf where the part has no such counter.
    """
    strikes, trials = HEALTHY_PRIOR
    others_struck = np.bincount(kinds, tally.strikes)[kinds] - tally.strikes
    others_tried = np.bincount(kinds, tally.trials)[kinds] - tally.trials
    healthy = ((strikes + others_struck) / (trials + others_tried))[:, None]
    rates = np.array(STEP_RATES)[None, :]
    struck = np.log((rates + (1 - rates) * healthy) / healthy)
    missed = np.log(1 - rates)
    said: Floats = tally.strikes[:, None] * struck + (tally.trials - tally.strikes)[:, None] * missed
    return np.where(tally.trials[:, None] > 0, said, -np.inf)
