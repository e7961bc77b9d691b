"""Text in two columns, for what is read on a terminal or pasted into a ticket."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

from .wording import quoted

WIDTH = 100
LABEL = 12
"""Characters of the left column."""


class Page:
    """Collects lines; what comes from a node is made printable and bounded."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def heading(self, text: str) -> None:
        """A line of its own, with a blank one before it."""
        if self._lines:
            self._lines.append("")
        self._lines.append(quoted(text, WIDTH))

    def row(self, label: str, text: str) -> None:
        """A label and its text; nothing where there is no text."""
        lines = wrap(quoted(text, 2000), WIDTH - LABEL - 2)
        for number, line in enumerate(lines):
            self._lines.append(f"  {label if number == 0 else '':<{LABEL - 1}} {line}".rstrip())

    def rows(self, label: str, texts: Iterable[str]) -> None:
        """Several texts under one label."""
        for number, text in enumerate(texts):
            self.row(label if number == 0 else "", text)

    def text(self) -> str:
        """All of it, with a line end."""
        return "\n".join(self._lines) + "\n"
