"""The one widget of all dense screens: it shows strips drawn elsewhere and repaints only what changed."""

from __future__ import annotations

from collections.abc import Callable

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

Draw = Callable[[int, int], list[Strip]]


class StripView(Widget):
    """Strips of a pure drawing, sized by the widget."""

    DEFAULT_CSS = "StripView { width: 1fr; height: 1fr; }"

    def __init__(self, draw: Draw, **options: str) -> None:
        super().__init__(id=options.get("id"), classes=options.get("classes"))
        self._draw = draw
        self._rows: list[Strip] = []

    def on_resize(self) -> None:
        """Draw anew for the new size."""
        self.redraw(everything=True)

    def redraw(self, everything: bool = False) -> None:
        """Draw; repaint the cells that differ from what is on screen."""
        if not self.size.area:
            return
        before, self._rows = self._rows, self._draw(self.size.width, self.size.height)
        if everything or len(before) != len(self._rows):
            self.refresh()
            return
        changed = [
            Region(start, y, end - start, 1)
            for y, (old, new) in enumerate(zip(before, self._rows, strict=True))
            if (span := changed_span(old, new))
            for start, end in [span]
        ]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """One row, for textual."""
        return self._rows[y] if y < len(self._rows) else Strip.blank(self.size.width, self.rich_style)

    @property
    def rows(self) -> list[Strip]:
        """What is on screen."""
        return self._rows


def changed_span(old: Strip, new: Strip) -> tuple[int, int] | None:
    """The cells, first and one past the last, in which two strips of equal width differ; None where they don't."""
    before, after = list(old), list(new)
    if before == after:
        return None
    start = 0
    while before and after and before[0] == after[0]:
        start += before[0].cell_length
        before.pop(0)
        after.pop(0)
    end = new.cell_length
    while before and after and before[-1] == after[-1]:
        end -= after[-1].cell_length
        before.pop()
        after.pop()
    return start, end
