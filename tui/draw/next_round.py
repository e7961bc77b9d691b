"""The round that waits, runs or ran last: why, what each outcome would mean, what it costs and disturbs.

╶ Next: round 5 ── 4 probes at once · 0.9 s · 4 nodes · loads the GPUs, PCIe, the network ──╴
 Why     NCCL send between two nodes: is sim4 mlx5_6 at fault (99 %), or something beside it?
 Would   A trial across sim4 mlx5_6 slow: it is at fault with 99.7 % (now 99 %).
 mean    A trial across sim4 mlx5_6 clean: 62 % is left.
   1× net_pair sim2  0.6 s  GPU6→sim8 GPU3
"""

from __future__ import annotations

from ..theme import Role
from .canvas import Canvas, clip, wrapped
from .suspects_view import NextRound, SuspectsView
from .words import plural, seconds

LABEL = 9


def next_round_rows(coming: NextRound | None, width: int, groups: int) -> int:
    """Rows it takes with up to so many groups of trials."""
    if coming is None:
        return 0
    return (
        1
        + sum(len(wrapped(text, width - LABEL - 1)) for text in (coming.reason, *coming.meaning))
        + min(groups, len(coming.groups))
    )


def draw_next_round(canvas: Canvas, y: int, view: SuspectsView, end: int) -> int:
    """As much as fits before row `end`, the reason first, groups of trials last; returns the row after it."""
    coming, ink = view.next, canvas.ink
    if coming is None or end - y < 2:
        return y
    known = view.belief.round if view.belief else 0
    title = {"proposed": "Next", "running": "Running"}.get(view.state, "Last")
    title = "Held back" if view.state == "paused" and coming.number > known else title
    canvas.rule(y, f"{title}: round {coming.number}", _cost(coming, canvas.width))
    y = _put(canvas, y + 1, end, "Why", coming.reason)
    for number, sentence in enumerate(coming.meaning):
        y = _put(canvas, y, end, ("Would", "mean")[number] if number < 2 else "", sentence, dim=True)
    groups = coming.groups[: max(0, end - y)]
    for group in groups:
        x = canvas.put(1, y, (f"{group.count}×".rjust(4), ink(bold=True)), (f" {group.probe:<8}", ink()))
        x = canvas.put(x, y, (f" {clip(group.node, 12)} ", ink()), (f"{seconds(group.seconds):>6}  ", ink(Role.DIM)))
        left = len(coming.groups) - len(groups) if group is groups[-1] else 0
        more = f" and {plural(left, 'group')} more" if left else ""
        canvas.put(x, y, (clip(group.targets, canvas.width - x - 1 - len(more)) + more, ink(Role.DIM)))
        y += 1
    return y


def _cost(coming: NextRound, width: int) -> str:
    note = f"{plural(coming.trials, 'probe')} at once · {seconds(coming.seconds)} · {plural(len(coming.nodes), 'node')}"
    loads = f" · loads {coming.disturbs}" if coming.disturbs else ""
    gain = f" · promises {coming.gain:.2f} nats"
    return next((form for form in (note + loads + gain, note + loads) if len(form) < width - 24), note)


def _put(canvas: Canvas, y: int, end: int, label: str, sentence: str, dim: bool = False) -> int:
    if y >= end:
        return y
    ink = canvas.ink
    canvas.put(1, y, (label, ink(Role.TITLE, bold=True)))
    return canvas.wrap(LABEL, y, sentence, canvas.width - LABEL - 1, ink(Role.DIM if dim else Role.TEXT), limit=end - y)
