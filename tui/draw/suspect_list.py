"""The suspects, most believed first: what it could be, how far it is believed, what speaks for and against it."""

from __future__ import annotations

from ..glyphs import SPARKS
from ..theme import Mark, Role
from .canvas import Canvas, clip
from .suspects_view import SuspectRow, SuspectsView
from .words import per_cent, plural

WIDE_FROM = 112


def draw_suspect_list(canvas: Canvas, y: int, view: SuspectsView, end: int) -> int:
    """A row a class before row `end`; the columns of reasons go first where it is narrow. Returns the row after it."""
    belief, wide = view.belief, canvas.width >= WIDE_FROM
    if belief is None or end - y < 2:
        return y
    room = end - y - 1
    shown = view.suspects[: room if room >= len(view.suspects) else max(1, room - 1)]
    held = sum(row.posterior for row in shown)
    note = f"{per_cent(held)} of the belief is in {plural(len(shown), 'class')} of {plural(belief.parts, 'part')}"
    canvas.rule(y, "Suspects", (note if shown else "no part is suspected") if wide or not shown else "")
    for edge, head in _heads(wide) if shown else ():
        canvas.right(y, (f" {head} ", canvas.ink(Role.DIM)), edge=edge + 1)
    if wide and shown:
        canvas.put(102, y, (" by round ", canvas.ink(Role.DIM)))
    for number, row in enumerate(shown):
        y += 1
        _draw_suspect(canvas, y, row, number == 0, wide)
    left = len(view.suspects) - len(shown)
    if left and y + 1 < end:
        y += 1
        rest = per_cent(sum(row.posterior for row in view.suspects) - held)
        canvas.put(3, y, (f"… and {plural(left, 'class')} more with {rest}", canvas.ink(Role.DIM)))
    return y + 1


def _heads(wide: bool) -> tuple[tuple[int, str], ...]:
    if wide:
        return (72, "bad"), (82, "clean"), (90, "nats"), (99, "strikes")
    return (57, "bad"), (65, "clean"), (76, "strikes")


def _draw_suspect(canvas: Canvas, y: int, row: SuspectRow, first: bool, wide: bool) -> None:
    ink = canvas.ink
    likely = row.posterior >= 0.5
    tone = ink(Role.WARN, bold=True) if likely else ink()
    canvas.put(1, y, (Mark.WARN.glyph if likely else " ", tone))
    end = canvas.put(3, y, (clip(row.name, 30 if wide else 24), tone))
    if wide:
        kinds = max(25, end + 1)
        canvas.put(kinds, y, (clip(row.kinds, 52 - kinds), ink(Role.DIM)))
    at = 53 if wide else 28
    canvas.right(y, (per_cent(row.posterior), ink(bold=first)), edge=at + 6)
    canvas.meter(at + 7, y, row.posterior, 8 if wide else 14, ink(Role.WARN if row.posterior >= 0.05 else Role.OK))
    edges = (72, 82, 90, 99) if wide else (57, 65, 0, 76)
    canvas.right(y, (str(row.bad), ink()), edge=edges[0])
    canvas.right(y, (str(row.clean), ink(Role.DIM)), edge=edges[1])
    canvas.right(y, (str(row.strikes), ink() if row.strikes else ink(Role.DIM)), edge=edges[3])
    if wide:
        canvas.right(y, (f"{row.nats:+.1f}", ink(Role.DIM)), edge=edges[2])
        canvas.put(103, y, (trail(row.history, 15), ink(Role.WARN if first else Role.OK)))


def trail(shares: tuple[float, ...], width: int) -> str:
    """Belief by round, 0 to 1; one character a round, the newest at the right."""
    tail = shares[-width:]
    return "".join(SPARKS[max(0, min(7, int(share * 7.999)))] for share in tail).rjust(width)
