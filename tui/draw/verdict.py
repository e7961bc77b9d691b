"""How probing ended: the convicted part in a heavy box with its alternatives in the same weight, why, and what to do.

    ┏━ × Verdict ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
    ┃  NIC  sim4 mlx5_6                likely 99.7 %, 332 to 1 ┃
    ┃   or  CABLE ...: no probe tells them apart               ┃
    ┗━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┛
    Why …                        Swap test …
    ╶ Collect before anyone touches it ─╴

"No fault found" is a page of its own: it states what it excludes.
"""

from __future__ import annotations

from collections import Counter

from textual.strip import Strip

from ...incident.events import VerdictReached
from ...incident.findings import Verdict
from ..theme import Ink, Mark, Role
from .belief_heat import node_heat_rows
from .canvas import HEAVY, Canvas, clip, wrapped
from .collection import wanted_for
from .progress import draw_progress
from .reading import effect_of, end_title, exclusion_words, kind_title, odds_of, or_words, reading_of_end
from .suspect_list import WIDE_FROM
from .suspects import Pane, canvas_rows, draw_map, draw_matrix_pane, draw_question, draw_suspects_pane, put_reading
from .suspects_view import SuspectsView, kind_words
from .swap_test import SwapTest, swap_test
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
    "nic": "NICs",
    "cable": "cables",
    "uplink": "uplinks",
    "leaf": "leaves",
    "spine": "spines",
    "node": "net switches",
}


def draw_verdict(view: SuspectsView, width: int, height: int, ink: Ink, pane: Pane = Pane.BELIEF) -> list[Strip]:
    """The end of a localization; `view.verdict` must be there."""
    end = view.verdict
    assert end is not None
    canvas = Canvas(width, height, ink)
    y = draw_question(canvas, view, pane)
    if pane is Pane.MATRIX:
        draw_matrix_pane(canvas, y, view, height)
        return canvas.strips()
    if pane is Pane.ROUND:
        y = draw_progress(canvas, y, view.progress)
        y = draw_map(canvas, y, view, height)
        _draw_excluded(canvas, y, height, end)
        return canvas.strips()
    sentences = reading_of_end(end)
    bottom = max(y, height - canvas_rows(sentences, width))
    if pane is Pane.SUSPECTS:
        y = draw_suspects_pane(canvas, y, view, bottom - min(4, len(end.excludes) + 2))
        _draw_excluded(canvas, y, bottom, end)
    else:
        _draw_end(canvas, y, bottom, view, end)
    put_reading(canvas, bottom, sentences)
    return canvas.strips()


def _draw_end(canvas: Canvas, y: int, bottom: int, view: SuspectsView, end: VerdictReached) -> None:
    """The verdict with all that belongs to it; the map above it where it leaves room."""
    first = end.verdicts[view.laid_out] if end.verdicts else None
    wide = canvas.width >= WIDE_FROM
    heat_rows = node_heat_rows(view.heat) + 2 if view.heat else 99
    needed = sum(_box_rows(canvas.width, verdict) for verdict in end.verdicts) + (9 if first else 8)
    if wide and bottom - y >= needed + heat_rows:
        y = draw_map(canvas, y, view, bottom - needed)
    spent = f"{plural(end.rounds, 'round')}, {plural(end.probes, 'probe')}, {seconds(end.seconds)} of probing"
    if first is None:
        y = _draw_no_conviction(canvas, y, end, spent)
    else:
        y = _draw_convictions(canvas, y, bottom, view, end, spent)
        to_collect = 3 if wanted_for(first.fru) else 0
        y = (_draw_beside if wide else _draw_below)(canvas, y, bottom - to_collect, first)
        y = _draw_collection(canvas, y, bottom, view, first)
    _draw_excluded(canvas, y, bottom, end)


def _draw_convictions(canvas: Canvas, y: int, bottom: int, view: SuspectsView, end: VerdictReached, spent: str) -> int:
    """The one laid out in its box; the others in boxes too where there is room, else in a row each."""
    first, others = end.verdicts[view.laid_out], [*end.verdicts]
    others.pop(view.laid_out)
    number = f" {view.laid_out + 1} of {len(end.verdicts)}, up and down for the others" if others else ""
    y = _draw_box(canvas, y, first, spent, number)
    boxed = sum(_box_rows(canvas.width, verdict) for verdict in others)
    if y + boxed + 16 <= bottom:
        for verdict in others:
            y = _draw_box(canvas, y, verdict, "", "")
        return y
    room = max(1, min(len(others), (bottom - y) // 4))
    for verdict in others[: room if room >= len(others) else room - 1]:
        words = (
            f"{kind_title(verdict)}  {place(verdict.component)} · {verdict.confidence} {per_cent(verdict.posterior)}"
        )
        canvas.put(2, y, (f"{Mark.FAIL.glyph} and ", canvas.ink(Role.FAIL, bold=True)))
        canvas.put(8, y, (clip(words, canvas.width - 9), canvas.ink(Role.TITLE, bold=True)))
        y += 1
    if room < len(others):
        left = plural(len(others) - room + 1, "verdict")
        canvas.put(2, y, (f"{Mark.FAIL.glyph} and {left} more", canvas.ink(Role.FAIL, bold=True)))
        y += 1
    return y


def _others(verdict: Verdict, inner: int) -> list[str]:
    return wrapped(f"{or_words(verdict)}: no probe tells them apart", inner - 6) if verdict.alternatives else []


def _effect(verdict: Verdict, inner: int) -> list[str]:
    return wrapped(f"{effect_of(verdict)} · {verdict.fault_class} · FRU {verdict.fru}", inner)


def _box_rows(width: int, verdict: Verdict) -> int:
    return 3 + len(_others(verdict, width - 8)) + len(_effect(verdict, width - 8))


def _draw_box(canvas: Canvas, y: int, verdict: Verdict, spent: str, number: str) -> int:
    """FRU and part, then what no probe separates from it, then how it misbehaves."""
    ink, width = canvas.ink, canvas.width
    inner = width - 8
    canvas.box(1, y, width - 2, _box_rows(width, verdict), ink(Role.FAIL, bold=True), weight=HEAVY)
    x = canvas.put(3, y, (f" {Mark.FAIL.glyph} Verdict", ink(Role.FAIL, bold=True)), (f"{number} ", ink(Role.DIM)))
    if spent and x + len(spent) + 6 < width:
        canvas.right(y, (f" {spent} ", ink(Role.DIM)), edge=width - 3)
    sure = f"{verdict.confidence} {per_cent(verdict.posterior)}"
    odds = f", {odds_of(verdict.posterior)}"
    edge = canvas.right(y + 1, (sure, ink(Role.TITLE, bold=True)), (odds, ink()), edge=width - 4)
    x = canvas.put(4, y + 1, (kind_title(verdict), ink(Role.FAIL, bold=True)))
    canvas.put(x + 2, y + 1, (clip(place(verdict.component), edge - x - 4), ink(Role.TITLE, bold=True)))
    row = y + 2
    for text in (others := _others(verdict, inner)):
        canvas.put(
            4, row, ("  or  " if text is others[0] else "      ", ink(Role.DIM)), (text, ink(Role.TITLE, bold=True))
        )
        row += 1
    for text in _effect(verdict, inner):
        canvas.put(4, row, text)
        row += 1
    return row + 1


def _draw_beside(canvas: Canvas, y: int, bottom: int, verdict: Verdict) -> int:
    """Why at the left, the swap test at the right."""
    left = 68
    end = min(bottom, y + 8)
    ended = _draw_why(canvas, y, end, verdict, left - 2)
    test = swap_test(spoken(verdict.next))
    other = _draw_swap(canvas, left + 2, y, end, test, canvas.width - left - 3)
    last = max(ended, other)
    canvas.vline(left, y, last - 1, canvas.ink(Role.FAINT))
    return last


def _draw_below(canvas: Canvas, y: int, bottom: int, verdict: Verdict) -> int:
    """The swap test first: it is what to do; reasons as far as there is room."""
    y = _draw_swap(canvas, 1, y, bottom, swap_test(spoken(verdict.next)), canvas.width - 2)
    return _draw_why(canvas, y, bottom, verdict, canvas.width - 1) if bottom - y >= 2 else y


def _draw_why(canvas: Canvas, y: int, end: int, verdict: Verdict, width: int) -> int:
    """What convicts and what acquits each rival, one sentence each."""
    ink = canvas.ink
    if y >= end:
        return y
    by = f"   {verdict.by} convict{'s' if verdict.by == 'bandwidth' else ''}"
    canvas.put(1, y, ("Why", ink(Role.TITLE, bold=True)), (by, ink(Role.DIM)))
    y += 1
    for number, sentence in enumerate(verdict.why):
        rows = wrapped(spoken(sentence), width - 4)
        room = end - y - (1 if number < len(verdict.why) - 1 else 0)
        if len(rows) > room:
            if y < end:
                left = plural(len(verdict.why) - number, "reason")
                canvas.put(3, y, (f"… and {left} more in the bundle", ink(Role.DIM)))
            return min(end, y + 1)
        tone = ink(Role.FAIL, bold=True) if number == 0 else ink(Role.DIM)
        canvas.put(1, y, (Mark.FAIL.glyph if number == 0 else Mark.OK.glyph, tone))
        for row in rows:
            canvas.put(3, y, row)
            y += 1
    return y


def _draw_swap(canvas: Canvas, x: int, y: int, end: int, test: SwapTest, width: int) -> int:
    """What to do, and what each outcome means."""
    ink = canvas.ink
    if not test.steps or y >= end:
        return y
    title, note = ("Swap test", "  confirms it, and tells it apart") if test.outcomes else ("Next", "")
    canvas.put(x, y, (title, ink(Role.TITLE, bold=True)), (note, ink(Role.DIM)))
    steps = test.steps[0].upper() + test.steps[1:]
    y = canvas.wrap(x, y + 1, steps, width, limit=max(0, end - y - 1))
    seen = min(width // 2 + 6, max((len(what) for what, _ in test.outcomes), default=0)) + 1
    for what, means in test.outcomes:
        rows = max(wrapped(what, seen), wrapped(means, width - seen - 4), key=len)
        if y + len(rows) > end:
            break
        canvas.wrap(x + 1, y, what, seen, ink(Role.DIM))
        canvas.put(x + 1 + seen, y, ("→", ink(Role.DIM)))
        canvas.wrap(x + seen + 3, y, means, width - seen - 4, ink(bold=True))
        y += len(rows)
    return y


def _draw_collection(canvas: Canvas, y: int, bottom: int, view: SuspectsView, verdict: Verdict) -> int:
    """What a vendor wants, marked where this case holds it; what is erased by a reset or a reseat comes first."""
    ink, node = canvas.ink, verdict.component.node
    wanted = wanted_for(verdict.fru)
    if not wanted or bottom - y < 2:
        return y
    held = [view.collection.holds(node, one) for one in wanted]
    note = f"{sum(held)} of {len(wanted)} in this case"
    note += "; what a reset or a reseat erases comes first" if canvas.width >= WIDE_FROM else ""
    canvas.rule(y, "Collect before anyone touches it", note)
    y, x = y + 1, 1
    for number, (one, is_held) in enumerate(zip(wanted, held, strict=True)):
        more = len(f"… and {len(wanted) - number} more") if y == bottom - 1 and number < len(wanted) - 1 else 0
        if x > 1 and x + len(one.text) + 3 + more > canvas.width:
            if y == bottom - 1:
                canvas.put(x, y, (f"… and {len(wanted) - number} more", ink(Role.DIM)))
                break
            y, x = y + 1, 1
        tone = ink(Role.DIM) if is_held else ink(Role.WARN, bold=True)
        x = canvas.put(x, y, ("■ " if is_held else "□ ", tone), (one.text, ink(Role.DIM if is_held else Role.TEXT))) + 3
    return y + 1


def _draw_no_conviction(canvas: Canvas, y: int, end: VerdictReached, spent: str) -> int:
    ink, width = canvas.ink, canvas.width
    rows = wrapped(spoken(end.reason), width - 8)
    canvas.box(1, y, width - 2, 2 + len(rows), ink(Role.TEXT, bold=True), weight=HEAVY)
    canvas.put(3, y, (f" {end_title(end)} ", ink(Role.TITLE, bold=True)))
    canvas.right(y, (f" {spent} ", ink(Role.DIM)), edge=width - 3)
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
