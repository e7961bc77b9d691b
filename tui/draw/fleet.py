"""The fleet: one row a node, one cell a GPU, and below it what needs a look.

     gpu-000 ········  gpu-016 ········
     gpu-001 ········ ▲gpu-017 ··▲··▲··
    ───────────────────────────────────
     1 of 32 nodes needs a look
     ▲ gpu-017 GPU5 ...

A healthy fleet is a quiet page of dots, whatever the metric.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.style import Style
from textual.strip import Strip

from ..glyphs import SPARKS
from ..theme import Ink, Mark, Role
from .canvas import Canvas, clip
from .fleet_view import FleetNode, FleetView, GpuCell
from .problems import draw_problems

WIDE_FROM = 112
LOWEST_LIST = 5
"""Rows kept for the list: a rule, a heading and three problems."""


@dataclass(frozen=True)
class Grid:
    """How nodes are laid out: down the columns, so that names read in order."""

    columns: int
    rows: int
    shown: int
    """Rows that fit."""
    first: int
    """The first row shown."""
    tile: int
    name: int
    cell: int

    def index(self, row: int, column: int) -> int:
        """Which node stands there."""
        return column * self.rows + row


def grid_of(view: FleetView, width: int, height: int, selected: int) -> Grid:
    """As many columns as fit; rows scroll to the selected node where they don't."""
    count = max(1, len(view.nodes))
    name = min(max((len(node.name) for node in view.nodes), default=4), 24)
    gpus = max((len(node.cells) for node in view.nodes), default=1) or 1
    cell = 2 if width >= WIDE_FROM else 1
    tile = 1 + name + 1 + gpus * cell + 2
    columns = max(1, min(width // tile, -(-count // 16)))
    rows = -(-count // columns)
    shown = max(1, min(rows, height - LOWEST_LIST))
    at = selected % rows
    return Grid(columns, rows, shown, max(0, min(at - shown // 2, rows - shown)), tile, name, cell)


def draw_fleet(
    view: FleetView, width: int, height: int, ink: Ink, selected: int | None = None, problem: int | None = None
) -> list[Strip]:
    """The grid, then the list of problems in what is left."""
    canvas = Canvas(width, height, ink)
    grid = grid_of(view, width, height, selected or 0)
    for row in range(grid.shown):
        for column in range(grid.columns):
            index = grid.index(grid.first + row, column)
            if index < len(view.nodes):
                _draw_node(canvas, column * grid.tile, row, view.nodes[index], grid, index == selected)
    y = grid.shown
    canvas.hline(0, width - 1, y, ink(Role.FAINT))
    _draw_rule_notes(canvas, y, view, grid)
    if not view.nodes and view.total:
        canvas.put(1, y + 1, ("No node matches; esc shows all.", ink(Role.TITLE, bold=True)))
        return canvas.strips()
    canvas.paste(y + 1, draw_problems(view.problems, view.total, width, height - y - 1, ink, problem, view.coming))
    return canvas.strips()


def _draw_rule_notes(canvas: Canvas, y: int, view: FleetView, grid: Grid) -> None:
    """On the rule: what is shown of the fleet, and what the cells mean."""
    ink = canvas.ink
    notes = []
    if grid.shown < grid.rows:
        notes.append(f"rows {grid.first + 1}-{grid.first + grid.shown} of {grid.rows}")
    if len(view.nodes) < view.total:
        notes.append(f"{len(view.nodes)} of {view.total} nodes match")
    notes.append(f"cells: {view.metric.title}")
    canvas.right(y, (f" {' · '.join(notes)} ", ink(Role.DIM)), edge=canvas.width - 1)


def _draw_node(canvas: Canvas, x: int, y: int, node: FleetNode, grid: Grid, chosen: bool) -> None:
    ink = canvas.ink
    if node.mark >= Mark.UNKNOWN:
        canvas.put(x, y, (node.mark.glyph, ink.mark(node.mark)))
    name = clip(node.name, grid.name)
    style = ink(node.mark.role, bold=True) if node.mark >= Mark.UNKNOWN else ink(Role.DIM)
    canvas.put(x + 1, y, (name, ink(Role.SELECT, bold=True, fill=True) if chosen else style))
    at = x + 1 + grid.name + 1
    if not node.cells and grid.columns > 1:
        canvas.put(at, y, (clip(node.state, grid.tile - grid.name - 4), ink(Role.DIM)))
    for number, cell in enumerate(node.cells):
        canvas.put(at + number * grid.cell, y, (_cell_text(cell, grid.cell), _cell_style(cell, ink)))
    if grid.columns == 1:
        _draw_summary(canvas, grid.tile, y, node)


def _draw_summary(canvas: Canvas, x: int, y: int, node: FleetNode) -> None:
    """As much of the summary as fits whole, in columns."""
    ink = canvas.ink
    for number, piece in enumerate(node.summary):
        room = canvas.width - x - 1
        if len(piece) > room and number:
            return
        loud = number == 0 and node.mark >= Mark.UNKNOWN and not piece.startswith("no ")
        canvas.put(x, y, (clip(piece, room), ink.mark(node.mark) if loud else ink(Role.DIM)))
        x += max(len(piece), 14) + 2


def _cell_text(cell: GpuCell, width: int) -> str:
    """Trouble is a glyph in every metric; else a dot, or the height of the value."""
    if cell.mark >= Mark.UNKNOWN or cell.level is None:
        return cell.mark.glyph.ljust(width)
    return SPARKS[min(7, int(cell.level * 7.999))].ljust(width)


def _cell_style(cell: GpuCell, ink: Ink) -> Style:
    return ink.mark(cell.mark, fill=True) if cell.mark.is_loud else ink(cell.mark.role)
