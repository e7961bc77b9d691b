"""The dialog in which an operator limits a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.strip import Strip

from ...probes.localize.edits import Edits
from ..draw.edit_search import Line, draw_edit, edit_rows, toggled
from ..keys import APPLY, DOWN, NO, PAGE_DOWN, PAGE_UP, TOGGLE, UP
from ..theme import Ink
from .dialog import StripDialog


class EditSearchScreen(StripDialog[Edits | None]):
    """Answers the edits to apply, or None where nothing is to change."""

    KEYS = (TOGGLE, APPLY, NO, UP, DOWN, PAGE_UP, PAGE_DOWN)

    def __init__(self, ink: Ink, lines: Sequence[Line], edits: Edits, apply: Callable[[Edits], str], at: int) -> None:
        """`apply` takes edits over and answers with a sentence where it refuses them; `at`: the line chosen first."""
        super().__init__(ink)
        self._lines = tuple(lines)
        self._edits = edits
        self._apply = apply
        self._at = at
        self._problem = ""

    def draw(self, width: int, height: int) -> list[Strip]:
        """The lines."""
        return draw_edit(self._lines, self._edits, self._at, self._problem, width, height, self.ink)

    def rows(self, width: int) -> int:
        """Up to all of them."""
        return edit_rows(self._lines)

    def action_move(self, rows: int, columns: int) -> None:
        """Up and down."""
        self._at = max(0, min(len(self._lines) - 1, self._at + rows))
        self.redraw()

    def action_switch(self) -> None:
        """Switch the chosen line."""
        if self._lines:
            self._edits = toggled(self._lines[self._at], self._edits)
            self._problem = ""
            self.redraw()

    def action_apply(self) -> None:
        """Take it over, or say why not and stay."""
        self._problem = self._apply(self._edits)
        if self._problem:
            self.redraw()
        else:
            self.dismiss(self._edits)

    def action_no(self) -> None:
        """Change nothing."""
        self.dismiss(None)
