"""The table of error counters: glyph, node, part, counter, total, rate now, and the last minute; worst first."""

from __future__ import annotations

from dataclasses import dataclass

from textual.strip import Strip

from ..glyphs import spark
from ..theme import Ink, Mark, Role
from .canvas import Canvas, clip
from .counters_view import CounterRow, CounterTable
from .words import rate_or_missing, whole


@dataclass(frozen=True)
class Columns:
    """Where each column begins or ends."""

    node: int
    where: int
    counter: int
    total: int
    """End of the number."""
    speed: int
    """End of the number."""
    trace: int


def columns_of(width: int, with_node: bool) -> Columns:
    """Wide terminals get long counter names; one node's table needs no column for the node."""
    node = 3
    where = node + (12 if with_node else 0)
    counter = where + (15 if width >= 100 else 13)
    total = counter + (50 if width >= 100 else 35)
    return Columns(node, where, counter, total, total + 11, total + 13)


def draw_counters(
    table: CounterTable, width: int, height: int, ink: Ink, top: int, chosen: int, with_node: bool
) -> list[Strip]:
    """The rows from `top` on that fit under a heading."""
    canvas = Canvas(width, height, ink)
    at = columns_of(width, with_node)
    heading = ink(Role.TITLE, bold=True)
    if with_node:
        canvas.put(at.node, 0, ("node", heading))
    canvas.put(at.where, 0, ("part", heading))
    canvas.put(at.counter, 0, ("counter", heading))
    canvas.right(0, ("total", heading), edge=at.total)
    canvas.right(0, ("now", heading), edge=at.speed)
    canvas.put(at.trace, 0, ("last minute", heading))
    if not len(table):
        canvas.put(
            3, 2, ("No error counter matches." if table.known else "No error counter has been read yet.", ink(Role.DIM))
        )
    for row in range(min(height - 2, len(table) - top)):
        _draw_row(canvas, 1 + row, table.row(top + row), at, top + row == chosen, with_node)
    last = min(len(table), top + height - 2)
    note = f"{table.moving} of {whole(table.known)} error counters move · rows {top + 1}-{last} of {whole(len(table))}"
    canvas.put(3, height - 1, (clip(note, width - 4), ink(Role.DIM)))
    return canvas.strips()


def _draw_row(canvas: Canvas, y: int, row: CounterRow, at: Columns, chosen: bool, with_node: bool) -> None:
    ink = canvas.ink
    loud = row.mark.is_loud
    strong = ink.mark(row.mark) if loud else ink(Role.DIM)
    text = ink(Role.SELECT, bold=True, fill=True) if chosen else ink()
    canvas.put(0, y, (">" if chosen else " ", ink(Role.SELECT, bold=True)))
    canvas.put(1, y, (row.mark.glyph if row.mark >= Mark.UNKNOWN else " ", ink.mark(row.mark)))
    if with_node:
        canvas.put(at.node, y, (clip(row.node, at.where - at.node - 1), text))
    canvas.put(at.where, y, (clip(row.where, at.counter - at.where - 1), text))
    canvas.put(at.counter, y, (clip(row.counter, at.total - at.counter - 9), ink()))
    canvas.right(y, (whole(row.total), ink()), edge=at.total)
    canvas.right(y, (rate_or_missing(row.per_second), strong), edge=at.speed)
    room = canvas.width - at.trace - 1
    if room > 3:
        canvas.put(at.trace, y, (spark(row.steps, min(60, room)), strong if loud else ink(Role.OK)))
