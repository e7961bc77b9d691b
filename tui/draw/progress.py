"""How far a search is, in one or two rows: what it is at, what it spent of its budget, what the operator limited.

    running  round 5 · 31 trials on 8 nodes · 0.4 of 1.1 s    ━━╸─── 12 of 300 s spent, at most 288 s left
    limits   without sim3 · no h2d · sim4 GPU5 first

A paused search is said in a filled row: nobody shall wait for a round that won't come.
"""

from __future__ import annotations

from ..theme import Role
from .canvas import Canvas, clip
from .progress_view import Progress
from .words import clock, plural, seconds

METER = 10
_STATES = {
    "planning": "planning",
    "proposed": "waiting",
    "running": "running",
    "paused": "paused",
    "ended": "ended",
    "cancelled": "stopped",
}


def progress_rows(progress: Progress) -> int:
    """Rows that it takes."""
    return (1 + bool(progress.edits)) if progress.state or progress.round else 0


def draw_progress(canvas: Canvas, y: int, progress: Progress) -> int:
    """Returns the row after it."""
    if not progress_rows(progress):
        return y
    ink = canvas.ink
    spent = _spent(progress, canvas.width >= 100 and not progress.is_paused)
    edge = canvas.width - 1 - len(spent)
    has_meter = progress.budget == progress.budget and canvas.width >= 100
    start = edge - (METER + 2 if has_meter else 1)
    if progress.is_paused:
        canvas.put(0, y, (" " * canvas.width, ink(Role.WARN, fill=True)))
        bold = ink(Role.WARN, bold=True, fill=True)
        canvas.put(1, y, (clip(_paused(progress, canvas.width >= 100), canvas.width - len(spent) - 3), bold))
        canvas.right(y, (spent, ink(Role.WARN, fill=True)))
    else:
        word = _STATES.get(progress.state, "so far")
        x = canvas.put(1, y, (f"{word:<9}", ink(Role.TITLE, bold=True)))
        canvas.put(x, y, (clip(_at(progress), start - x - 1), ink()))
        canvas.put(edge, y, (spent, ink(Role.DIM)))
        if has_meter:
            share = progress.seconds / progress.budget if progress.budget > 0 else 1.0
            canvas.meter(start, y, share, METER, ink(Role.OK))
    y += 1
    if progress.edits:
        x = canvas.put(1, y, ("limits   ", ink(Role.TITLE, bold=True)))
        canvas.put(x, y, (clip(" · ".join(progress.edits), canvas.width - x - 1), ink()))
        y += 1
    return y


def _spent(progress: Progress, wide: bool) -> str:
    if progress.budget != progress.budget:
        return f"{seconds(progress.seconds)} of probing"
    of = f"{seconds(progress.seconds).removesuffix(' s')} of {progress.budget:.0f} s" + (" spent" if wide else "")
    over = progress.state in ("ended", "cancelled")
    return f"{of}, at most {seconds(progress.left)} left" if wide and not over else of


def _paused(progress: Progress, wide: bool) -> str:
    """Said so that it can't be taken for a search at work."""
    since = f"since {clock(progress.paused_at)}" if progress.paused_at is not None else ""
    if progress.state == "running":
        return f"■ PAUSING {since}: round {progress.round} runs to its end ({_elapsed(progress)}), then none" + (
            " until you resume (u)" if wide else ""
        )
    tail = ": no round is proposed, no time counts, u goes on" if wide else ": no time counts, u goes on"
    return f"■ PAUSED {since}{tail}"


def _elapsed(progress: Progress) -> str:
    if progress.elapsed != progress.elapsed:
        return f"{seconds(progress.planned)} planned"
    return f"{progress.elapsed:.1f} of {seconds(progress.planned)}"


def _at(progress: Progress) -> str:
    """What is going on, in the terms of rounds and trials."""
    size = f"{plural(progress.trials, 'trial')} on {plural(progress.nodes, 'node')}"
    done = f"{plural(progress.trials_ended, 'trial')} so far"
    match progress.state:
        case "running":
            return f"round {progress.round}: {size}, {_elapsed(progress)}"
        case "proposed":
            return f"round {progress.round} for your yes (p): {size}, {seconds(progress.planned)}"
        case "planning":
            return f"round {progress.round + 1} · {done}"
        case _:
            return f"after {plural(progress.round, 'round')} · {done}"
