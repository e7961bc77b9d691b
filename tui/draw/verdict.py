"""How probing ended: the convicted part in a heavy box with its alternatives in the same weight, why, and what to do.

"No fault found" is a page of its own: it states what it excludes.
"""

from __future__ import annotations

from collections import Counter

from textual.strip import Strip

from ...incident.events import VerdictReached
from ...incident.findings import Verdict
from ..theme import Ink, Mark, Role
from .canvas import HEAVY, Canvas, clip, wrapped
from .reading import effect_of, end_title, exclusion_words, kind_title, or_words, reading_of_end
from .suspects import WIDE_FROM, canvas_rows, draw_map, put_reading
from .suspects_view import SuspectsView, kind_words
from .words import per_cent, place, plural, seconds, spoken

_FAMILY_PLURALS = {
    "gpu": "GPUs",
    "nvlink": "NVLink lanes",
    "pcie": "PCIe links",
    "nvswitch": "NVSwitches",
    "hbm": "GPU memories",
    "bridge": "PCIe bridges",
    "numa": "sockets",
    "host": "hosts",
}


def draw_verdict(view: SuspectsView, width: int, height: int, ink: Ink) -> list[Strip]:
    """The end of a localization; `view.verdict` must be there."""
    end = view.verdict
    assert end is not None
    canvas = Canvas(width, height, ink)
    wide = width >= WIDE_FROM
    canvas.put(1, 0, ("Which part is it?", ink(Role.TITLE, bold=True)))
    tail = f"  {plural(end.probes, 'probe')}  {seconds(end.seconds)} of probing"
    canvas.right(0, (f"done after {plural(end.rounds, 'round')}", ink(bold=True)), (tail, ink(Role.DIM)))
    sentences = reading_of_end(end)
    bottom = height - canvas_rows(sentences, width)
    y = 1
    if wide and view.belief is not None and bottom > 26:
        y = draw_map(canvas, 2, view, 8, width) + 1
    y = _draw_convictions(canvas, y, bottom, end) if end.verdicts else _draw_no_conviction(canvas, y, end)
    _draw_excluded(canvas, y, bottom, end)
    put_reading(canvas, bottom, sentences)
    return canvas.strips()


def _draw_convictions(canvas: Canvas, y: int, bottom: int, end: VerdictReached) -> int:
    for number, verdict in enumerate(end.verdicts):
        if y + 5 > bottom:
            canvas.put(
                2, y, (f"… and {plural(len(end.verdicts) - number, 'verdict')} more", canvas.ink.mark(Mark.FAIL))
            )
            return y + 1
        y = _draw_box(canvas, y, verdict)
    return _draw_why(canvas, y, bottom, end.verdicts[0])


def _draw_box(canvas: Canvas, y: int, verdict: Verdict) -> int:
    """FRU and part, then what no probe separates from it, then how it misbehaves."""
    ink, width = canvas.ink, canvas.width
    inner = width - 8
    others = wrapped(f"{or_words(verdict)}: no probe tells them apart", inner - 6) if verdict.alternatives else []
    effect = wrapped(f"{effect_of(verdict)} · {verdict.fault_class} · FRU {verdict.fru}", inner)
    height = 3 + len(others) + len(effect)
    canvas.box(1, y, width - 2, height, ink(Role.FAIL, bold=True), weight=HEAVY)
    canvas.put(3, y, (f" {Mark.FAIL.glyph} Verdict ", ink(Role.FAIL, bold=True)))
    sure = f"{verdict.confidence} {per_cent(verdict.posterior)}"
    edge = canvas.right(y + 1, (sure, ink(Role.TITLE, bold=True)), edge=width - 4)
    head = kind_title(verdict)
    x = canvas.put(4, y + 1, (head, ink(Role.FAIL, bold=True)))
    canvas.put(x + 2, y + 1, (clip(place(verdict.component), edge - x - 4), ink(Role.TITLE, bold=True)))
    row = y + 2
    for number, text in enumerate(others):
        canvas.put(4, row, ("  or  " if number == 0 else "      ", ink(Role.DIM)), (text, ink(Role.TITLE, bold=True)))
        row += 1
    for text in effect:
        canvas.put(4, row, text)
        row += 1
    return row + 1


def _draw_why(canvas: Canvas, y: int, bottom: int, verdict: Verdict) -> int:
    """What convicts and what acquits each rival, one sentence each."""
    ink = canvas.ink
    if y >= bottom:
        return y
    canvas.put(
        1,
        y,
        ("Why", ink(Role.TITLE, bold=True)),
        (f"   {verdict.by} convict{'s' if verdict.by == 'bandwidth' else ''}", ink(Role.DIM)),
    )
    y += 1
    for number, sentence in enumerate(verdict.why):
        rows = wrapped(spoken(sentence), canvas.width - 5)
        if y + len(rows) > bottom - 1:
            canvas.put(3, y, (f"… and {plural(len(verdict.why) - number, 'reason')} more in the bundle", ink(Role.DIM)))
            return y + 1
        tone = ink(Role.FAIL, bold=True) if number == 0 else ink(Role.DIM)
        canvas.put(1, y, (Mark.FAIL.glyph if number == 0 else Mark.OK.glyph, tone))
        for row in rows:
            canvas.put(3, y, row)
            y += 1
    return y


def _draw_no_conviction(canvas: Canvas, y: int, end: VerdictReached) -> int:
    ink, width = canvas.ink, canvas.width
    rows = wrapped(spoken(end.reason), width - 8)
    canvas.box(1, y, width - 2, 2 + len(rows), ink(Role.TEXT, bold=True), weight=HEAVY)
    canvas.put(3, y, (f" {end_title(end)} ", ink(Role.TITLE, bold=True)))
    for row in rows:
        y += 1
        canvas.put(4, y, row)
    return y + 2


def _draw_excluded(canvas: Canvas, y: int, bottom: int, end: VerdictReached) -> None:
    """What clean trials rule out, and what could not be probed at all."""
    ink = canvas.ink
    if y + 1 >= bottom or not (end.excludes or end.untestable):
        return
    if end.excludes:
        canvas.rule(y, "What this excludes", "95 % confidence, per part")
    else:
        canvas.rule(y, "Nothing is excluded")
    y += 1
    lines = [(_FAMILY_PLURALS.get(one.family, one.family), exclusion_words(one)) for one in end.excludes]
    for number, (family, words) in enumerate(lines):
        if y >= bottom - (1 if end.untestable or number < len(lines) - 1 else 0):
            canvas.put(1, y, (f"… and {plural(len(lines) - number, 'statement')} more in the bundle", ink(Role.DIM)))
            return
        canvas.put(1, y, (f"{family:<14}", ink(Role.DIM)), clip(f"none {words}", canvas.width - 17))
        y += 1
    if end.untestable and y < bottom:
        kinds = Counter(kind_words(part) for part in end.untestable)
        counted = ", ".join(plural(count, kind) for kind, count in kinds.most_common())
        canvas.put(1, y, (f"{'not tested':<14}", ink(Role.UNKNOWN, bold=True)))
        canvas.wrap(15, y, counted, canvas.width - 17, limit=bottom - y)
