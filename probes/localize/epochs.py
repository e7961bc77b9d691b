"""Sums of what trials say to columns and modes, in integer micro-nats.

On paths that others use too, all trials of an epoch are at most one strike against small lasting drops: what slows them
may be one burst of somebody else's traffic. What several like parts show at once is hardly any part's fault.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .likelihood import NAT
from .parts import Bools, Floats, Ints, Parts
from .settings import MODES

SMALL_DROP = 0.36
"""Drops of a transfer that may as well be somebody else's traffic, or hinge on the noise level."""
EPOCH = 20.0
"""Seconds somebody else's traffic may last: on shared paths trials so close are one strike for such a drop."""
SHOWS_TOO = 2 * NAT
"""From which another part of the kind counts as showing the same."""
COMMON_PRIOR = 2e-6
"""Parts of a kind that are expected to show a small lasting drop without being at fault."""
LASTING: Bools = np.array([mode.duty >= 1.0 for mode in MODES])


@dataclass(frozen=True, slots=True)
class Heard:
    """Trials of one moment, flat: one row a crossing."""

    column: Ints
    share: Ints
    """Share code of the column in its trial's path."""
    trial: Ints
    """Row of `said`."""
    is_shared: Bools
    """Of each crossing's path."""
    said: Ints
    """[trials, S, M]"""


class Epochs:
    """[columns, 2 M] sums; first the modes that lose a column's own share, then those in which the transfer waits."""

    def __init__(self, parts: Parts) -> None:
        self._columns = parts.columns
        self._sum = np.zeros((parts.columns, 2 * len(MODES)), dtype=np.int64)
        self._open = np.zeros_like(self._sum)
        self._worst = np.zeros_like(self._sum)
        self._epoch = 0
        self._heard = np.zeros(parts.columns, dtype=bool)
        drops = np.array(parts.shares)[:, None] * np.array([mode.high for mode in MODES])
        self._small = LASTING & (drops < SMALL_DROP)
        own = self._small[parts.column_share]
        self._small_of = np.concatenate([own, np.broadcast_to(self._small[0], own.shape)], axis=1)
        self._groups = parts.column_group
        self._kinds = np.zeros(int(self._groups.max(initial=-1)) + 1, dtype=np.int64)
        self._kinds[self._groups[parts.column[::-1]]] = parts.kind[::-1]

    def add(self, heard: Heard, seconds: float, crowded: float, alone: Ints) -> None:
        """Take in what trials of one round say, that began at so many probing seconds.

        `alone` [rows, M]: 1 where the trial speaks for itself, 0 where it is spoken for together with others.
        `crowded`: in which share of epochs others slow a path that they use too."""
        most = round(-math.log(crowded) * NAT)
        epoch = int(seconds // EPOCH)
        if epoch != self._epoch:
            self._close()
            self._epoch = epoch
        modes = len(MODES)
        own = heard.said[heard.trial, heard.share] * alone
        small = self._small[heard.share] & heard.is_shared[:, None]
        self._sum[:, :modes] += self._added(heard.column, np.where(small, 0, own))
        gated = heard.share > 0
        self._sum[:, modes:] += self._added(heard.column[gated], (heard.said[heard.trial, 0] * alone)[gated])
        if small.any():
            self._open[:, :modes] += self._added(heard.column, np.where(small, own, 0))
            worst = np.where(small, np.minimum(own, most), 0)
            flat = (heard.column[:, None] * (2 * modes) + np.arange(modes)).ravel()
            np.maximum.at(self._worst.reshape(-1), flat, worst.ravel())
        self._heard[heard.column[heard.is_shared]] = True

    def add_together(self, columns: Ints, said: Ints) -> None:
        """Take in what several trials of a round say together, [columns, 2 M]."""
        self._sum[columns] += said

    @property
    def spent(self) -> Bools:
        """[columns, 2 M] small lasting drops of columns that were heard in this epoch."""
        return self._small_of & self._heard[:, None]

    def total(self) -> Ints:
        """[columns, 2 M]"""
        return self._sum + self._this_epoch()

    def harmless(self, total: Ints) -> Floats:
        """[columns, 2 M] log prior of being slow like that without being at fault; -inf for what never is.

        The more of a kind show the same, the likelier it is that it is none of their faults; parts that bandwidth can't
        tell apart show the same whoever is at fault, and count once."""
        counts = np.bincount(self._kinds)
        showing = np.zeros((len(self._kinds), total.shape[1]), dtype=bool)
        rows, modes = np.nonzero(total > SHOWS_TOO)
        showing[self._groups[rows], modes] = True
        by_kind = np.zeros((len(counts), total.shape[1]), dtype=np.int64)
        rows, modes = np.nonzero(showing)
        np.add.at(by_kind, (self._kinds[rows], modes), 1)
        others = by_kind[self._kinds] - showing
        prior = np.log((COMMON_PRIOR + others) / (counts[self._kinds, None] + 1))[self._groups]
        return np.where(self._small_of, prior, -np.inf)

    def _close(self) -> None:
        self._sum += self._this_epoch()
        self._open[:] = 0
        self._worst[:] = 0
        self._heard[:] = False

    def _this_epoch(self) -> Ints:
        """What the open epoch says: against a drop all its trials, as nobody's traffic makes a path faster; for it one
        strike."""
        return np.minimum(self._open, np.maximum(self._worst, 0))

    def _added(self, columns: Ints, values: Ints) -> Ints:
        """[columns, M] sums of rows; exact, as sums of integers below 2^53 are in floating point."""
        if not len(columns):
            return np.zeros((self._columns, values.shape[1]), dtype=np.int64)
        summed = [np.bincount(columns, values[:, mode], self._columns) for mode in range(values.shape[1])]
        return np.stack(summed, axis=1).astype(np.int64)


def flat(columns: Sequence[Ints], shares: Sequence[Ints], shared: Sequence[bool], said: Ints) -> Heard:
    """Trials of several paths as one `Heard`."""
    lengths = [len(column) for column in columns]
    none = np.array([], dtype=np.int64)
    return Heard(
        np.concatenate(columns) if columns else none,
        np.concatenate(shares) if shares else none,
        np.repeat(np.arange(len(columns)), lengths),
        np.repeat(np.array(shared, dtype=bool), lengths),
        said,
    )
