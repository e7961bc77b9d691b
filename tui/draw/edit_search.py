"""The dialog in which an operator limits a search: nodes, probes and parts, each line on or off.

  Nodes to probe                        ■ on  □ off
■ sim1
□ sim3                                  left out
  Probes that may run
■ p2p        GPU to GPU copy
  Decide about first
□ sim4 GPU5  23 %
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.strip import Strip

from ...incident.ids import ComponentId, NodeId
from ...probes.localize.edits import Edits
from ..theme import Ink, Role
from .canvas import Canvas, clip
from .words import per_cent, place

SECTIONS = {"node": "Nodes to probe", "probe": "Probes that may run", "part": "Decide first about"}


@dataclass(frozen=True)
class Line:
    """One thing that can be switched."""

    section: str
    """A key of `SECTIONS`."""
    name: str
    text: str
    note: str = ""


def lines_of(
    nodes: Sequence[NodeId], probes: Sequence[tuple[str, str]], parts: Sequence[tuple[ComponentId, float]]
) -> tuple[Line, ...]:
    """`probes` with their titles, `parts` with what is believed of them, NaN where nothing is known."""
    return (
        *(Line("node", node, str(node)) for node in nodes),
        *(Line("probe", name, name, title) for name, title in probes),
        *(Line("part", part, place(part), per_cent(share) if share == share else "") for part, share in parts),
    )


def is_on(line: Line, edits: Edits) -> bool:
    """Whether the line is switched on under some edits."""
    match line.section:
        case "node":
            return line.name not in edits.left_out
        case "probe":
            return line.name not in edits.forbidden
        case _:
            return line.name in edits.pinned


def toggled(line: Line, edits: Edits) -> Edits:
    """The edits with the line switched the other way."""
    match line.section:
        case "node":
            return Edits(edits.left_out ^ {NodeId(line.name)}, edits.forbidden, edits.pinned)
        case "probe":
            return Edits(edits.left_out, edits.forbidden ^ {line.name}, edits.pinned)
        case _:
            return Edits(edits.left_out, edits.forbidden, edits.pinned ^ {ComponentId(line.name)})


def edit_rows(lines: Sequence[Line]) -> int:
    """Rows in which everything has room."""
    return len(lines) + len({line.section for line in lines}) + 4


def draw_edit(
    lines: Sequence[Line], edits: Edits, at: int, problem: str, width: int, height: int, ink: Ink
) -> list[Strip]:
    """The lines around the chosen one; the keys stand at the bottom whatever the height."""
    canvas = Canvas(width, height, ink)
    canvas.put(1, 0, ("What may the search do, from the next round on?", ink(Role.TITLE, bold=True)))
    rows = _rows(lines)
    room = max(1, height - 3)
    chosen = next(number for number, row in enumerate(rows) if row == at) if lines else 0
    first = max(0, min(chosen - room // 2, len(rows) - room))
    for y, row in enumerate(rows[first : first + room], start=1):
        if isinstance(row, str):
            canvas.put(1, y, (row, ink(Role.TITLE, bold=True)))
        else:
            _draw_line(canvas, y, lines[row], is_on(lines[row], edits), row == at)
    hidden = len(rows) - room
    if hidden > 0:
        canvas.right(0, (f"{at + 1} of {len(lines)}", ink(Role.DIM)))
    if problem:
        canvas.put(1, height - 2, (clip(problem, width - 2), ink(Role.WARN, bold=True)))
    _keys(canvas, height - 1)
    return canvas.strips()


def _rows(lines: Sequence[Line]) -> list[int | str]:
    """Positions of lines, with a heading before each section."""
    rows: list[int | str] = []
    before = ""
    for number, line in enumerate(lines):
        if line.section != before:
            rows.append(SECTIONS[line.section])
            before = line.section
        rows.append(number)
    return rows


def _draw_line(canvas: Canvas, y: int, line: Line, on: bool, chosen: bool) -> None:
    ink = canvas.ink
    changed = on == (line.section == "part")
    sign = ink(Role.WARN, bold=True) if changed else ink(Role.DIM)
    canvas.put(1, y, ("›" if chosen else " ", ink(Role.SELECT, bold=True)), (" ■ " if on else " □ ", sign))
    x = canvas.put(5, y, (clip(line.text, 26), ink(Role.TITLE, bold=True) if chosen else ink()))
    words = {"node": "left out", "probe": "forbidden", "part": "decided first"}[line.section] if changed else ""
    note = " · ".join(word for word in (line.note, words) if word)
    x = max(x + 2, 24)
    canvas.put(x, y, (clip(note, canvas.width - x - 1), ink(Role.WARN, bold=True) if changed else ink(Role.DIM)))


def _keys(canvas: Canvas, y: int) -> None:
    ink, x = canvas.ink, 1
    for key, label in (("space", "on/off"), ("y", "apply"), ("esc", "change nothing")):
        x = canvas.put(x, y, (key, ink(Role.KEY, bold=True)), f" {label}") + 3
