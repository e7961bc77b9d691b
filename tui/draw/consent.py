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


def consent_rows(coming: NextRound, titles: Mapping[str, str], width: int, unmeasured: str = "") -> int:
    """Rows in which everything has room."""
    above = sum(len(wrapped(text, width - 2)) for text, _ in _sentences(coming, titles, unmeasured))
    return above + len(coming.groups) + 1 + len(wrapped(WARNING, width - 4)) + 2


def draw_consent(
    coming: NextRound, titles: Mapping[str, str], width: int, height: int, ink: Ink, unmeasured: str = ""
) -> list[Strip]:
    """`titles` says for each probe what it does and disturbs, `unmeasured` why the round before measured nothing.

    The keys stand at the bottom whatever the height.
    """
    canvas = Canvas(width, height, ink)
    warning = wrapped(WARNING, width - 4) if height >= 9 else []
    end = height - 2 - len(warning) if warning else height - 1
    y = 0
    for text, role in _sentences(coming, titles, unmeasured):
        style = ink(role, bold=role in (Role.TITLE, Role.WARN))
        y = canvas.wrap(1, y, text, width - 2, style, limit=max(0, end - y))
    _draw_groups(canvas, y, end, coming)
    for number, row in enumerate(warning):
        canvas.put(1, end + number, (" " if number else Mark.WARN.glyph, ink.mark(Mark.WARN)), f" {row}")
    _keys(canvas, height - 1)
    return canvas.strips()


def _sentences(coming: NextRound, titles: Mapping[str, str], unmeasured: str) -> list[tuple[str, Role]]:
    """The question with its cost, what for, what each outcome would mean, and what each probe is."""
    count, nodes = plural(coming.trials, "probe"), plural(len(coming.nodes), "node")
    said = [(f"Run round {coming.number}? {count} at once, {seconds(coming.seconds)}, on {nodes}", Role.TITLE)]
    if unmeasured:
        said.append((f"The last round measured nothing: {unmeasured}", Role.WARN))
    said.append((f"To decide: {coming.reason}", Role.TEXT))
    said += [(sentence, Role.DIM) for sentence in coming.meaning]
    probes = dict.fromkeys(group.probe for group in coming.groups)
    described = ((probe, titles.get(probe.partition("@")[0], "no description")) for probe in probes)
    return said + [(f"{probe}: {title}", Role.TEXT) for probe, title in described]


def _draw_groups(canvas: Canvas, y: int, end: int, coming: NextRound) -> None:
    """A row a node; those without room are counted."""
    ink, width = canvas.ink, canvas.width
    room = end - y
    shown = len(coming.groups) if len(coming.groups) <= room else max(0, room - 1)
    for group in coming.groups[:shown]:
        x = canvas.put(1, y, (f"{group.node} ", ink(bold=True)), f"{group.count}× {group.probe}  ")
        canvas.put(x, y, (clip(group.targets, width - x - 1), ink(Role.DIM)))
        y += 1
    if shown < len(coming.groups) and room > 0:
        left = plural(len(coming.groups) - shown, "group")
        canvas.put(1, y, (clip(f"… and {left} more; see the suspects screen", width - 2), ink(Role.DIM)))


def _keys(canvas: Canvas, y: int) -> None:
    ink = canvas.ink
    narrow = canvas.width < 60
    keys = (("y", "this round"), ("a", "all to verdict" if narrow else "all rounds up to a verdict"), ("esc", "no"))
    x = 1
    for key, label in keys:
        x = canvas.put(x, y, (key, ink(Role.KEY, bold=True)), f" {label}") + (2 if narrow else 3)
