"""What every screen has around its picture: where you are and how fresh it is, a hint, and the keys.

lanescope › fleet › sim3          ● live 1 s   8/8 up   3 findings   14:03:24
■ frozen at 14:03:24 ...                        (only while frozen)
…the picture…
hint: press enter on sim3 to look inside
enter open  p localize  esc back  / filter  : command  ? help
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual.strip import Strip

from ..theme import Ink, Mark, Role
from .canvas import Canvas, Run, clip, runs_width, wrapped
from .words import age, clock, plural

CONNECTS_WITHIN = 3.0
"""Seconds after the last sample before a fleet of which no node is up counts as silent."""
HINT_FROM_HEIGHT = 16
"""Terminals lower than this keep the row for the picture."""


@dataclass(frozen=True)
class Header:
    """What the first line says."""

    crumbs: tuple[str, ...]
    now: float
    heard: float
    """When the newest sample arrived; 0 before the first."""
    source: str
    up: int
    nodes: int
    findings: int
    worst: Mark
    frozen_at: float | None = None


@dataclass(frozen=True)
class KeyHint:
    """One key of the footer."""

    key: str
    label: str


@dataclass(frozen=True)
class Page:
    """Everything on a screen but its picture."""

    header: Header
    hint: str
    keys: tuple[KeyHint, ...]
    """Those that act first; the last is help and is never dropped."""


def draw_page(
    page: Page, body: Callable[[int, int], Sequence[Strip]], width: int, height: int, ink: Ink
) -> list[Strip]:
    """The whole screen: `body` draws the picture into what the frame leaves."""
    canvas = Canvas(width, height, ink)
    top = _draw_header(canvas, page.header)
    hint = wrapped(page.hint, width - 8)[:2] if page.hint and height >= HINT_FROM_HEIGHT else []
    bottom = height - 1 - len(hint)
    canvas.paste(top, body(width, bottom - top)[: bottom - top])
    for number, row in enumerate(hint):
        canvas.put(1, bottom + number, ("     " if number else "hint ", ink(Role.SELECT, bold=True)), (row, ink()))
    _draw_keys(canvas, height - 1, page.keys)
    return canvas.strips()


def _draw_header(canvas: Canvas, header: Header) -> int:
    """The first line, and the second while frozen; returns the row after them."""
    ink = canvas.ink
    canvas.put(0, 0, (" " * canvas.width, ink(bar=True)))
    right = _right_of_header(header, ink, room=canvas.width)
    edge = canvas.right(0, *right)
    x = 1
    for position, crumb in enumerate(_fitting_crumbs(header.crumbs, edge - 2)):
        x = canvas.put(x, 0, (" › " if position else "", ink(bar=True)))
        x = canvas.put(x, 0, (clip(crumb, edge - x - 1), ink(Role.TITLE, bold=position == 0, bar=True)))
    if header.frozen_at is None:
        return 1
    canvas.put(0, 1, (" " * canvas.width, ink(Role.WARN, fill=True)))
    note = f" ■ frozen at {clock(header.frozen_at)} · nothing here is live · space goes on"
    canvas.put(0, 1, (clip(note, canvas.width), ink(Role.WARN, bold=True, fill=True)))
    return 2


def _fitting_crumbs(crumbs: Sequence[str], room: int) -> list[str]:
    """Where you are counts more than how you came: crumbs go from the left, the case first."""
    kept = list(crumbs)
    while len(kept) > 1 and sum(map(len, kept)) + 3 * (len(kept) - 1) > room:
        kept.pop(0)
    return kept


def _right_of_header(header: Header, ink: Ink, room: int) -> list[Run]:
    """Freshness, nodes up, findings and the clock; what a narrow terminal has no room for goes from the left."""
    gap = ("  ", ink(bar=True))
    trouble = ink(Role.TITLE if header.worst.is_loud else Role.TEXT, bold=header.worst.is_loud, bar=True)
    found = f"{header.worst.glyph} {plural(header.findings, 'finding')}" if header.findings else "no findings"
    if header.source == "files":
        return [_freshness(header, ink), gap, (found, trouble)]
    pieces: list[Run] = [
        _freshness(header, ink),
        (f"{header.up}/{header.nodes} up", ink(bar=True)),
        (found, trouble),
        (clock(header.now), ink(bar=True)),
    ]
    wanted = [piece for piece in pieces if isinstance(piece, tuple) and piece[0]]
    order = (wanted[0], wanted[-1], wanted[1], wanted[2])
    for keep in range(len(order), 0, -1):
        kept = [piece for piece in wanted if piece in order[:keep]]
        runs: list[Run] = []
        for piece in kept:
            runs += [gap, piece] if runs else [piece]
        if runs_width(runs) <= room - 20 or keep == 1:
            return runs
    return []


def _freshness(header: Header, ink: Ink) -> Run:
    if header.frozen_at is not None:
        return ("■ frozen", ink(Role.TITLE, bold=True, bar=True))
    if header.source == "files":
        return ("■ files, read-only", ink(Role.TITLE, bold=True, bar=True))
    if header.source == "replay":
        return ("■ replay", ink(Role.TITLE, bold=True, bar=True))
    silent = header.now - header.heard
    if header.heard <= 0 or (not header.up and silent < CONNECTS_WITHIN):
        return ("● connecting", ink(Role.LIVE, bar=True))
    if not header.up:
        return (f"? silent {age(silent)}", ink(Role.TITLE, bold=True, bar=True))
    return (f"● live {age(header.now - header.heard)}", ink(Role.LIVE, bar=True))


def _draw_keys(canvas: Canvas, y: int, keys: Sequence[KeyHint]) -> None:
    """Keys that fit, from the left; the last one (help) always stands."""
    ink = canvas.ink
    canvas.put(0, y, (" " * canvas.width, ink(bar=True)))
    if not keys:
        return
    room = canvas.width - 2 - _key_width(keys[-1])
    shown: list[KeyHint] = []
    for key in keys[:-1]:
        room -= _key_width(key) + 2
        if room < 0:
            break
        shown.append(key)
    x = 1
    for key in (*shown, keys[-1]):
        x = canvas.put(x, y, (key.key, ink(Role.KEY, bold=True, bar=True)), (f" {key.label}", ink(bar=True))) + 2


def _key_width(key: KeyHint) -> int:
    return len(key.key) + 1 + len(key.label)
