"""Ended trials as lines: what was copied where, how fast, and which counters moved while it ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from ...incident.events import TrialEnded
from ...incident.snapshot import Snapshot
from ...signals.counters import plain_name
from ..theme import Mark, Role
from .canvas import Canvas, clip
from .words import label

KEPT = 60
"""Newest trials a screen could show."""
LOW_BELOW = 0.85
"""A window below this share of the trial's median is pointed out; what it means is for the belief to say."""


@dataclass(frozen=True)
class TrialLine:
    """One ended trial."""

    id: str
    where: str
    gbps: float
    """Median of its windows; NaN where nothing was measured."""
    low: int
    """Windows far below the median."""
    windows: int
    moved: str
    """Counters that moved while it ran."""
    error: str


def trial_lines(snapshot: Snapshot) -> tuple[TrialLine, ...]:
    """The newest trials, newest first."""
    return tuple(_line(trial) for _, trial in islice(reversed(snapshot.trials), KEPT))


def _line(ended: TrialEnded) -> TrialLine:
    trial = ended.trial
    middle = median(ended.windows) if ended.windows else float("nan")
    moved = [
        f"{label(move.component)} {plain_name(move.counter)} +{move.step:.0f}" for move in ended.moves if move.step > 0
    ]
    targets = "→".join(label(part) for part in trial.targets)
    return TrialLine(
        trial.id,
        f"{trial.node} {trial.probe} {targets}",
        middle,
        sum(window < LOW_BELOW * middle for window in ended.windows),
        len(ended.windows),
        ", ".join(moved),
        ended.error,
    )


def draw_trials(canvas: Canvas, y: int, end: int, trials: Sequence[TrialLine]) -> None:
    """As many as fit between rows y and `end`, those in which something happened marked."""
    if not trials or end - y < 2:
        return
    canvas.rule(y, "Trials", "newest first")
    for trial in trials[: end - y - 1]:
        y += 1
        _draw_trial(canvas, y, trial)


def _draw_trial(canvas: Canvas, y: int, trial: TrialLine) -> None:
    ink = canvas.ink
    mark = Mark.UNKNOWN if trial.error else Mark.WARN if trial.low or trial.moved else Mark.OK
    canvas.put(1, y, (mark.glyph, ink.mark(mark)))
    canvas.put(3, y, (f"{trial.id:<8}", ink(Role.DIM)), clip(trial.where, 30))
    x = 42
    if trial.error:
        canvas.put(x, y, (clip(trial.error, canvas.width - x - 1), ink.mark(mark)))
        return
    x = canvas.put(x, y, f"{trial.gbps:6.1f} GB/s", (f"  {trial.windows} windows", ink(Role.DIM)))
    low = f"  {trial.low} low" if trial.low else ""
    x = canvas.put(x, y, (low, ink.mark(Mark.WARN)))
    canvas.put(x + 2, y, (clip(trial.moved, canvas.width - x - 3), ink.mark(Mark.WARN)))
