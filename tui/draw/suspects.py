"""Which part is it? Belief as heat on the fleet and on one node, what was measured, the suspects, the next round.

    Which part is it?  1 belief  2 matrix  3 round  4 suspects        after round 4
    running  round 5: 31 trials on 8 nodes, 0.4 of 1.1 s  ━━─── 12 of 300 s spent
    nodes   sim1 ·  sim2 ·  sim3 ·  [sim4 97]
    …the node as rails and drops…        …the matrix…
    ╶ Suspects ─╴
    ╶ Next: round 5 ─╴
    Reading …

Amber only: red is kept for the verdict, so that nobody reads a guess as a finding. On narrow screens each of the four
has a page of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from textual.strip import Strip

from ..theme import Ink, Mark, Role
from .belief_heat import draw_fleet_heat, draw_node_heat, fleet_rows, node_heat_rows
from .canvas import Canvas, wrapped
from .matrix import draw_matrix, matrix_rows, put_matrix_reading, reading_rows
from .next_round import draw_next_round, next_round_rows
from .progress import draw_progress
from .reading import reading_of
from .suspect_list import WIDE_FROM, draw_suspect_list
from .suspects_view import SuspectsView
from .trials import draw_trials
from .words import plural, seconds

MATRIX = 50
"""Cells of the matrix beside the node at wide sizes."""


class Pane(IntEnum):
    """What the screen shows; wide screens show most of it on the first."""

    BELIEF = 1
    MATRIX = 2
    ROUND = 3
    SUSPECTS = 4


_NAMES = {Pane.BELIEF: "belief", Pane.MATRIX: "matrix", Pane.ROUND: "round", Pane.SUSPECTS: "suspects"}
_NAMES_AT_END = {Pane.BELIEF: "verdict", Pane.MATRIX: "matrix", Pane.ROUND: "belief", Pane.SUSPECTS: "suspects"}


def draw_suspects(view: SuspectsView, width: int, height: int, ink: Ink, pane: Pane = Pane.BELIEF) -> list[Strip]:
    """One pane, with where the search stands above it and what it all means in words below."""
    canvas = Canvas(width, height, ink)
    y = draw_question(canvas, view, pane)
    y = draw_progress(canvas, y, view.progress)
    if view.belief is None and pane is Pane.BELIEF:
        _draw_beginning(canvas, y + (width >= WIDE_FROM), view)
        return canvas.strips()
    if pane is Pane.MATRIX:
        draw_matrix_pane(canvas, y, view, height)
        return canvas.strips()
    sentences = reading_of(view)
    bottom = max(y, height - canvas_rows(sentences, width))
    if pane is Pane.ROUND:
        y = draw_next_round(canvas, y, view, bottom)
        draw_trials(canvas, y, bottom, view.trials)
    elif pane is Pane.SUSPECTS:
        draw_suspects_pane(canvas, y, view, bottom)
    else:
        _draw_belief(canvas, y, view, bottom)
    put_reading(canvas, bottom, sentences)
    return canvas.strips()


def draw_question(canvas: Canvas, view: SuspectsView, pane: Pane) -> int:
    """The question and the panes; how far it is at the right. Returns the row after it."""
    ink, belief, wide = canvas.ink, view.belief, canvas.width >= WIDE_FROM
    x = canvas.put(1, 0, ("Which part is it?", ink(Role.TITLE, bold=True))) + 2
    names = _NAMES if view.verdict is None else _NAMES_AT_END
    for each in Pane:
        chosen = each is pane
        bracket = ink(Role.SELECT, bold=True)
        x = canvas.put(x, 0, ("[" if chosen else " ", bracket), (f"{each.value} ", ink(Role.KEY, bold=True)))
        x = canvas.put(x, 0, (names[each], ink(Role.TITLE if chosen else Role.DIM, bold=chosen)))
        x = canvas.put(x, 0, ("]" if chosen else " ", bracket))
    if belief is None:
        return 1
    end = view.verdict
    tail = f"  {plural(len(view.nodes), 'node')} · {plural(belief.parts, 'part')}" if wide else ""
    tail += f" · {belief.probes} probes" if wide else f"  {seconds(belief.seconds)}"
    rounds = end.rounds if end else belief.round
    said = f"done after {plural(rounds, 'round')}" if end else f"after round {rounds}"
    if x + len(said) + len(tail) + 3 > canvas.width:
        tail = ""
    if x + len(said) < canvas.width:
        canvas.right(0, (said, ink(bold=True)), (tail, ink(Role.DIM)))
    return 1


def _draw_beginning(canvas: Canvas, y: int, view: SuspectsView) -> None:
    """Nothing is believed yet: say what is going on."""
    words = {
        "": "Nobody has looked yet. Press p: a round is proposed first, and nothing runs before you say yes.",
        "planning": "Planning the first round: which probes would tell most.",
        "proposed": "The first round waits for your yes: press p.",
        "running": "The first round runs.",
        "paused": "Paused before anything was learnt: press u to go on.",
        "cancelled": "Cancelled before anything was learnt.",
        "ended": "Ended before anything was learnt.",
    }
    y = canvas.wrap(1, y, words.get(view.state, view.state), canvas.width - 2)
    if view.error:
        y = canvas.wrap(1, y + 1, view.error, canvas.width - 2, canvas.ink.mark(Mark.WARN))
    y = draw_next_round(canvas, y + 1, view, canvas.height)
    draw_trials(canvas, y, canvas.height, view.trials)


def _draw_belief(canvas: Canvas, y: int, view: SuspectsView, bottom: int) -> None:
    """The fleet, the chosen node and what was measured; at wide sizes the suspects and the next round below."""
    wide = canvas.width >= WIDE_FROM
    under = min(4, 1 + len(view.suspects)) + min(5, next_round_rows(view.next, canvas.width, 0)) if wide else 0
    y = draw_map(canvas, y, view, bottom - under)
    if wide:
        planned = min(next_round_rows(view.next, canvas.width, 4), max(4, (bottom - y) // 2)) if view.next else 0
        y = draw_suspect_list(canvas, y, view, min(bottom - planned, y + 8))
        y = draw_next_round(canvas, y, view, min(bottom, y + planned))
        draw_trials(canvas, y, bottom, view.trials)
    elif bottom - y >= 2:
        draw_suspect_list(canvas, y, view, bottom)


def draw_map(canvas: Canvas, y: int, view: SuspectsView, bottom: int) -> int:
    """Belief on the fleet and on the chosen node, with the matrix beside it where there is room."""
    if len(view.nodes) > 1 or view.fleet.knows_network:
        heat_rows = node_heat_rows(view.heat) if view.heat else 0
        limit = max(1, min(6, bottom - y - min(heat_rows, 11) - 2))
        needed = fleet_rows(view.fleet, canvas.width, limit)
        y = draw_fleet_heat(canvas, y, view.fleet, view.chosen, max(1, min(limit, needed)))
    if view.heat is None:
        return y
    if canvas.width < WIDE_FROM:
        return draw_node_heat(canvas, 0, y, view.heat, canvas.width - 1, bottom - y)
    left = draw_node_heat(canvas, 0, y, view.heat, canvas.width - MATRIX - 2, bottom - y)
    x = canvas.width - MATRIX
    right = draw_matrix(canvas, x, y, view.matrix, MATRIX, bottom - y)
    right = put_matrix_reading(canvas, x, right, view.matrix, MATRIX, min(3, bottom - right))
    return max(left, right)


def draw_matrix_pane(canvas: Canvas, y: int, view: SuspectsView, end: int) -> None:
    """The matrix in full, and what it means."""
    if canvas.height >= 26:
        y += 1
    said = min(reading_rows(view.matrix, canvas.width - 8), 6)
    room = end - y - said - 1
    y = draw_matrix(canvas, 0, y, view.matrix, canvas.width, min(room, matrix_rows(view.matrix) + 1))
    canvas.hline(0, canvas.width - 1, y, canvas.ink(Role.FAINT))
    canvas.put(1, y + 1, ("Reading", canvas.ink(Role.TITLE, bold=True)))
    put_matrix_reading(canvas, 8, y + 1, view.matrix, canvas.width - 8, end - y - 1)


def draw_suspects_pane(canvas: Canvas, y: int, view: SuspectsView, bottom: int) -> int:
    """The suspects, what was learnt of the measurements, and the trials; returns the row after them."""
    if view.belief is None:
        return draw_trials(canvas, y, bottom, view.trials)
    y = draw_suspect_list(canvas, y, view, max(y + 4, y + 2 * (bottom - y) // 3))
    belief = view.belief
    if bottom - y >= 4:
        learnt = (
            f"learnt: noise {belief.noise * 100:.1f} %, outliers {belief.outliers * 100:.1f} % of windows, "
            f"bad windows in runs of {belief.burst:.1f}"
        )
        y = canvas.wrap(1, y, learnt, canvas.width - 2, canvas.ink(Role.DIM))
    return draw_trials(canvas, y, bottom, view.trials)


def canvas_rows(sentences: Sequence[str], width: int) -> int:
    """Rows that a reading takes, with the line above it."""
    return 1 + sum(len(wrapped(sentence, width - 10)) for sentence in sentences)


def put_reading(canvas: Canvas, y: int, sentences: Sequence[str]) -> int:
    """What the picture means, in words: the last sentence, which says what to do, is bold."""
    ink = canvas.ink
    canvas.hline(0, canvas.width - 1, y, ink(Role.FAINT))
    y += 1
    canvas.put(1, y, ("Reading", ink(Role.TITLE, bold=True)))
    for sentence in sentences:
        y = canvas.wrap(9, y, sentence, canvas.width - 10, ink(bold=sentence is sentences[-1]))
    return y
