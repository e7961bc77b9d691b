"""One node as rails and drops, with the part under the cursor below."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from ...incident.ids import ComponentId, NodeId
from ...incident.snapshot import Snapshot
from ..draw.detail_view import clamped, cursor_on, detail_of
from ..draw.node import draw_node
from ..draw.node_layout import Cursor
from ..draw.node_view import NodePicture, node_picture
from ..draw.problems import Problem, problems_of
from ..keys import BACK, BUNDLE, LENS_1, LENS_2, LENS_4, LOCALIZE, MOVES, NEXT, PREVIOUS
from .view_screen import ViewScreen


class NodeScreen(ViewScreen):
    """Lens 1 on a node."""

    NAME = "node"
    KEYS = (LOCALIZE, NEXT, LENS_2, LENS_4, BACK, BUNDLE, LENS_1, PREVIOUS, *MOVES)
    UNSHOWN = frozenset({"lens_topology"})

    def __init__(self, node: NodeId, part: ComponentId | None = None) -> None:
        super().__init__()
        self.node = node
        self._wanted = part
        self._cursor = Cursor()
        self._is_placed = False
        self._kept: tuple[Snapshot, NodePicture] | None = None

    def crumbs(self) -> tuple[str, ...]:
        """Case, fleet, node."""
        return (self.owner.title_of_case, "fleet", self.node)

    def picture(self, width: int, height: int) -> Sequence[Strip]:
        """Rails, drops, findings, the selected part."""
        seen = self._picture()
        cursor = self._place(seen)
        return draw_node(seen, detail_of(self.snapshot, self.fabric, seen, cursor), width, height, self.ink, cursor)

    def problems(self) -> tuple[Problem, ...]:
        """Those of this node."""
        return problems_of(self.snapshot, self.node)

    def go_to(self, problem: Problem) -> None:
        """The cursor on its part."""
        self._cursor = cursor_on(self._picture(), problem.component)

    def move(self, rows: int, columns: int) -> None:
        """From part to part."""
        seen = self._picture()
        at = self._place(seen)
        self._cursor = clamped(seen, Cursor(at.row + rows, at.column + columns))
        self.problem = None

    def action_localize(self) -> None:
        """Localize on this node."""
        self.owner.localize((self.node,))

    def action_lens(self, lens: str) -> None:
        """Another lens on the same node."""
        if lens != "topology":
            self.owner.open_lens(lens, self.node)

    def _picture(self) -> NodePicture:
        """Taken once a snapshot: moving through it costs only the drawing."""
        if self._kept is None or self._kept[0] is not self.snapshot:
            self._kept = (self.snapshot, node_picture(self.snapshot, self.fabric, self.node))
        return self._kept[1]

    def _place(self, seen: NodePicture) -> Cursor:
        """Where the cursor stands: at first on the part asked for, or the node's worst finding."""
        if not self._is_placed and (seen.gpus or seen.apart):
            part = self._wanted or (seen.problems[0].component if seen.problems else self.node)
            self._cursor = cursor_on(seen, part)
            self._is_placed = True
        self._cursor = clamped(seen, self._cursor)
        return self._cursor
