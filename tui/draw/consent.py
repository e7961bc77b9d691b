"""The question before a round runs: which nodes, which probes, how long, what they disturb."""

from __future__ import annotations

from collections.abc import Mapping

from textual.strip import Strip

from ..theme import Ink, Mark, Role
from .canvas import Canvas, clip, wrapped
from .suspects_view import NextRound
from .words import plural, seconds

WARNING = (
    "Sends a copy program to the node's python3, under the node's lock. Loads these parts, refuses where compute "
    "processes run, changes nothing."
)


def draw_consent(coming: NextRound, titles: Mapping[str, str], width: int, height: int, ink: Ink) -> list[Strip]:
    """`titles` says for each probe what it does and disturbs; the keys stand at the bottom whatever the height."""
    canvas = Canvas(width, height, ink)
    y = 0
    cost = (
        f"{plural(coming.trials, 'probe')} at once, {seconds(coming.seconds)}, on {plural(len(coming.nodes), 'node')}"
    )
    head = f"Run round {coming.number}? {cost}"
    for row in wrapped(head, width - 2):
        canvas.put(1, y, (row, ink(Role.TITLE, bold=True)))
        y += 1
    end = height - 2 - len(wrapped(WARNING, width - 4)) if height >= 9 else height - 1
    y = canvas.wrap(1, y, f"To decide: {coming.reason}", width - 2, limit=max(0, end - y))
    for number, group in enumerate(coming.groups):
        if y >= end:
            left = len(coming.groups) - number
            canvas.put(
                1,
                end - 1,
                (
                    clip(f"… and {plural(left, 'group')} more; see the suspects screen".ljust(width - 2), width - 2),
                    ink(Role.DIM),
                ),
            )
            break
        x = canvas.put(1, y, (f"{group.node} ", ink(bold=True)), f"{group.count}× {group.probe}  ")
        canvas.put(x, y, (clip(group.targets, width - x - 1), ink(Role.DIM)))
        y += 1
    for probe in dict.fromkeys(group.probe for group in coming.groups):
        if y < end:
            y = canvas.wrap(
                1, y, f"{probe}: {titles.get(probe, 'no description')}", width - 2, ink(Role.DIM), limit=end - y
            )
    if height >= 9:
        for number, row in enumerate(wrapped(WARNING, width - 4)[: height - 1 - end]):
            canvas.put(1, end + number, (" " if number else Mark.WARN.glyph, ink.mark(Mark.WARN)), f" {row}")
    _keys(canvas, height - 1)
    return canvas.strips()


def _keys(canvas: Canvas, y: int) -> None:
    ink = canvas.ink
    narrow = canvas.width < 60
    keys = (("y", "this round"), ("a", "all to verdict" if narrow else "all rounds up to a verdict"), ("esc", "no"))
    x = 1
    for key, label in keys:
        x = canvas.put(x, y, (key, ink(Role.KEY, bold=True)), f" {label}") + (2 if narrow else 3)
