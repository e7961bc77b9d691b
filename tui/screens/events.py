"""Lens 4: log lines and what was done, of the fleet or of one node."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from ...incident.ids import NodeId
from ..draw.events import draw_events
from ..draw.events_view import EventLine, event_lines
from ..keys import LENS_1, LENS_2, LENS_4, MOVES
from .view_screen import ViewScreen


class EventsScreen(ViewScreen):
    """Newest at the bottom; the selection stays on its line when new ones come."""

    NAME = "events"
    KEYS = (LENS_1, LENS_2, LENS_4, *MOVES)
    UNSHOWN = frozenset({"lens_events"})

    def __init__(self, node: NodeId | None) -> None:
        super().__init__()
        self.node = node
        self._chosen_id: str | None = None

    def crumbs(self) -> tuple[str, ...]:
        """Case, fleet, node, lens."""
        return (self.owner.title_of_case, "fleet", *([self.node] if self.node else []), "events")

    def picture(self, width: int, height: int) -> Sequence[Strip]:
        """The page around the selected line."""
        lines = self._lines()
        return draw_events(lines, width, height, self.ink, self._position(lines))

    def move(self, rows: int, columns: int) -> None:
        """Through the lines; at the end it follows what comes."""
        lines = self._lines()
        at = self._position(lines) + rows
        self._chosen_id = lines[max(0, at)].id if lines and at < len(lines) - 1 else None

    def action_lens(self, lens: str) -> None:
        """Another lens on the same node."""
        if lens != "events":
            self.owner.open_lens(lens, self.node)

    def _lines(self) -> tuple[EventLine, ...]:
        return event_lines(self.snapshot, None if self.node is None else (self.node,), self.pattern)

    def _position(self, lines: Sequence[EventLine]) -> int:
        last = max(0, len(lines) - 1)
        return next((at for at, line in enumerate(lines) if line.id == self._chosen_id), last)
