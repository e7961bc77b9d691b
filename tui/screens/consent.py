"""The dialog that asks before a round of probes runs."""

from __future__ import annotations

from collections.abc import Mapping

from textual.strip import Strip

from ..draw.consent import consent_rows, draw_consent
from ..draw.suspects_view import NextRound
from ..keys import ALL, NO, YES
from ..theme import Ink
from .dialog import StripDialog


class ConsentScreen(StripDialog[str]):
    """Answers `yes`, `all` or `no`."""

    KEYS = (YES, ALL, NO)

    def __init__(self, ink: Ink, coming: NextRound, titles: Mapping[str, str], unmeasured: str = "") -> None:
        super().__init__(ink)
        self._unmeasured = unmeasured
        self._coming = coming
        self._titles = titles

    def draw(self, width: int, height: int) -> list[Strip]:
        """Nodes, probes, cost."""
        return draw_consent(self._coming, self._titles, width, height, self.ink, self._unmeasured)

    def rows(self, width: int) -> int:
        """Up to all groups of the round."""
        return consent_rows(self._coming, self._titles, width, self._unmeasured)

    def action_yes(self) -> None:
        """Run this round."""
        self.dismiss("yes")

    def action_all(self) -> None:
        """Run all rounds to a verdict."""
        self.dismiss("all")

    def action_no(self) -> None:
        """Run nothing."""
        self.dismiss("no")
