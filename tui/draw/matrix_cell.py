"""One pair of a matrix: what its trials told, against what is expected."""

from __future__ import annotations

from dataclasses import dataclass

LOW_BELOW = 0.85
"""A worst window below this share of what is expected, and of the middle pair, is pointed out."""


@dataclass(frozen=True)
class Cell:
    """One pair."""

    share: float
    """Worst window as a share of expected; NaN where that can't be said."""
    worst: float
    """In the probe's unit."""
    trials: int
    is_silent: bool = False
    """All its trials measured nothing."""
    is_wrong: bool = False
    """A trial found wrong data."""
    is_low: bool = False
    """Pointed out: low against what is expected and against its equals."""
