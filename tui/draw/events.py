"""Log lines as a list: time, node, source, text; lines of the driver that name an error are marked."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from ..theme import Ink, Mark, Role
from .canvas import Canvas, clip, wrapped
from .events_view import EventLine
from .words import clock

_LOUD = ("Xid", "SXid", "AER:", "fallen off", "link down", "Link is down")


def draw_events(lines: Sequence[EventLine], width: int, height: int, ink: Ink, chosen: int) -> list[Strip]:
    """The lines up to a page below the chosen one, which is shown whole at the bottom."""
    canvas = Canvas(width, height, ink)
    canvas.put(1, 0, ("time      node        source   text", ink(Role.TITLE, bold=True)))
    if not lines:
        canvas.put(1, 2, ("No log line has been read yet, or none matches.", ink(Role.DIM)))
        return canvas.strips()
    whole = wrapped(lines[chosen].text, width - 2)[: max(1, height // 3)]
    room = height - 2 - len(whole)
    first = max(0, min(chosen - room // 2, len(lines) - room))
    for row, line in enumerate(lines[first : first + room]):
        _draw_line(canvas, 1 + row, line, first + row == chosen)
    y = height - 1 - len(whole)
    canvas.rule(y, f"{lines[chosen].kind} {lines[chosen].id}", f"line {chosen + 1} of {len(lines)}")
    for text in whole:
        y += 1
        canvas.put(1, y, text)
    return canvas.strips()


def _draw_line(canvas: Canvas, y: int, line: EventLine, chosen: bool) -> None:
    ink = canvas.ink
    mark = Mark.WARN if any(word in line.text for word in _LOUD) else Mark.OK
    canvas.put(0, y, (">" if chosen else " ", ink(Role.SELECT, bold=True)))
    canvas.put(1, y, (clock(line.time), ink(Role.DIM)))
    canvas.put(11, y, clip(line.node, 11))
    canvas.put(23, y, (clip(line.kind, 8), ink(Role.DIM)))
    style = ink(Role.SELECT, bold=True, fill=True) if chosen else ink.mark(mark) if mark.is_loud else ink()
    canvas.put(32, y, (clip(line.text, canvas.width - 33), style))
