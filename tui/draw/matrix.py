"""The matrix of measurements filling in: per cent of expected in the worst window, as colour, number and glyph.

    from\\to  GPU0  GPU1  GPU2  GPU3
    GPU0            99    98    ▲57
    GPU1      -           99     99         - not measured yet
    host      99    98     -     99         from the node's memory

Amber by how much is lost, as belief: a slow pair is no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from ..theme import Ink, Mark, Role
from .canvas import Canvas, clip, wrapped
from .matrix_cell import Cell
from .matrix_view import Matrix
from .words import plural

GUTTER = 9
SILENT = "?"
LOSSES = ((0.1, 0.0), (0.2, 0.002), (0.3, 0.01), (0.4, 0.1), (0.6, 0.4), (1.01, 0.9))
"""Up to which loss a cell takes which step of the heat."""


def draw_matrix(canvas: Canvas, x: int, y: int, matrix: Matrix, room: int, rows: int) -> int:
    """Title, matrix and legend at column x in `room` by `rows`; returns the row after them. The reading is apart."""
    ink = canvas.ink
    canvas.put(x + 1, y, (clip(matrix.title, room - 2), ink(Role.TITLE, bold=True)))
    canvas.put(x + 1, y + 1, (clip(_against(matrix), room - 2), ink(Role.DIM)))
    y += 2
    if not matrix.names:
        return canvas.wrap(x + 1, y, "No part to measure is known here yet.", room - 2, ink(Role.DIM))
    gutter = min(GUTTER, max(len(name) for name in matrix.names) + 2)
    gutter = max(gutter, len("host") + 2) if matrix.hosts else gutter
    shown, cell = _fitting(matrix, room - gutter - 1, rows - 4)
    _draw_heads(canvas, x + gutter, y, matrix, shown, cell)
    for row in shown:
        y += 1
        canvas.put(x + 1, y, (clip(matrix.names[row], gutter - 2), ink(Role.DIM)))
        for position, column in enumerate(shown):
            if row != column:
                _put(canvas, x + gutter + cell * position, y, matrix.cells.get((row, column)), cell)
    if matrix.hosts:
        y += 1
        canvas.put(x + 1, y, ("host", ink(Role.DIM)))
        for position, column in enumerate(shown):
            _put(canvas, x + gutter + cell * position, y, matrix.hosts[column], cell)
    left = len(matrix.names) - len(shown)
    more = f" · {left} more rows have no room, none of them slower" if left else ""
    silent = "  ? measured nothing" if any(one.is_silent for one in matrix.cells.values()) else ""
    low = f"below {matrix.low_below * 100:.0f} %"
    low += f", host below {matrix.host_low_below * 100:.0f} %" if matrix.hosts else ""
    legend = f"- not measured  {Mark.WARN.glyph} {low}{silent}{more}"
    canvas.put(x + 1, y + 1, (clip(legend, room - 2), ink(Role.DIM)))
    return y + 2


def matrix_rows(matrix: Matrix) -> int:
    """Rows in which all of it has room."""
    return len(matrix.names) + bool(matrix.hosts) + 4


def put_matrix_reading(canvas: Canvas, x: int, y: int, matrix: Matrix, room: int, limit: int) -> int:
    """What the matrix means, the first sentence bold; returns the row after it."""
    ink = canvas.ink
    end = y + limit
    for number, sentence in enumerate(matrix.reading):
        if y < end:
            y = canvas.wrap(x + 1, y, sentence, room - 2, ink(bold=number == 0), limit=end - y)
    return y


def reading_rows(matrix: Matrix, room: int) -> int:
    """Rows that the reading takes."""
    return sum(len(wrapped(sentence, room - 2)) for sentence in matrix.reading)


def _against(matrix: Matrix) -> str:
    done = f"{matrix.measured} of {plural(matrix.pairs, 'pair')}"
    if matrix.unit != "GB/s":
        return f"{done} · {matrix.unit}, the worst of each"
    if matrix.expected != matrix.expected:
        return f"{done} · worst window, GB/s; expected is not known"
    of = f"{matrix.expected:.0f} GB/s" + (", the middle of all" if matrix.is_by_equals else "")
    return f"{done} · worst window, % of {of}"


def _fitting(matrix: Matrix, room: int, rows: int) -> tuple[list[int], int]:
    """The rows that fit, the slowest of them where not all do, and the width of a cell."""
    count = len(matrix.names)
    rows -= bool(matrix.hosts)
    cell = next((width for width in (6, 5, 4) if width * count <= room), 4)
    most = max(1, min(count, room // cell, rows))
    if most >= count:
        return list(range(count)), cell
    lowest = dict.fromkeys(range(count), 2.0)
    for at, one in matrix.cells.items():
        for end in at:
            lowest[end] = min(lowest[end], one.share if one.share == one.share else 1.5)
    return sorted(sorted(range(count), key=lambda end: lowest[end])[:most]), cell


def _draw_heads(canvas: Canvas, x: int, y: int, matrix: Matrix, shown: Sequence[int], cell: int) -> None:
    names = [matrix.names[column] for column in shown]
    is_short = any(len(name) >= cell for name in names)
    shared = _shared(names) if is_short and len(names) > 1 else 0
    for position, name in enumerate(names):
        text = name[shared:] if len(name) - shared < cell else name[-(cell - 1) :]
        canvas.put(x + cell * position, y, (text.rjust(cell - 1), canvas.ink(Role.DIM)))


def _shared(names: Sequence[str]) -> int:
    """How many characters all names begin with, numbers left whole."""
    low, high = min(names), max(names)
    same = next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    return len(low[:same].rstrip("0123456789"))


def _put(canvas: Canvas, x: int, y: int, cell: Cell | None, width: int) -> None:
    text, style = cell_text(cell, canvas.ink)
    canvas.put(x, y, (f"{text:>{width - 1}}", style))


def cell_text(cell: Cell | None, ink: Ink) -> tuple[str, Style]:
    """At most three characters: `99`, `▲57`, `-` where nobody has measured, `?` where all trials failed."""
    if cell is None:
        return "-", ink(Role.FAINT if ink.palette.name != "mono" else Role.DIM)
    if cell.is_wrong:
        return Mark.FAIL.glyph, ink.mark(Mark.FAIL, fill=True)
    if cell.is_silent:
        return SILENT, ink(Role.UNKNOWN, bold=True)
    if cell.share != cell.share:
        return f"{cell.worst:.0f}"[:4], ink()
    loss = max(0.0, 1.0 - cell.share)
    heat = next(step for most, step in LOSSES if loss < most or most > 1)
    number = f"{min(999, round(cell.share * 100))}"
    return (f"{Mark.WARN.glyph}{number}" if cell.is_low else number), ink.heat(heat)
