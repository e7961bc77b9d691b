"""Trials that run at once across one part: a fault that comes and goes is on for all of them in the same windows.

Taken each by itself, several clean trials would acquit a part that was simply not at fault just then, several slow ones
would convict it as if each had caught it anew, and one slow trial beside clean ones would still speak against it.
Window by window: log(d * product of (P_on / Healthy) + 1 - d), d the duty; then one strike for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .epochs import LASTING, Heard
from .likelihood import NAT, Tables, strike
from .parts import Bools, Floats, Ints
from .settings import MODES

COMING_AND_GOING: Ints = np.flatnonzero(~LASTING)
DUTY: Floats = np.array([mode.duty for mode in MODES])[COMING_AND_GOING]
MOST = 50.0
"""Nats beyond which no window speaks for a fault."""


@dataclass(frozen=True, slots=True)
class Together:
    """What the trials of one round say together to the columns that several of them cross."""

    columns: Ints
    counts: Ints
    """Trials across each."""
    said: Ints
    """[columns, 2 M] micro-nats; 0 for lasting faults, of which each trial tells by itself."""


def together(heard: Heard, bins: Sequence[Ints], table: Tables, run: tuple[int, int]) -> tuple[Together, Bools]:
    """Columns that several trials cross, and which rows of `heard` are spoken for by them.

    `bins`: of every trial's windows against its own level. Trials that lack windows are left to themselves."""
    length = max(map(len, bins), default=0)
    whole = np.array([len(row) == length for row in bins], dtype=bool)[heard.trial]
    counts = np.bincount(heard.column[whole])
    several = whole & (np.append(counts, 0)[np.minimum(heard.column, len(counts))] > 1)
    rows = np.flatnonzero(several)
    columns, place = np.unique(heard.column[rows], return_inverse=True)
    said = np.zeros((len(columns), 2 * len(MODES)), dtype=np.int64)
    if len(rows):
        windows = np.stack([row if len(row) == length else np.zeros(length, np.int64) for row in bins])
        seen = windows[heard.trial[rows]]
        share = heard.share[rows]
        said[:, COMING_AND_GOING] = _joint(place, len(columns), share, seen, table, run)
        gated = share > 0
        waits = _joint(place[gated], len(columns), np.zeros_like(share[gated]), seen[gated], table, run)
        said[:, len(MODES) + COMING_AND_GOING] = waits
    return Together(columns, np.bincount(place, minlength=len(columns)), said), several


def _joint(place: Ints, columns: int, share: Ints, seen: Ints, table: Tables, run: tuple[int, int]) -> Ints:
    """[columns, modes] of rows that belong to columns."""
    modes, length = len(COMING_AND_GOING), seen.shape[1] if seen.ndim == 2 else 0
    summed = np.zeros((columns, modes, length), dtype=np.int64)
    order = np.argsort(place, kind="stable")
    edges = np.flatnonzero(np.diff(place[order], prepend=-1))
    if len(edges):
        for at, mode in enumerate(COMING_AND_GOING.tolist()):
            on = table.on[share[order, None], mode, seen[order]]
            summed[place[order][edges], at] = np.add.reduceat(on, edges, axis=0)
    nats = np.minimum(summed / NAT, MOST)
    mixed = np.logaddexp(np.log(DUTY)[:, None] + nats, np.log1p(-DUTY)[:, None])
    present = np.bincount(place, minlength=columns) > 0
    spoken = strike(np.round(mixed * NAT).astype(np.int64), run)
    return np.where(present[:, None], spoken, 0)
