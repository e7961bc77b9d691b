"""All trials of an investigation and what bandwidth says about every column, kept up to date as the noise is learnt."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np
import numpy.typing as npt

from .baselines import Baselines, learn_baselines
from .likelihood import BAD, SOFT, Tables, bins_of, strike, tables
from .noise import Calibration, burst_length, recalibrate
from .parts import Bools, Ints, Parts, ProbePath
from .settings import MODES, Settings

Floats = npt.NDArray[np.float64]

SMALL_DROP = 0.36
"""Drops of a transfer that may as well be somebody else's traffic, or hinge on the noise level."""
EPOCH = 20.0
"""Seconds somebody else's traffic may last: on shared paths trials so close are one strike against such drops."""
EPOCH_STRIKE = math.log(10)
"""The most such a strike can say: in one epoch of ten a shared path is slowed by others."""
OWN_LEVEL = 0.22
"""A trial's median may lie so far from the expected without being taken for the fault's doing, log bandwidth."""
STALE = 0.25
"""Noises by which a baseline may move before all trials are read again."""
FAILED = np.full(16, math.log(0.04))
"""x of a transfer that failed: windows as of a part that is all but gone."""


SHOWS_TOO = 2.0
"""Nats from which another part of the kind counts as showing the same."""
COMMON_PRIOR = 1e-4
"""Parts of a kind that are expected to show a small lasting drop without being at fault."""
LASTING = np.array([mode.duty >= 1.0 for mode in MODES])


@dataclass(frozen=True, slots=True)
class Observation:
    """One trial that says something."""

    id: str
    """Id of its event."""
    round: int
    path: ProbePath
    logs: Floats
    """Log GB/s of its windows; empty where it failed."""
    failed: bool
    """The transfer itself failed."""
    seconds: float
    """Probing seconds when its round began."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a trial's windows look like, x."""

    level: float
    """Their median."""
    lowest: float
    dip: float
    """The lowest against the trial's own level."""
    bad: int
    """Bad windows ..."""
    recoveries: int
    """... and how often a good one follows."""


class BandwidthEvidence:
    """Log-likelihood ratios against `no fault` of every column and mode.

    `ratios` is [columns, 2 M]: first M modes that lose the column's own share of the traffic, then the same M modes
    with all of the transfer waiting for the part (back-pressure through one slow lane).
    """

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts = parts
        self._settings = settings
        self.calibration = Calibration.start(settings)
        self.baselines = Baselines()
        self.observations: list[Observation] = []
        self.x: list[Floats] = []
        """log(measured / expected) of every observation's windows."""
        self._shapes: list[_Shape] = []
        self.said: list[Floats] = []
        """[S, M] of every observation: what it says to a column of each share."""
        self.ratios = np.zeros((parts.columns, 2 * len(MODES)))
        self._epochs = _Epochs(parts)
        self._by_column: dict[int, list[int]] = {}
        self._logs: dict[int, list[Floats]] = {}
        self._medians: dict[int, tuple[float, int]] = {}
        self._used: dict[int, float] = {}
        self._muted: dict[int, int] = {}

    @property
    def tables(self) -> Tables:
        """The tables in use."""
        return tables(self.calibration.noise, self.calibration.outliers, self._parts.shares)

    def add(self, fresh: Sequence[Observation], suspects: Ints) -> None:
        """Take trials in. `suspects`: columns believed in most; windows across them teach nothing about outliers."""
        for at, seen in enumerate(fresh, start=len(self.observations)):
            for column in seen.path.columns.tolist():
                self._by_column.setdefault(column, []).append(at)
        self.observations += fresh
        self.baselines = self._learn_baselines()
        moved = max((abs(self._expected(path) - used) for path, used in self._used.items()), default=0.0)
        if moved > STALE * self.calibration.noise:
            self._read_again()
        else:
            self._read(len(self.observations) - len(fresh))
        before = self.calibration
        self._calibrate(suspects)
        if (before.noise, before.outliers) != (self.calibration.noise, self.calibration.outliers):
            self._read_again()

    def mute(self, columns: Iterable[int]) -> None:
        """Stop listening to trials across convicted columns: to the bad ones so far, and to all from now on."""
        for column in columns:
            self._muted.setdefault(column, len(self.observations))
        self._sum_up()

    @property
    def spent(self) -> Bools:
        """[columns, 2 M]: what this epoch's trials have said already; more of them say nothing new."""
        return self._epochs.spent

    @property
    def muted(self) -> frozenset[int]:
        """Columns of convicted parts."""
        return frozenset(self._muted)

    def is_bad(self, at: int) -> bool:
        """Whether an observation has a window that noise does not explain, or is slow as a whole."""
        return self.dips(at) or self._shapes[at].level < SOFT * self.calibration.noise

    def dips(self, at: int) -> bool:
        """Whether an observation has a window that is bad against the trial's own level."""
        return self._shapes[at].dip < BAD * self.calibration.noise

    def is_flagged(self, at: int) -> bool:
        """Whether an observation may weigh against the parts it crosses at all."""
        return self._shapes[at].lowest < SOFT * self.calibration.noise

    def is_heard(self, at: int) -> bool:
        """Whether an observation counts: not one across a convicted part that it may be owed to."""
        return all(
            at < since and not self.is_flagged(at)
            for column, since in self._muted.items()
            if column in self.observations[at].path.columns
        )

    def crossing(self, column: int) -> list[int]:
        """All observations that cross a column, counted or not."""
        return self._by_column.get(column, [])

    def across(self, columns: Iterable[int]) -> list[int]:
        """Observations that cross any of these columns and count."""
        found = sorted({at for column in columns for at in self.crossing(column)})
        return [at for at in found if self.is_heard(at)] if self._muted else found

    def said_to(self, at: int, column: int) -> Floats:
        """[2 M] what one observation says to a column it crosses."""
        path = self.observations[at].path
        share = int(path.shares[np.flatnonzero(path.columns == column)[0]])
        gate = self.said[at][0] if share else np.zeros(len(MODES))
        return np.concatenate([self.said[at][share], gate])

    def _expected(self, path: int) -> float:
        return self.baselines.expected[path]

    def _learn_baselines(self) -> Baselines:
        fresh = self.observations[len(self.x) :]
        for seen in fresh:
            if not seen.failed:
                self._logs.setdefault(seen.path.index, []).append(seen.logs)
        for path in {seen.path.index for seen in fresh if not seen.failed}:
            self._medians[path] = (float(np.median(np.concatenate(self._logs[path]))), len(self._logs[path]))
        return learn_baselines(self._parts, self._medians, self.calibration.noise, self.calibration.burst)

    def _read(self, start: int) -> None:
        """Read the observations from `start` on against their baselines."""
        for seen in self.observations[start:]:
            if seen.failed:
                self.x.append(FAILED)
                continue
            expected = self._used.setdefault(seen.path.index, self._expected(seen.path.index))
            self.x.append(seen.logs - expected)
        self._hear(self.x[start:])
        for at in range(start, len(self.observations)):
            self._count(at)
        self.ratios = self._epochs.total()

    def _hear(self, trials: Sequence[Floats]) -> None:
        """Add what the windows of each trial say and look like.

        Lasting faults are judged against the expected bandwidth, those that come and go against the trial's own level,
        which somebody else's traffic may have lowered.
        """
        said: dict[int, Floats] = {}
        shapes: dict[int, _Shape] = {}
        ratios, burst = self.tables.ratios, self.calibration.burst
        for places, x in _by_length(trials):
            heard = np.empty((len(places), *ratios.shape[:2]))
            heard[:, :, LASTING] = np.moveaxis(strike(ratios[:, LASTING][:, :, bins_of(x)], burst), -1, 0)
            steady = _against_own_level(x)
            heard[:, :, ~LASTING] = np.moveaxis(strike(ratios[:, ~LASTING][:, :, bins_of(steady)], burst), -1, 0)
            said.update(zip(places, heard, strict=True))
            bad = x < BAD * self.calibration.noise
            looks = (
                np.median(x, axis=1), x.min(axis=1), steady.min(axis=1),
                bad.sum(axis=1), (bad[:, :-1] & ~bad[:, 1:]).sum(axis=1),
            )  # fmt: skip
            rows = zip(*(look.tolist() for look in looks), strict=True)
            shapes.update(zip(places, starmap(_Shape, rows), strict=True))
        self.said += [said[place] for place in range(len(trials))]
        self._shapes += [shapes[place] for place in range(len(trials))]

    def _read_again(self) -> None:
        self.x, self.said, self._shapes, self._used = [], [], [], {}
        self._epochs = _Epochs(self._parts)
        self._read(0)

    def _sum_up(self) -> None:
        self._epochs = _Epochs(self._parts)
        for at in range(len(self.observations)):
            self._count(at)
        self.ratios = self._epochs.total()

    def _count(self, at: int) -> None:
        if not self._muted or self.is_heard(at):
            self._epochs.add(self.observations[at], self.said[at])

    def _calibrate(self, suspects: Ints) -> None:
        shapes = [shape for seen, shape in zip(self.observations, self._shapes, strict=True) if not seen.failed]
        windows = [x for seen, x in zip(self.observations, self.x, strict=True) if not seen.failed]
        count = sum(map(len, windows))
        longest = max(map(len, windows), default=1)
        burst = burst_length(sum(shape.bad for shape in shapes), sum(shape.recoveries for shape in shapes), longest)
        if self._muted or count < self.calibration.next_at:
            self.calibration = _with_burst(self.calibration, burst)
            return
        innocent = [
            x
            for seen, x in zip(self.observations, self.x, strict=True)
            if not seen.failed and not np.isin(seen.path.columns, suspects).any()
        ]
        everything = np.concatenate(windows)
        self.calibration = recalibrate(
            self.calibration, self._settings, everything, np.concatenate(innocent) if innocent else everything, burst
        )


class _Epochs:
    """Sums what trials say to columns and modes.

    On paths that others use too, all trials of an epoch are at most one strike against small lasting drops: what slows
    them may be one burst of somebody else's traffic. What several like parts show at once is hardly any part's fault.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        shape = (parts.columns, 2 * len(MODES))
        self._sum, self._open, self._worst = np.zeros((3, *shape))
        self._epoch = 0
        self._heard = np.zeros(parts.columns, dtype=bool)
        drops = np.array(parts.shares)[:, None] * np.array([mode.high for mode in MODES])
        self._small = LASTING & (drops < SMALL_DROP)
        own = self._small[parts.column_share]
        self._small_of = np.concatenate([own, np.broadcast_to(self._small[0], own.shape)], axis=1)
        self._kinds = np.zeros(parts.columns, dtype=np.int64)
        self._kinds[parts.column[::-1]] = parts.kind[::-1]

    def add(self, seen: Observation, said: Floats) -> None:
        """Take in what one trial says, [S, M]."""
        epoch = int(seen.seconds // EPOCH)
        if epoch != self._epoch:
            self._close()
            self._epoch = epoch
        path, modes = seen.path, len(MODES)
        gated = path.columns[path.shares > 0]
        if not path.is_shared:
            self._sum[path.columns, :modes] += said[path.shares]
            self._sum[gated, modes:] += said[0]
            return
        self._heard[path.columns] = True
        own = said[path.shares]
        small = self._small[path.shares]
        self._sum[path.columns, :modes] += np.where(small, 0.0, own)
        self._open[path.columns, :modes] += np.where(small, own, 0.0)
        worst = np.where(small, np.minimum(own, EPOCH_STRIKE), 0.0)
        self._worst[path.columns, :modes] = np.maximum(self._worst[path.columns, :modes], worst)
        self._sum[gated, modes:] += said[0]

    @property
    def spent(self) -> Bools:
        """[columns, 2 M] small lasting drops of columns that were heard in this epoch."""
        return self._small_of & self._heard[:, None]

    def total(self) -> Floats:
        """[columns, 2 M]"""
        total = self._sum + np.minimum(self._open, self._worst)
        return np.where(self._small_of, np.minimum(total, self._cap(total)), total)

    def _close(self) -> None:
        self._sum += np.minimum(self._open, self._worst)
        self._open[:] = 0.0
        self._worst[:] = 0.0
        self._heard[:] = False

    def _cap(self, total: Floats) -> Floats:
        """The most that may be said for a small lasting drop of a column when so many of its kind show one too."""
        counts = np.bincount(self._kinds)
        cap = np.empty_like(total)
        for kind, count in enumerate(counts):
            mine = self._kinds == kind
            showing = total[mine] > SHOWS_TOO
            others = showing.sum(axis=0, keepdims=True) - showing
            cap[mine] = np.log((count + 1) / (COMMON_PRIOR + others))
        return cap


def _against_own_level(x: Floats) -> Floats:
    """Windows [..., K] against the median of their trial, where that is near the expected."""
    level = np.median(x, axis=-1, keepdims=True)
    return x - np.where(np.abs(level) < OWN_LEVEL, level, 0.0)


def _by_length(trials: Sequence[Floats]) -> list[tuple[list[int], Floats]]:
    """Trials of equal numbers of windows stacked: their places and [T, K]."""
    places: dict[int, list[int]] = {}
    for place, x in enumerate(trials):
        places.setdefault(len(x), []).append(place)
    return [(found, np.stack([trials[place] for place in found])) for found in places.values()]


def _with_burst(calibration: Calibration, burst: float) -> Calibration:
    return Calibration(calibration.noise, calibration.outliers, burst, calibration.windows, calibration.next_at)
