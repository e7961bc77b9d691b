"""Which part is it? Belief as amber heat on the map of parts, the ranked suspects, and what the next round decides.

Amber only: red is kept for the verdict, so that nobody reads a guess as a finding.
"""

from __future__ import annotations

from textual.strip import Strip

from ...incident.ids import NodeId
from ..glyphs import SPARKS
from ..theme import Ink, Mark, Role
from .canvas import Canvas, clip, wrapped
from .reading import reading_of
from .suspects_view import SHOWN_FROM, Block, SuspectRow, SuspectsView
from .trials import draw_trials
from .words import per_cent, plural, seconds

WIDE_FROM = 112
PANEL = 30
"""Cells of the side panel at wide sizes."""


def draw_suspects(view: SuspectsView, width: int, height: int, ink: Ink) -> list[Strip]:
    """The picture, the list, the next round, and what it all means in words."""
    canvas = Canvas(width, height, ink)
    wide = width >= WIDE_FROM
    _draw_question(canvas, view, wide)
    if view.belief is None:
        _draw_beginning(canvas, 2, view)
        return canvas.strips()
    sentences = reading_of(view)
    reading_rows = canvas_rows(sentences, width)
    next_rows = _next_rows(view, wide)
    room = height - reading_rows - next_rows - 1
    rows = max(1, min(len(view.nodes), room - 4 - min(5 if wide else 3, len(view.suspects))))
    y = draw_map(canvas, 2 if wide else 1, view, rows, width - (PANEL if wide else 0))
    if wide:
        _draw_panel(canvas, width - PANEL + 1, 2, view)
        y = max(y, 11)
    y = _draw_ranked(canvas, y, view, wide, height - reading_rows - next_rows - 1)
    y = _draw_next(canvas, y, view, next_rows)
    draw_trials(canvas, y, height - reading_rows, view.trials)
    put_reading(canvas, height - reading_rows, sentences)
    return canvas.strips()


def _draw_question(canvas: Canvas, view: SuspectsView, wide: bool) -> None:
    ink, belief = canvas.ink, view.belief
    x = canvas.put(1, 0, ("Which part is it?", ink(Role.TITLE, bold=True)))
    if belief is None:
        return
    canvas.put(x + 2, 0, (f"{plural(len(view.nodes), 'node')} · {plural(belief.parts, 'part')}", ink(Role.DIM)))
    tail = f"  {belief.probes} probes  {seconds(belief.seconds)}" if wide else f"  {seconds(belief.seconds)}"
    canvas.right(0, (f"after round {belief.round}", ink(bold=True)), (tail, ink(Role.DIM)))


def _draw_beginning(canvas: Canvas, y: int, view: SuspectsView) -> None:
    """Nothing is believed yet: say what is going on."""
    words = {
        "": "Nobody has looked yet. Press p: a round is proposed first, and nothing runs before you say yes.",
        "planning": "Planning the first round: which probes would tell most.",
        "proposed": "The first round waits for your yes: press p.",
        "running": "The first round runs.",
        "cancelled": "Cancelled before anything was learnt.",
        "ended": "Ended before anything was learnt.",
    }
    y = canvas.wrap(1, y, words.get(view.state, view.state), canvas.width - 2)
    if view.error:
        y = canvas.wrap(1, y + 1, view.error, canvas.width - 2, canvas.ink.mark(Mark.WARN))
    if view.next:
        _draw_next(canvas, y + 1, view, canvas.height - y - 1)


def draw_map(canvas: Canvas, y: int, view: SuspectsView, rows: int, room: int) -> int:
    """Rows are nodes, blocks of columns families of parts; returns the row after it."""
    ink = canvas.ink
    names = min(14, max(len(node) for node in view.nodes) + 2) if view.nodes else 8
    blocks, cell, dropped = _fitting(view, room - names - 1)
    xs, x = [], names
    for block in blocks:
        xs.append(x)
        canvas.put(x + cell - 2, y, (block.family, ink(Role.DIM)))
        for position, index in enumerate(block.columns):
            digits = str(index) if cell > 2 or index < 10 else str(index % 10)
            canvas.put(x + cell * position, y + 1, (digits.rjust(cell - 1), ink(Role.DIM)))
        x += cell * len(block.columns) + 2
    shown = _shown_nodes(view, rows)
    for node in shown:
        row = y + 2 + shown.index(node)
        hot = any(share > 0.1 for (owner, *_), share in view.belief_at.items() if owner == node)
        canvas.put(1, row, (clip(node, names - 2), ink(Role.TITLE if hot else Role.DIM, bold=hot)))
        for block, x in zip(blocks, xs, strict=True):
            for position, index in enumerate(block.columns):
                _draw_cell(canvas, x + cell * position, row, cell, view, (node, block.family, index))
    y += 2 + len(shown)
    left = len(view.nodes) - len(shown)
    notes = [f"and {plural(left, 'node')} more, none believed above {per_cent(SHOWN_FROM)}"] if left else []
    notes += [f"{', '.join(dropped)}: no room"] if dropped else []
    if notes:
        canvas.put(1, y, (clip(" · ".join(notes), room - 2), ink(Role.DIM)))
        y += 1
    return y


def _fitting(view: SuspectsView, room: int) -> tuple[list[Block], int, list[str]]:
    """Blocks that fit, with cells of 3 if they all do, else of 2; the least believed are dropped and named."""
    blocks = list(view.blocks)
    for cell in (3, 2):
        if sum(cell * len(block.columns) + 2 for block in blocks) <= room:
            return blocks, cell, []
    believed = {
        block.family: sum(share for (_, family, _), share in view.belief_at.items() if family == block.family)
        for block in blocks
    }
    dropped: list[str] = []
    while len(blocks) > 1 and sum(2 * len(block.columns) + 2 for block in blocks) > room:
        least = min(blocks, key=lambda block: believed[block.family])
        blocks.remove(least)
        dropped.append(least.family)
    return blocks, 2, dropped


def _shown_nodes(view: SuspectsView, rows: int) -> list[NodeId]:
    """All nodes in their order, or the most believed ones where not all fit."""
    if len(view.nodes) <= rows:
        return list(view.nodes)
    most = dict.fromkeys(view.nodes, 0.0)
    for (node, *_), share in view.belief_at.items():
        most[node] = max(most.get(node, 0.0), share)
    kept = set(sorted(view.nodes, key=lambda node: -most[node])[: max(1, rows - 1)])
    return [node for node in view.nodes if node in kept]


def _draw_cell(canvas: Canvas, x: int, y: int, cell: int, view: SuspectsView, where: tuple[NodeId, str, int]) -> None:
    ink = canvas.ink
    share = view.belief_at.get(where, 0.0)
    if where in view.convicted:
        canvas.put(x, y, (Mark.FAIL.glyph.center(cell), ink.mark(Mark.FAIL, fill=True)))
    elif share >= SHOWN_FROM:
        number = f"{min(99, round(share * 100)) or 1}"
        canvas.put(x, y, (f"{number:>{cell - 1}} " if cell > 2 else f"{number:>2}", ink.heat(share)))
    else:
        canvas.put(x + cell - 2, y, (Mark.OK.glyph, ink(Role.OK)))


def _draw_panel(canvas: Canvas, x: int, y: int, view: SuspectsView) -> None:
    """How far it is to a verdict, and what was learnt about the measurements."""
    ink, belief = canvas.ink, view.belief
    assert belief is not None
    top = view.suspects[0] if view.suspects else None
    others = max(0.0, 1 - belief.no_fault - (top.posterior if top else 0.0))
    canvas.put(x, y, ("How it went" if view.verdict else "How far", ink(Role.TITLE, bold=True)))
    rows = [
        ("top suspect", top.posterior if top else 0.0, top.history if top else (), Mark.WARN),
        ("nothing wrong", belief.no_fault, view.nothing, Mark.OK),
        ("elsewhere", others, (), Mark.OK),
    ]
    for name, share, history, mark in rows:
        y += 1
        canvas.put(x, y, (name.ljust(14), ink(Role.DIM)))
        canvas.right(y, (per_cent(share), ink(bold=True)), edge=x + 20)
        canvas.put(x + 21, y, (trail(history, 8), ink(mark.role)))
    learnt = (
        ("noise", f"{belief.noise * 100:.1f} %"),
        ("outliers", f"{belief.outliers * 100:.1f} % of windows"),
        ("bursts", f"{belief.burst:.1f} windows"),
    )
    y += 2
    canvas.put(x, y, ("Learnt", ink(Role.TITLE, bold=True)))
    for name, value in learnt:
        y += 1
        canvas.put(x, y, (name.ljust(9), ink(Role.DIM)), (value, ink(Role.DIM)))


def trail(shares: tuple[float, ...], width: int) -> str:
    """Belief by round, 0 to 1; one character a round, the newest at the right."""
    tail = shares[-width:]
    return "".join(SPARKS[max(0, min(7, int(share * 7.999)))] for share in tail).rjust(width)


def _draw_ranked(canvas: Canvas, y: int, view: SuspectsView, wide: bool, end: int) -> int:
    """A row a class, most believed first; the columns of reasons go first where it is narrow."""
    belief = view.belief
    assert belief is not None
    shown = view.suspects[: max(1, min(len(view.suspects), end - y - 1, 6))]
    held = sum(row.posterior for row in shown)
    note = f"{per_cent(held)} of the belief is in {plural(len(shown), 'class')} of {plural(belief.parts, 'part')}"
    if not shown:
        note = "no part is suspected"
    canvas.rule(y, "Suspects", note if wide else "")
    heads = (
        ((72, "bad"), (82, "clean"), (90, "nats"), (99, "strikes"))
        if wide
        else ((57, "bad"), (65, "clean"), (76, "strikes"))
    )
    for edge, head in heads:
        canvas.right(y, (f" {head} ", canvas.ink(Role.DIM)), edge=edge + 1)
    if wide:
        canvas.put(102, y, (" by round ", canvas.ink(Role.DIM)))
    for number, row in enumerate(shown):
        y += 1
        _draw_suspect(canvas, y, row, number == 0, wide)
    left = len(view.suspects) - len(shown)
    if left and y + 1 < end:
        y += 1
        canvas.put(
            3,
            y,
            (
                f"… and {plural(left, 'class')} more with {per_cent(sum(r.posterior for r in view.suspects) - held)}",
                canvas.ink(Role.DIM),
            ),
        )
    return y + 1


def _draw_suspect(canvas: Canvas, y: int, row: SuspectRow, first: bool, wide: bool) -> None:
    ink = canvas.ink
    likely = row.posterior >= 0.5
    tone = ink(Role.WARN, bold=True) if likely else ink()
    canvas.put(1, y, (Mark.WARN.glyph if likely else " ", tone))
    canvas.put(3, y, (clip(row.name, 21 if wide else 24), tone))
    if wide:
        canvas.put(25, y, (clip(row.kinds, 27), ink(Role.DIM)))
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


def _next_rows(view: SuspectsView, wide: bool) -> int:
    if view.next is None or view.verdict is not None:
        return 0
    return 2 + min(len(view.next.groups), 4 if wide else 2)


def _draw_next(canvas: Canvas, y: int, view: SuspectsView, room: int) -> int:
    """The round that waits, runs or ran last: cost, what it is to decide, what it touches."""
    coming, ink = view.next, canvas.ink
    if coming is None or room < 2:
        return y
    title = {"proposed": "Next", "running": "Running"}.get(view.state, "Last")
    note = f"{plural(coming.trials, 'probe')} at once · {seconds(coming.seconds)} · {plural(len(coming.nodes), 'node')}"
    canvas.rule(
        y,
        f"{title}: round {coming.number}",
        f"{note} · promises {coming.gain:.2f} nats of information" if canvas.width >= WIDE_FROM else note,
    )
    y += 1
    canvas.put(1, y, (clip(coming.reason, canvas.width - 2), ink()))
    groups = coming.groups[: room - 2]
    for group in groups:
        y += 1
        x = canvas.put(1, y, (f"{group.count}×".rjust(4), ink(bold=True)), (f" {group.probe:<5}", ink()))
        x = canvas.put(x, y, (f" {clip(group.node, 12)} ", ink()), (f"{seconds(group.seconds):>6}  ", ink(Role.DIM)))
        left = len(coming.groups) - len(groups) if group is groups[-1] else 0
        more = f" and {plural(left, 'group')} more" if left else ""
        canvas.put(x, y, (clip(group.targets, canvas.width - x - 1 - len(more)) + more, ink(Role.DIM)))
    return y + 1


def canvas_rows(sentences: list[str], width: int) -> int:
    """Rows that a reading takes, with the line above it."""
    return 1 + sum(len(wrapped(sentence, width - 10)) for sentence in sentences)


def put_reading(canvas: Canvas, y: int, sentences: list[str]) -> int:
    """What the picture means, in words: the last sentence, which says what to do, is bold."""
    ink = canvas.ink
    canvas.hline(0, canvas.width - 1, y, ink(Role.FAINT))
    y += 1
    canvas.put(1, y, ("Reading", ink(Role.TITLE, bold=True)))
    for sentence in sentences:
        y = canvas.wrap(9, y, sentence, canvas.width - 10, ink(bold=sentence is sentences[-1]))
    return y
