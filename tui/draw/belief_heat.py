"""Belief as amber heat on the drawings of the fleet and of one node.

    nodes   sim1 ·  sim2 ·  sim3 1  [sim4 97]        [ ] selected
    leaves  leaf-1 ·  leaf-2 3

             GPU0  GPU1  GPU2  GPU3
    NVSW0 2 ━━ · ━━━ · ━━━ 1 ━━━ · ━                 lanes to it, of each GPU
    GPU        ·     ·    23     ·
    PCIe       ·     ·     ~     ·                   ~ no probe tells it from the part with the number
    bridge     └── · ──┘   └── · ──┘

Amber only: red is kept for the verdict, so that nobody reads a guess as a finding.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style

from ...incident.ids import NodeId
from ..theme import Ink, Mark, Role
from .belief_map import SHOWN_FROM, FleetHeat, Heat, HeatRow, NodeHeat, Place
from .canvas import HEAVY, Canvas, clip
from .words import per_cent, plural

GUTTER = 12
NARROW_GUTTER = 9
MOST_COLUMN = 9
EQUAL = "~"


def heat_cell(heat: Heat, ink: Ink) -> tuple[str, Style]:
    """Two characters or one: per cent, `~` for an equal, a dot where nothing is believed."""
    if heat.is_convicted:
        return Mark.FAIL.glyph, ink.mark(Mark.FAIL, fill=True)
    if heat.share >= SHOWN_FROM:
        return f"{min(99, round(heat.share * 100)) or 1}", ink.heat(heat.share)
    if heat.is_unknown:
        return Mark.UNKNOWN.glyph, ink.mark(Mark.UNKNOWN)
    return (EQUAL, ink(Role.WARN)) if heat.is_equal else (Mark.OK.glyph, ink(Role.OK))


def node_heat_rows(heat: NodeHeat) -> int:
    """Rows that a node's drawing takes."""
    return 2 + len(heat.rows) + any(row.names for row in heat.rows) + bool(heat.beside)


def draw_node_heat(canvas: Canvas, x: int, y: int, heat: NodeHeat, room: int, rows: int) -> int:
    """The node at column x in `room` cells and `rows`; rows without belief are left out where not all fit.

    Returns the row after it."""
    ink = canvas.ink
    kept, left = _fitting(heat, rows)
    end = canvas.put(x + 1, y, (str(heat.node), ink(Role.TITLE, bold=True)))
    words = "for a further fault" if heat.is_convicted else "of the belief"
    end = canvas.put(end + 2, y, (f"{per_cent(heat.total)} {words}", ink(Role.DIM)))
    note = f"  {EQUAL} no probe tells it apart" if heat.has_equals else ""
    note = f"  {plural(left, 'row')} without belief not shown" if left else note
    canvas.put(end, y, (clip(note, x + room - end), ink(Role.DIM)))
    y += 1
    gutter = GUTTER if room >= 60 else NARROW_GUTTER
    column = max(3, min(MOST_COLUMN, (room - gutter) // max(1, len(heat.columns))))
    middles = [x + gutter + column * at + column // 2 for at in range(len(heat.columns))]
    _draw_heads(canvas, x, y, heat.columns, middles, column)
    last_rail = sum(row.kind == "rail" for row in kept)
    for middle in middles if last_rail else ():
        canvas.vline(middle, y + 1, y + last_rail, ink(Role.FAINT))
    for row in kept:
        y += 1
        _draw_row(canvas, x, y, row, middles, column, gutter)
        if row.names and not left:
            y += 1
            _draw_names(canvas, y, row, middles, column)
    return _draw_beside(canvas, x, y + 1, heat, room)


def _fitting(heat: NodeHeat, rows: int) -> tuple[list[HeatRow], int]:
    """The rows that have room, and how many were left out: cold ones, from the bottom."""
    over = node_heat_rows(heat) - rows
    if over <= 0:
        return list(heat.rows), 0
    over -= sum(bool(row.names) for row in heat.rows)
    cold = [row for row in reversed(heat.rows) if not _is_warm(row)]
    dropped = cold[: max(0, over)]
    return [row for row in heat.rows if row not in dropped], len(dropped)


def _is_warm(row: HeatRow) -> bool:
    cells = [span.heat for span in row.spans] + ([row.own] if row.own else [])
    return any(cell.share >= SHOWN_FROM or cell.is_equal or cell.is_convicted for cell in cells)


def _draw_heads(canvas: Canvas, x: int, y: int, columns: Sequence[str], middles: Sequence[int], column: int) -> None:
    """`GPU3`, or the number alone where that has no room."""
    is_short = any(len(name) >= column for name in columns)
    for name, middle in zip(columns, middles, strict=True):
        canvas.middle(middle, y, name.removeprefix("GPU") if is_short else name, canvas.ink(Role.DIM))
    if is_short:
        canvas.put(x + 1, y, ("GPU", canvas.ink(Role.DIM)))


def _draw_row(canvas: Canvas, x: int, y: int, row: HeatRow, middles: Sequence[int], column: int, gutter: int) -> None:
    ink = canvas.ink
    name = row.label if gutter >= GUTTER else row.label.replace("NVSW", "NVS").replace("NIC PCIe", "PCIe")
    after = canvas.put(x + 1, y, (clip(name, gutter - 3), ink(Role.DIM)))
    if row.kind == "rail" and middles:
        canvas.hline(x + gutter - 1, middles[-1] + column // 2, y, ink(Role.FAINT), weight=HEAVY)
    if row.own is not None:
        _put_cell(canvas, after + 1, y, row.own, is_left=True)
    for span in row.spans:
        a, b = middles[span.first], middles[span.last]
        if row.kind == "bridge" and b > a:
            canvas.hline(a, b, y, ink(Role.FAINT))
            canvas.vline(a, y, y, ink(Role.FAINT))
        _put_cell(canvas, (a + b) // 2, y, span.heat, on_line=row.kind in ("rail", "bridge"))


def _put_cell(canvas: Canvas, x: int, y: int, heat: Heat, is_left: bool = False, on_line: bool = False) -> None:
    """A filled cell is three wide where a number stands in it, so that it is seen from afar."""
    text, style = heat_cell(heat, canvas.ink)
    is_hot = heat.is_convicted or heat.share >= SHOWN_FROM
    shown = f" {text}" if is_hot and len(text) == 1 else text
    if is_hot or on_line:
        shown += " "
    if on_line and not is_hot:
        shown = f" {text} "
    canvas.put(x if is_left else x - 1, y, (shown, style)) if is_hot or on_line else canvas.put(x, y, (shown, style))


def _draw_names(canvas: Canvas, y: int, row: HeatRow, middles: Sequence[int], column: int) -> None:
    """The names of NICs below their cells; the number alone where a name has no room."""
    for name, middle in zip(row.names, middles, strict=False):
        digits = name.rpartition("_")[2] if "_" in name else name[-2:]
        canvas.middle(middle, y, name if len(name) < column else clip(digits, column - 1), canvas.ink(Role.DIM))


def _draw_beside(canvas: Canvas, x: int, y: int, heat: NodeHeat, room: int) -> int:
    if not heat.beside:
        return y
    ink, at = canvas.ink, x + 1
    for number, (name, cell) in enumerate(heat.beside):
        text, style = heat_cell(cell, ink)
        left = len(heat.beside) - number
        if at + len(name) + len(text) + 4 > x + room and at > x + 1:
            canvas.put(at, y, (f"+{left}", ink(Role.DIM)))
            break
        at = canvas.put(at, y, (f"{name} ", ink(Role.DIM)), (f" {text} " if cell.share >= SHOWN_FROM else text, style))
        at += 2
    return y + 1


def fleet_rows(heat: FleetHeat, width: int, limit: int) -> int:
    """Rows that the strip takes, at most `limit` for the nodes."""
    per_row = max(1, (width - _TITLE) // _node_width(heat))
    rows = min(limit, -(-len(heat.nodes) // per_row))
    return rows + len(_network(heat))


_TITLE = 9


def draw_fleet_heat(canvas: Canvas, y: int, heat: FleetHeat, chosen: NodeId | None, limit: int) -> int:
    """Nodes, leaves, spines with their summed belief; returns the row after them."""
    ink = canvas.ink
    width = _node_width(heat)
    per_row = max(1, (canvas.width - _TITLE) // width)
    shown = list(heat.nodes)
    if len(shown) > per_row * limit:
        room = per_row * limit - 1 - 30 // width
        kept = {node for node, _ in sorted(shown, key=lambda each: -each[1].share)[: max(1, room)]}
        kept |= {chosen} if chosen else set()
        shown = [each for each in shown if each[0] in kept]
    canvas.put(1, y, ("nodes", ink(Role.DIM)))
    cells = [(*divmod(number, per_row), node, place) for number, (node, place) in enumerate(shown)]
    for row, column, node, place in sorted(cells, key=lambda cell: cell[2] == chosen):  # its bracket lies on the next
        if row < limit:
            _draw_place(canvas, _TITLE + column * width, y + row, place, node == chosen, width + 1)
    left = len(heat.nodes) - len(shown)
    rows = max(1, min(limit, -(-len(shown) // per_row)))
    if left:
        rest = sum(place.share for node, place in heat.nodes) - sum(place.share for _, place in shown)
        words = f"and {plural(left, 'node')} more with {per_cent(max(0.0, rest))}"
        canvas.right(y + rows - 1, (words, ink(Role.DIM)))
    y += rows
    for title, places in _network(heat):
        _draw_places(canvas, y, title, places)
        y += 1
    return y


def _network(heat: FleetHeat) -> list[tuple[str, Sequence[Place]]]:
    """Rows of network switches; one that counts them while nothing is believed of any."""
    tiers = [("leaves", heat.leaves), ("spines", heat.spines), ("switches", heat.switches)]
    beside = [heat.uplinks] if heat.uplinks else []
    if all(place.share < SHOWN_FROM and not place.is_convicted for _, places in tiers for place in (*places, *beside)):
        counts = [Place(f"{len(places)} {title}", 0.0, False) for title, places in tiers if places]
        return [("network", [*counts, *beside])] if counts else []
    rows = [(title, list(places)) for title, places in tiers if places]
    if rows:
        rows[-1][1].extend(beside)
    return list(rows)


def _node_width(heat: FleetHeat) -> int:
    return min(18, max((len(place.name) for _, place in heat.nodes), default=4)) + 4


def _draw_place(canvas: Canvas, x: int, y: int, place: Place, chosen: bool, width: int) -> int:
    """`[sim4 97]`: the name and its cell, in brackets where it is selected."""
    ink = canvas.ink
    text, style = heat_cell(Heat(place.share, is_convicted=place.is_convicted), ink)
    bracket = ink(Role.SELECT, bold=True)
    is_hot = place.is_convicted or place.share > 0.1
    name = ink(Role.TITLE, bold=True) if chosen or is_hot else ink(Role.DIM)
    end = canvas.put(x, y, ("[" if chosen else " ", bracket), (f"{clip(place.name, width - 5)} ", name), (text, style))
    return canvas.put(end, y, ("]", bracket)) if chosen else end


def _draw_places(canvas: Canvas, y: int, title: str, places: Sequence[Place]) -> None:
    """Network switches in one row: those that something is believed of, and how many others there are."""
    ink = canvas.ink
    canvas.put(1, y, (title, ink(Role.DIM)))
    x, left = _TITLE, 0
    for place in sorted(places, key=lambda each: each.share < SHOWN_FROM and not each.is_convicted):
        if x + len(place.name) + 4 > canvas.width - 14:
            left += 1
        else:
            x = _draw_place(canvas, x, y, place, False, len(place.name) + 5) + 1
    if left:
        canvas.put(x + 1, y, (f"and {left} more", ink(Role.DIM)))
