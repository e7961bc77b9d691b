"""What is known of one selected part: its facts, and each of its error counters with a trace of the last minute."""

from __future__ import annotations

from dataclasses import dataclass

from ..glyphs import spark
from ..theme import Mark, Role
from .canvas import Canvas, clip, wrapped
from .words import rate_or_missing, whole

WIDE_FROM = 112
TRACE = 60
"""Samples in a trace."""


@dataclass(frozen=True)
class Trace:
    """One counter, or the sum of several."""

    label: str
    total: float
    per_second: float
    steps: tuple[float, ...]
    """By how much it moved from sample to sample, oldest first."""
    mark: Mark
    note: str = ""
    """What the total is made of; shown where there is room."""


@dataclass(frozen=True)
class Detail:
    """The selected part in words and traces."""

    title: str
    mark: Mark
    state: str
    """Health in a word or two."""
    facts: tuple[str, ...] = ()
    traces: tuple[Trace, ...] = ()


def detail_rows(detail: Detail) -> int:
    """Rows it would like below its rule: two of facts at most, and its traces."""
    return (2 if detail.facts else 0) + max(1, len(detail.traces))


def put_detail(canvas: Canvas, y: int, detail: Detail) -> None:
    """A rule with the part's name and state, facts in one or two rows, then traces, those that move first."""
    ink = canvas.ink
    x = canvas.rule(y, f"Selected: {detail.title}")
    canvas.put(x, y, (f"{detail.mark.glyph} ", ink.mark(detail.mark)), (f"{detail.state} ", ink()))
    room = canvas.height - y - 1
    facts = " · ".join(detail.facts)
    rows = wrapped(facts, canvas.width - 2) if facts else []
    for row in rows[: max(1, min(2, room - 1))]:
        y += 1
        canvas.put(1, y, (row, ink(Role.DIM)))
    left = canvas.height - y - 1
    for number, trace in enumerate(detail.traces):
        y += 1
        if number == left - 1 and len(detail.traces) > left:
            canvas.put(1, y, (f"… and {len(detail.traces) - number} more, all in lens 2", ink(Role.DIM)))
            return
        if y < canvas.height:
            _put_trace(canvas, y, trace)
    if not detail.traces and y + 1 < canvas.height:
        canvas.put(1, y + 1, ("no error counter of this part is read", ink(Role.DIM)))


def _put_trace(canvas: Canvas, y: int, trace: Trace) -> None:
    ink = canvas.ink
    style = ink.mark(trace.mark) if trace.mark.is_loud else ink(Role.DIM)
    canvas.put(1, y, (trace.mark.glyph if trace.mark.is_loud else " ", style))
    canvas.put(
        3,
        y,
        (
            clip(trace.label, 44 if canvas.width < WIDE_FROM else 28 if trace.note else 60),
            ink() if trace.mark.is_loud else ink(Role.DIM),
        ),
    )
    at = 48
    if canvas.width >= WIDE_FROM:
        canvas.put(33, y, (clip(trace.note, 32), ink(Role.DIM)))
        at = 66
    canvas.right(y, (whole(trace.total), ink()), edge=at + 10)
    canvas.right(y, (rate_or_missing(trace.per_second), style), edge=at + 20)
    width = min(TRACE, canvas.width - at - 23)
    if width > 4:
        canvas.put(at + 22, y, (spark(trace.steps, width), style if trace.mark.is_loud else ink(Role.OK)))
