"""What the outcomes of a round would mean, in words, before it runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .information import Information
from .parts import Ints, Parts
from .path_table import ProbePath
from .posterior import Belief
from .words import small

SUSPECTED_ENOUGH = 0.05
"""Posterior from which a suspect is spoken of."""
BAD, CLEAN = 0, 2
"""Outcomes of a trial, as `Information` has them."""


def meaning_of(parts: Parts, paths: Sequence[ProbePath], belief: Belief, told: Information) -> tuple[str, ...]:
    """One sentence for each way the round can go; for a suspect, by its most telling trial."""
    group = belief.top()
    if belief.group[group] < SUSPECTED_ENOUGH:
        return (
            f"All trials clean: no fault becomes more likely than its present {small(belief.no_fault)}.",
            "Any trial slow: the parts it crosses become suspects, and the next round crosses them apart.",
        )
    columns = np.flatnonzero(parts.column_group == group)
    part = parts.components[parts.members(group)[belief.part[parts.members(group)].argmax()]]
    across = [path for path in paths if np.isin(path.columns, columns).any()]
    if not across:
        return (f"No trial crosses {part}: what else could be at fault is to be excluded first.",)
    slow, clean = _after(across[0].columns, columns, told)
    return (
        f"A trial across {part} slow: it is at fault with {small(slow)} (now {small(float(belief.group[group]))}).",
        f"A trial across {part} clean: {small(clean)} is left.",
        "Others slow and not this one: the suspicion moves to what they share.",
    )


def _after(crossed: Ints, suspect: Ints, told: Information) -> tuple[float, float]:
    """Probability of the suspect after one slow, and after one clean trial of a path."""
    mine = told.mixed[crossed[np.isin(crossed, suspect)]].sum(axis=0)
    clean = max(0.0, 1.0 - float(told.at_fault[crossed].sum()))
    every = told.mixed[crossed].sum(axis=0) + clean * told.healthy
    elsewhere = max(0.0, float(told.at_fault[suspect].sum()) - float(mine.sum()))
    after = (mine + elsewhere * told.healthy) / np.maximum(every, 1e-12)
    return float(min(1.0, after[BAD])), float(min(1.0, after[CLEAN]))
