"""Lens 2: error counters of the fleet or of one node."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from ...incident.ids import NodeId
from ...incident.snapshot import Snapshot
from ..draw.counters import draw_counters
from ..draw.counters_view import CounterTable, counter_table
from ..keys import FAULTS, LENS_1, LENS_2, LENS_4, LOCALIZE, MOVES, OPEN
from .view_screen import ViewScreen


class CountersScreen(ViewScreen):
    """Worst first; only the rows in view are ever formatted."""

    NAME = "counters"
    KEYS = (OPEN, FAULTS, LENS_1, LENS_4, LOCALIZE, LENS_2, *MOVES)
    UNSHOWN = frozenset({"lens_counters"})

    def __init__(self, node: NodeId | None) -> None:
        super().__init__()
        self.node = node
        self._chosen = 0
        self._top = 0
        self._kept: tuple[Snapshot, str, bool, CounterTable] | None = None

    def crumbs(self) -> tuple[str, ...]:
        """Case, fleet, node, lens."""
        return (self.owner.title_of_case, "fleet", *([self.node] if self.node else []), "counters")

    def picture(self, width: int, height: int) -> Sequence[Strip]:
        """The rows in view."""
        table = self._table()
        self._chosen = max(0, min(self._chosen, len(table) - 1))
        room = max(1, height - 2)
        self._top = max(0, min(self._top, self._chosen, len(table) - room))
        self._top = max(self._top, self._chosen - room + 1)
        return draw_counters(table, width, height, self.ink, self._top, self._chosen, self.node is None)

    def move(self, rows: int, columns: int) -> None:
        """Through the table."""
        self._chosen = max(0, self._chosen + rows)

    def action_open(self) -> None:
        """The node the counter is on, with its part selected."""
        table = self._table()
        if len(table):
            self.owner.open_node(*table.part(min(self._chosen, len(table) - 1)))

    def action_lens(self, lens: str) -> None:
        """Another lens on the same node."""
        if lens != "counters":
            self.owner.open_lens(lens, self.node)

    def action_localize(self) -> None:
        """Localize on the node of the selected counter."""
        table = self._table()
        if len(table):
            self.owner.localize((table.part(min(self._chosen, len(table) - 1))[0],))

    def _table(self) -> CounterTable:
        """Made once a snapshot: scrolling through it costs nothing."""
        kept = self._kept
        if kept is None or kept[0] is not self.snapshot or kept[1:3] != (self.pattern, self.faults_only):
            nodes = None if self.node is None else (self.node,)
            table = counter_table(self.snapshot, nodes, self.pattern, self.faults_only)
            kept = self._kept = (self.snapshot, self.pattern, self.faults_only, table)
        return kept[3]
