"""Ended trials as lines: what was copied where, how fast, and which counters moved while it ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median

from ...incident.events import TrialEnded
from ...incident.snapshot import Snapshot
from ...signals.counters import plain_name
from ..theme import Mark, Role
from .canvas import Canvas, clip
from .matrix_view import unit_of
from .words import label, place, plural, spoken

KEPT = 200
"""Newest trials a screen could show."""
LOW_BELOW = 0.85
"""A window below this share of the trial's median is pointed out; what it means is for the belief to say."""


@dataclass(frozen=True)
class TrialLine:
    """One ended trial, or several that were refused for the same reason."""

    id: str
    where: str
    gbps: float
    """Median of its windows, in the probe's unit; NaN where nothing was measured."""
    low: int
    """Windows far below the median."""
    windows: int
    moved: str
    """Counters that moved while it ran."""
    error: str
    check: str = ""
    """`good` or `wrong` of a probe that checks something."""
    detail: str = ""
    unit: str = "GB/s"
    count: int = 1

    @property
    def mark(self) -> Mark:
        """Whether something happened in it."""
        if self.error:
            return Mark.UNKNOWN
        return Mark.WARN if self.low or self.moved or self.check == "wrong" else Mark.OK


def trial_lines(snapshot: Snapshot) -> tuple[TrialLine, ...]:
    """Those in which something happened first, the newest first among equals."""
    newest = (_line(trial) for _, trial in islice(reversed(snapshot.trials), KEPT))
    return tuple(sorted(_folded(newest), key=lambda line: (not line.moved, -line.mark)))


def why_unmeasured(snapshot: Snapshot) -> str:
    """The reason, where no trial of the newest round measured anything."""
    if not snapshot.trials:
        return ""
    last = snapshot.trials[-1][1]
    of_round = [trial for _, trial in snapshot.trials if trial.round == last.round]
    return spoken(last.error) if all(trial.error for trial in of_round) else ""


def _folded(lines: Iterable[TrialLine]) -> list[TrialLine]:
    """Trials that failed for the same reason as one line, where the newest of them stands."""
    found: dict[str, TrialLine] = {}
    for line in lines:
        key = line.error or line.id
        found[key] = replace(found[key], count=found[key].count + 1) if key in found else line
    return list(found.values())


def _line(ended: TrialEnded) -> TrialLine:
    trial = ended.trial
    middle = median(ended.windows) if ended.windows else float("nan")
    moved = [
        f"{label(move.component)} {plain_name(move.counter)} +{move.step:.0f}" for move in ended.moves if move.step > 0
    ]
    first, *others = trial.targets
    away = [place(part) if part.node != first.node else label(part) for part in others]
    targets = "→".join([label(first), *away])
    return TrialLine(
        trial.id,
        f"{trial.node} {trial.probe} {targets}",
        middle,
        sum(window < LOW_BELOW * middle for window in ended.windows) if unit_of(trial.probe) == "GB/s" else 0,
        len(ended.windows),
        ", ".join(moved),
        spoken(ended.error),
        ended.check,
        spoken(ended.detail),
        unit_of(trial.probe),
    )


def draw_trials(canvas: Canvas, y: int, end: int, trials: Sequence[TrialLine]) -> int:
    """As many as fit between rows y and `end`, those in which something happened marked. Returns the row after them."""
    if not trials or end - y < 2:
        return y
    canvas.rule(y, "Trials", "those in which something happened first, then the newest")
    y += 1
    for trial in trials:
        if y >= end:
            break
        y = _draw_trial(canvas, y, trial, end)
    return y


def _draw_trial(canvas: Canvas, y: int, trial: TrialLine, end: int) -> int:
    """Returns the row after it."""
    ink, mark = canvas.ink, trial.mark
    canvas.put(1, y, (mark.glyph, ink.mark(mark)))
    if trial.error:
        return canvas.wrap(3, y, f"{trial.count}× nothing measured: {trial.error}", canvas.width - 4, limit=end - y)
    canvas.put(3, y, (f"{trial.id:<8}", ink(Role.DIM)), clip(trial.where, 33))
    x = 46
    if trial.windows:
        x = canvas.put(x, y, f"{trial.gbps:6.1f} {trial.unit}", (f"  {plural(trial.windows, 'window')}", ink(Role.DIM)))
    if trial.check:
        x = canvas.put(x, y, (f"  {trial.check}", ink.mark(Mark.WARN if trial.check == "wrong" else Mark.OK)))
    x = canvas.put(x, y, (f"  {trial.low} low" if trial.low else "", ink.mark(Mark.WARN)))
    said = trial.moved or (trial.detail if trial.check == "wrong" else "")
    canvas.put(x + 2, y, (clip(said, canvas.width - x - 3), ink.mark(Mark.WARN)))
    return y + 1
