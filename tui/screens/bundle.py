"""The evidence dialog: asks, shows how far the writing is, and tells where the bundle lies."""

from __future__ import annotations

from collections.abc import Callable

from textual.strip import Strip

from ..draw.bundle import bundle_rows, draw_bundle
from ..export import Export
from ..keys import NO, Key
from ..theme import Ink
from .dialog import StripDialog

WRITE = Key("write", "y,enter", "y", "yes", "write it", "Write the bundle.")
LOOK_EVERY = 0.5
"""Seconds between looks at an export under way."""


class BundleScreen(StripDialog[None]):
    """A view of an export, which goes on when the dialog is closed."""

    KEYS = (WRITE, NO)

    def __init__(self, ink: Ink, export: Export, begin: Callable[[Export], None]) -> None:
        super().__init__(ink)
        self._export = export
        self._begin = begin

    def on_mount(self) -> None:
        """Follow the export."""
        self.set_interval(LOOK_EVERY, self.redraw)

    def draw(self, width: int, height: int) -> list[Strip]:
        """The dialog as it stands."""
        return draw_bundle(self._export.view, width, height, self.ink)

    def rows(self, width: int) -> int:
        """As many as the longest of its states."""
        return bundle_rows(self._export.view, width)

    def action_yes(self) -> None:
        """Write it, once; afterwards the same key closes."""
        if self._export.view.state == "asking":
            self._begin(self._export)
            self.redraw()
        elif not self._export.is_writing:
            self.dismiss()

    def action_no(self) -> None:
        """Close; an export under way goes on."""
        self.dismiss()
