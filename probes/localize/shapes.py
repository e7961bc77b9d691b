"""What the windows of every trial look like, as arrays that grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class Shapes:
    """One value a trial, x = log(measured / expected)."""

    level: Floats
    """Median of its windows."""
    lowest: Floats
    dip: Floats
    """The lowest against the trial's own level."""
    bad: Floats
    """Bad windows ..."""
    recoveries: Floats
    """... and how often a good one follows."""
    low: Floats
    """Windows below five standard deviations."""

    @classmethod
    def none(cls) -> Shapes:
        """Of no trial yet."""
        return cls(*(np.array([]) for _ in fields(cls)))

    def extend(self, more: Shapes) -> None:
        """Append trials."""
        for each in fields(self):
            setattr(self, each.name, np.concatenate([getattr(self, each.name), getattr(more, each.name)]))

    def put(self, places: Sequence[int], some: Shapes) -> None:
        """Set the values of trials at these places."""
        for each in fields(self):
            getattr(self, each.name)[places] = getattr(some, each.name)


def against_own_level(x: Floats, own: float) -> Floats:
    """Windows [..., K] against the median of their trial, where that is within `own` of the expected."""
    level = np.median(x, axis=-1, keepdims=True)
    steady: Floats = x - np.where(np.abs(level) < own, level, 0.0)
    return steady


def shapes_of(x: Floats, steady: Floats, bad_below: float, low_below: float) -> Shapes:
    """Of trials [T, K]; `steady`: the windows against their own level."""
    bad = x < bad_below
    return Shapes(
        np.median(x, axis=1),
        x.min(axis=1),
        steady.min(axis=1),
        bad.sum(axis=1).astype(np.float64),
        (bad[:, :-1] & ~bad[:, 1:]).sum(axis=1).astype(np.float64),
        (x < low_below).sum(axis=1).astype(np.float64),
    )
