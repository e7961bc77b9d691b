"""All trials of an investigation and what bandwidth says about every column, kept up to date as the noise is learnt."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .baselines import Baselines, learn_baselines
from .epochs import EPOCH, LASTING, Epochs, flat
from .likelihood import BAD, NAT, SOFT, Tables, bins_of, micro, strike, tables
from .noise import Calibration, Seen, recalibrate, run_of
from .parts import Bools, Ints, Parts, ProbePath
from .settings import MODES, Settings
from .shapes import Shapes, against_own_level, shapes_of
from .together import Together, together

Floats = npt.NDArray[np.float64]

OWN_LEVEL = 0.22
"""A trial's median may lie so far from the expected without being taken for the fault's doing, log bandwidth."""
SLOWED = -0.06
"""Log bandwidth of a trial's median from which others may have slowed it."""
STALE = 0.25
"""Noises by which a baseline may move before all trials are read again."""
FAILED: Ints = np.full(16, round(math.log(0.04) * NAT))
"""x of a transfer that failed: windows as of a part that is all but gone."""
LASTING_TWICE: Bools = np.tile(LASTING, 2)
AT_ONCE = 4096
"""Trials heard at once: what their windows say takes 2 kB a trial and share code."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One trial that says something."""

    id: str
    """Id of its event."""
    round: int
    path: ProbePath
    logs: Ints
    """Log GB/s of its windows, micro-units; empty where it failed."""
    failed: bool
    """The transfer itself failed."""
    seconds: float
    """Probing seconds when its round began."""


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
        self.x: list[Ints] = []
        """log(measured / expected) of every observation's windows, micro-units."""
        self.shapes = Shapes.none()
        self._bins: list[Ints] = []
        """Bins of every observation's windows against its own level."""
        self._common: dict[tuple[int, int], Ints] = {}
        """Observation and column -> [2 M] its share of what it said together with others of its round."""
        self.said: list[Ints] = []
        """[S, M] of every observation: what it says to a column of each share, micro-nats."""
        self.ratios = np.zeros((parts.columns, 2 * len(MODES)))
        self._epochs = Epochs(parts)
        self.harmless = np.full_like(self.ratios, -np.inf)
        """[columns, 2 M] log prior of being slow like that without being at fault."""
        self._by_column: dict[int, list[int]] = {}
        self._logs: dict[int, list[Ints]] = {}
        self._medians: dict[int, tuple[float, int]] = {}
        self._used: dict[int, int] = {}
        self._muted: dict[int, int] = {}
        self._unheard: set[int] = set()

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
        self.baselines = self._learn_baselines(suspects)
        moved = max((abs(self._expected(path) - used) for path, used in self._used.items()), default=0)
        if moved > STALE * self.calibration.noise * NAT:
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
        self._epochs = Epochs(self._parts)
        self._count(0)

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
        return self.dips(at) or bool(self.shapes.level[at] < SOFT * self.calibration.noise)

    def dips(self, at: int) -> bool:
        """Whether an observation has a window that is bad against the trial's own level."""
        return bool(self.shapes.dip[at] < BAD * self.calibration.noise)

    def is_flagged(self, at: int) -> bool:
        """Whether an observation may weigh against the parts it crosses at all."""
        return bool(self.shapes.lowest[at] < SOFT * self.calibration.noise)

    def is_heard(self, at: int) -> bool:
        """Whether an observation counts: not one across a convicted part that it may be owed to."""
        return at not in self._unheard

    def crossing(self, column: int) -> list[int]:
        """All observations that cross a column, counted or not."""
        return self._by_column.get(column, [])

    def across(self, columns: Iterable[int]) -> list[int]:
        """Observations that cross any of these columns and count."""
        found = sorted({at for column in columns for at in self.crossing(column)})
        return [at for at in found if self.is_heard(at)] if self._muted else found

    def ratio(self, at: int) -> Floats:
        """log(measured / expected) of an observation's windows."""
        ratio: Floats = self.x[at] / NAT
        return ratio

    def said_to(self, at: int, column: int) -> Floats:
        """[2 M] nats that one observation says to a column it crosses."""
        path = self.observations[at].path
        share = int(path.shares[np.flatnonzero(path.columns == column)[0]])
        gate = self.said[at][0] if share else np.zeros(len(MODES), dtype=np.int64)
        said: Floats = np.concatenate([self.said[at][share], gate]) / NAT
        common = self._common.get((at, column))
        return said if common is None else np.where(LASTING_TWICE, said, common)

    def _expected(self, path: int) -> int:
        return self.baselines.expected[path]

    def _learn_baselines(self, suspects: Ints) -> Baselines:
        fresh = self.observations[len(self.x) :]
        for seen in fresh:
            if not seen.failed:
                self._logs.setdefault(seen.path.index, []).append(seen.logs)
        for path in {seen.path.index for seen in fresh if not seen.failed}:
            self._medians[path] = (float(np.median(np.concatenate(self._logs[path]))) / NAT, len(self._logs[path]))
        calibration = self.calibration
        suspected = {self.observations[at].path.index for column in suspects.tolist() for at in self.crossing(column)}
        return learn_baselines(self._parts, self._medians, calibration.noise, calibration.burst, suspected)

    def _read(self, start: int) -> None:
        """Read the observations from `start` on against their baselines."""
        for seen in self.observations[start:]:
            if seen.failed:
                self.x.append(FAILED)
                continue
            expected = self._used.setdefault(seen.path.index, self._expected(seen.path.index))
            self.x.append(seen.logs - expected)
        for at in range(start, len(self.x), AT_ONCE):
            self._hear(self.x[at : at + AT_ONCE])
        self._count(start)

    def _hear(self, trials: Sequence[Ints]) -> None:
        """Add what the windows of each trial say and look like.

        Lasting faults are judged against the expected bandwidth, those that come and go against the trial's own level,
        which somebody else's traffic may have lowered.
        """
        ratios, run, noise = self.tables.ratios, self.calibration.run, self.calibration.noise
        said = np.empty((len(trials), *ratios.shape[:2]), dtype=np.int64)
        looks = Shapes(*np.empty((6, len(trials))))
        bins: list[Ints] = [np.array([], dtype=np.int64)] * len(trials)
        for places, x in _by_length(trials):
            steady = against_own_level(x / NAT, OWN_LEVEL)
            moving = bins_of(micro(steady))
            for place, row in zip(places, moving, strict=True):
                bins[place] = row
            for modes, windows in ((LASTING, bins_of(x)), (~LASTING, moving)):
                heard = strike(ratios[:, modes][:, :, windows], run)
                said[np.ix_(*map(np.array, (places, range(len(ratios)), np.flatnonzero(modes))))] = np.moveaxis(
                    heard, -1, 0
                )
            looks.put(places, shapes_of(x / NAT, steady, BAD * noise, -5.0 * noise))
        self.said += list(said)
        self._bins += bins
        self.shapes.extend(looks)

    def _read_again(self) -> None:
        self.x, self.said, self._bins, self.shapes, self._used = [], [], [], Shapes.none(), {}
        self._epochs = Epochs(self._parts)
        self._read(0)

    def _count(self, start: int) -> None:
        """Add up what the observations from `start` on say, round by round."""
        self._unheard = self._not_heard()
        heard = [at for at in range(start, len(self.observations)) if at not in self._unheard]
        for seconds, trials in _by_moment(heard, self.observations):
            seen = [self.observations[at].path for at in trials]
            said = np.stack([self.said[at] for at in trials])
            rows = flat([p.columns for p in seen], [p.shares for p in seen], [p.is_shared for p in seen], said)
            common, several = together(rows, [self._bins[at] for at in trials], self.tables, self.calibration.run)
            self._epochs.add(rows, seconds, self.calibration.crowded, np.where(several[:, None], LASTING, 1))
            self._epochs.add_together(common.columns, common.said)
            self._remember(trials, common)
        total = self._epochs.total()
        self.ratios = total / NAT
        self.harmless = self._epochs.harmless(total)

    def _remember(self, trials: Sequence[int], common: Together) -> None:
        """Deal what trials said together to a column out to them evenly."""
        shares = common.said / (common.counts[:, None] * NAT)
        place = {column: at for at, column in enumerate(common.columns.tolist())}
        for at in trials:
            for column in self.observations[at].path.columns.tolist():
                if column in place:
                    self._common[at, column] = shares[place[column]]

    def _not_heard(self) -> set[int]:
        return {
            at
            for column, since in self._muted.items()
            for at in self.crossing(column)
            if at >= since or self.is_flagged(at)
        }

    def _calibrate(self, suspects: Ints) -> None:
        counts = np.array([0 if seen.failed else len(x) for seen, x in zip(self.observations, self.x, strict=True)])
        worked = counts > 0
        worked[[at for column in self._muted for at in self.crossing(column)]] = False
        count = int(counts[worked].sum())
        bad, recoveries = self.shapes.bad[worked].sum(), self.shapes.recoveries[worked].sum()
        run = run_of(int(bad), int(recoveries), max(int(counts.max(initial=0)), 1))
        if count < self.calibration.next_at:
            self.calibration = replace(self.calibration, run=run)
            return
        across = {at for column in suspects.tolist() for at in self.crossing(column)}
        innocent = worked.copy()
        innocent[sorted(across)] = False
        if not innocent.any():
            innocent = worked
        shared, slowed = self._crowding(innocent)
        worked_x = [x for x, good in zip(self.x, worked.tolist(), strict=True) if good]
        seen = Seen(
            np.concatenate([x - np.median(x) for x in worked_x]) / NAT,
            self.shapes.level[innocent],
            int(counts[innocent].sum()),
            int(self.shapes.low[innocent].sum()),
            run,
            shared,
            slowed,
        )
        self.calibration = recalibrate(self.calibration, self._settings, seen)

    def _crowding(self, innocent: Bools) -> tuple[int, int]:
        """How many moments of shared paths there were, each path once an epoch, and in how many it was slow."""
        slow: dict[tuple[int, int], bool] = {}
        for at in np.flatnonzero(innocent).tolist():
            seen = self.observations[at]
            if seen.path.is_shared:
                key = (seen.path.index, int(seen.seconds // EPOCH))
                slow[key] = slow.get(key, False) or bool(self.shapes.level[at] < SLOWED)
        return len(slow), sum(slow.values())


def _by_length(trials: Sequence[Ints]) -> list[tuple[list[int], Ints]]:
    """Trials of equal numbers of windows stacked: their places and [T, K]."""
    places: dict[int, list[int]] = {}
    for place, x in enumerate(trials):
        places.setdefault(len(x), []).append(place)
    return [(found, np.stack([trials[place] for place in found])) for found in places.values()]


def _by_moment(heard: Sequence[int], observations: Sequence[Observation]) -> list[tuple[float, list[int]]]:
    """Observations that began at the same moment together, in order."""
    found: list[tuple[float, list[int]]] = []
    for at in heard:
        seconds = observations[at].seconds
        if not found or found[-1][0] != seconds:
            found.append((seconds, []))
        found[-1][1].append(at)
    return found
