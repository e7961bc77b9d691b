"""Painting that writes the cells of a changed span and no others.

Textual's own partial update begins each span at the left edge of its widget. Over a slow link bytes are latency: the
clock at the end of a full-width line would cost the whole line every second.
"""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor


class CroppedUpdate(ChopsUpdate):
    """Changed spans of a screen, each written from its own first cell."""

    def render_segments(self, console: Console) -> str:
        """The control sequences and text to write."""
        written: list[str] = []
        for y, start, end in self.spans:
            for chop_end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                first, last = max(start, x), min(end, chop_end)
                if strip is not None and first < last:
                    written += [Control.move_to(first, y).segment.text, strip.crop(first - x, last - x).render(console)]
        return "".join(written)


class CroppingCompositor(Compositor):
    """Textual's compositor, whose partial updates are cropped on both sides."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """What to write for the regions that changed; None where none did."""
        update = super().render_partial_update()
        return None if update is None else CroppedUpdate(update.chops, update.spans, update.chop_ends)
