"""A grid of styled cells on which crossing lines join and text is never cut in half.

All drawings end here: put runs of text, rules, boxes and meters at a place, then take the strips.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ..glyphs import to_ascii, visible
from ..theme import Ink, Mark, Role

Run: TypeAlias = str | tuple[str, Style]
UP, RIGHT, DOWN, LEFT = range(4)
LIGHT, HEAVY = 1, 2


class Canvas:
    """Cells of `width` by `height`; what falls outside is dropped."""

    def __init__(self, width: int, height: int, ink: Ink) -> None:
        self.width, self.height, self.ink = width, height, ink
        blank = ink()
        self._chars = [[" "] * width for _ in range(height)]
        self._styles = [[blank] * width for _ in range(height)]
        self._lines: dict[tuple[int, int], list[int]] = {}
        self._ranks: dict[tuple[int, int], int] = {}

    def put(self, x: int, y: int, *runs: Run) -> int:
        """Write runs one after another from x; returns the column after the last."""
        for run in runs:
            text, style = (run, self.ink()) if isinstance(run, str) else run
            x = self._write(x, y, visible(text), style)
        return x

    def right(self, y: int, *runs: Run, edge: int | None = None) -> int:
        """Write runs so that the last ends before `edge`; returns the column of the first."""
        start = (self.width - 1 if edge is None else edge) - runs_width(runs)
        self.put(start, y, *runs)
        return start

    def middle(self, x: int, y: int, text: str, style: Style) -> None:
        """Write text centred on column x."""
        self.put(x - len(text) // 2, y, (text, style))

    def wrap(self, x: int, y: int, text: str, width: int, style: Style | None = None, limit: int = 99) -> int:
        """Write a sentence over several rows, words kept whole; returns the row after the last.

        Where it needs more than `limit` rows the last one ends in `…`.
        """
        rows = wrapped(text, width)
        if len(rows) > limit:
            rows = [*rows[: limit - 1], rows[limit - 1][: width - 1] + "…"] if limit > 0 else []
        for row in rows:
            self.put(x, y, (row, style or self.ink()))
            y += 1
        return y

    def rule(self, y: int, title: str = "", note: str = "", mark: Mark = Mark.OK) -> int:
        """A line across with a title and a note on it; returns the column after them."""
        self.hline(0, self.width - 1, y, self.ink(Role.FAINT))
        x = 1
        if title:
            role = mark.role if mark.is_loud else Role.TITLE
            x = self.put(x, y, (f" {title} ", self.ink(role, bold=True)))
        if note:
            x = self.put(x, y, (clip(f"{note} ", self.width - x), self.ink(Role.DIM)))
        return x

    def meter(self, x: int, y: int, share: float, width: int, style: Style) -> None:
        """A thin bar to half a cell on a faint base: full blocks in neighbouring rows would run together."""
        halves = round(max(0.0, min(1.0, share)) * width * 2) or (1 if share > 0 else 0)
        full, half = divmod(halves, 2)
        self.put(x, y, ("─" * width, self.ink(Role.FAINT)))
        self.put(x, y, ("━" * full + "╸" * half, style))

    def hline(self, x0: int, x1: int, y: int, style: Style, weight: int = LIGHT, rank: int = 0) -> None:
        """A horizontal line from x0 to x1, joined to what it crosses; the higher rank colours a shared cell."""
        for x in range(x0, x1 + 1):
            sides = ([LEFT] if x > x0 else []) + ([RIGHT] if x < x1 else [])
            self._join(x, y, sides, weight, style, rank)

    def vline(self, x: int, y0: int, y1: int, style: Style, weight: int = LIGHT, rank: int = 0) -> None:
        """A vertical line from y0 to y1."""
        for y in range(y0, y1 + 1):
            sides = ([UP] if y > y0 else []) + ([DOWN] if y < y1 else [])
            self._join(x, y, sides, weight, style, rank)

    def box(self, x: int, y: int, width: int, height: int, style: Style, weight: int = LIGHT, rank: int = 0) -> None:
        """A frame; lines that reach it join it."""
        for row in (y, y + height - 1):
            self.hline(x, x + width - 1, row, style, weight, rank)
        for column in (x, x + width - 1):
            self.vline(column, y, y + height - 1, style, weight, rank)

    def paste(self, y: int, strips: Iterable[Strip]) -> int:
        """Copy strips drawn elsewhere onto rows from y; returns the row after the last."""
        for strip in strips:
            x = 0
            for segment in strip:
                x = self._write(x, y, segment.text, segment.style or self.ink())
            y += 1
        return y

    def strips(self) -> list[Strip]:
        """The rows, with ASCII twins where the ink asks for them."""
        return [self._strip(chars, styles) for chars, styles in zip(self._chars, self._styles, strict=True)]

    def _strip(self, chars: list[str], styles: list[Style]) -> Strip:
        segments, start = [], 0
        for x in range(1, self.width + 1):
            if x == self.width or styles[x] is not styles[start]:
                text = "".join(chars[start:x])
                segments.append(Segment(to_ascii(text) if self.ink.ascii_only else text, styles[start]))
                start = x
        return Strip(segments, self.width)

    def _write(self, x: int, y: int, text: str, style: Style) -> int:
        if not 0 <= y < self.height:
            return x + len(text)
        chars, styles = self._chars[y], self._styles[y]
        wide = not text.isascii() and cell_len(text) != len(text)
        for char in text:
            cells = cell_len(char) if wide else 1
            if x >= 0 and x + cells <= self.width:
                chars[x], styles[x] = char, style
                self._lines.pop((x, y), None)
                if cells == 2:  # the cell beside it is taken by the same character
                    chars[x + 1], styles[x + 1] = "", style
            x += cells
        return x

    def _join(self, x: int, y: int, sides: Sequence[int], weight: int, style: Style, rank: int) -> None:
        if not (0 <= x < self.width and 0 <= y < self.height):
            return
        weights = self._lines.setdefault((x, y), [0, 0, 0, 0])
        for side in sides:
            weights[side] = max(weights[side], weight)
        self._chars[y][x] = _box_characters().get((weights[0], weights[1], weights[2], weights[3]), "+")
        if rank >= self._ranks.get((x, y), -1):
            self._ranks[x, y] = rank
            self._styles[y][x] = style


def runs_width(runs: Iterable[Run]) -> int:
    """Cells that runs take when written one after another."""
    return sum(cell_len(visible(run if isinstance(run, str) else run[0])) for run in runs)


def clip(text: str, width: int) -> str:
    """Text that fits in `width` cells; what is cut shows as `…`."""
    return text if len(text) <= width else text[: max(0, width - 1)] + ("…" if width > 0 else "")


def wrapped(text: str, width: int) -> list[str]:
    """A sentence in rows of at most `width`; only a word longer than a row is broken."""
    return textwrap.wrap(visible(text), max(1, width), break_on_hyphens=False) or [""]


def text_of(strips: Iterable[Strip]) -> str:
    """What strips say, as plain lines without trailing blanks: for tests, `--plain` and screen readers."""
    return "\n".join(strip.text.rstrip() for strip in strips)


@cache
def _box_characters() -> dict[tuple[int, int, int, int], str]:
    """Weights (up, right, down, left), 0 none, 1 light, 2 heavy, to a box character, read from Unicode's own names."""
    table: dict[tuple[int, int, int, int], str] = {}
    for code in range(0x2500, 0x2580):
        words = unicodedata.name(chr(code)).removeprefix("BOX DRAWINGS ").split()
        if not {"DOUBLE", "ARC", "DIAGONAL", "DASH"} & set(words):
            table.setdefault(_weights(words), chr(code))
    return table


_SIDES = {
    "UP": [UP],
    "RIGHT": [RIGHT],
    "DOWN": [DOWN],
    "LEFT": [LEFT],
    "VERTICAL": [UP, DOWN],
    "HORIZONTAL": [LEFT, RIGHT],
}


def _weights(words: list[str]) -> tuple[int, int, int, int]:
    """`LIGHT DOWN AND RIGHT` or `DOWN HEAVY AND HORIZONTAL LIGHT`: a weight leads all, or follows its sides."""
    weights, pending = [0, 0, 0, 0], list[int]()
    lead = last = 0
    for word in words:
        if word in ("LIGHT", "HEAVY"):
            last = LIGHT if word == "LIGHT" else HEAVY
            lead = lead or (0 if pending else last)
            for side in pending:
                weights[side] = last
            pending = []
        else:
            pending += _SIDES.get(word, [])
    for side in pending:
        weights[side] = lead or last or LIGHT
    return (weights[0], weights[1], weights[2], weights[3])
