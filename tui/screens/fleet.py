"""The fleet: all nodes, all GPUs, and what needs a look."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from ...incident.ids import NodeId
from ...incident.snapshot import Snapshot
from ..draw.fleet import draw_fleet, grid_of
from ..draw.fleet_view import FleetView, Metric, fleet_view
from ..draw.problems import Problem
from ..keys import BUNDLE, FAULTS, LENS_2, LENS_4, LOCALIZE, METRIC, MOVES, NEXT, OPEN, PREVIOUS, QUIT
from .view_screen import ViewScreen


class FleetScreen(ViewScreen):
    """Where everything begins."""

    NAME = "fleet"
    KEYS = (OPEN, LOCALIZE, NEXT, LENS_2, METRIC, BUNDLE, QUIT, FAULTS, LENS_4, PREVIOUS, *MOVES)
    UNSHOWN = frozenset({"back"})

    def __init__(self) -> None:
        super().__init__()
        self.metric = Metric.HEALTH
        self.selected: NodeId | None = None
        self._kept: tuple[Snapshot, tuple[Metric, str, bool], FleetView] | None = None

    def crumbs(self) -> tuple[str, ...]:
        """Case and fleet."""
        return (self.owner.title_of_case, "fleet")

    def picture(self, width: int, height: int) -> Sequence[Strip]:
        """Grid and problems."""
        view = self._view()
        return draw_fleet(view, width, height, self.ink, self._position(view), self.problem)

    def problems(self) -> tuple[Problem, ...]:
        """Those of the nodes shown."""
        return self._view().problems

    def go_to(self, problem: Problem) -> None:
        """Select its node."""
        self.selected = problem.node

    def action_back(self) -> None:
        """Nothing selected is a state of its own: all nodes are meant."""
        if self.selected is not None and not (self.pattern or self.faults_only):
            self.selected = self.problem = None
            self.redraw()
        else:
            super().action_back()

    def move(self, rows: int, columns: int) -> None:
        """Through the grid, down the columns."""
        view = self._view()
        if not view.nodes:
            return
        grid = grid_of(view, self.size.width, self.size.height - 3, 0)
        here = self._position(view)
        at = 0 if here is None else here + rows + columns * grid.rows
        self.selected = view.nodes[max(0, min(at, len(view.nodes) - 1))].id
        self.problem = None

    def action_open(self) -> None:
        """Open the selected node; before anything was selected the one that is worst off."""
        view = self._view()
        found = view.problems
        if self.problem is not None and self.problem < len(found):
            self.owner.open_node(found[self.problem].node, found[self.problem].component)
        elif self.selected is None and found:
            self.owner.open_node(found[0].node, found[0].component)
        elif view.nodes:
            self.owner.open_node(view.nodes[self._position(view) or 0].id)

    def action_localize(self) -> None:
        """Localize on the selected node; on all that are shown before anything was selected."""
        view = self._view()
        at = self._position(view)
        chosen = view.nodes if at is None else view.nodes[at : at + 1]
        self.owner.localize(tuple(node.id for node in chosen))

    def action_metric(self) -> None:
        """The next metric."""
        self.metric = self.metric.following
        self.redraw()

    def action_lens(self, lens: str) -> None:
        """Counters or events of all nodes."""
        self.owner.open_lens(lens, None)

    def _view(self) -> FleetView:
        """Taken once a snapshot: moving through it costs only the drawing."""
        asked = (self.metric, self.pattern, self.faults_only)
        if self._kept is None or self._kept[0] is not self.snapshot or self._kept[1] != asked:
            self._kept = (self.snapshot, asked, fleet_view(self.snapshot, self.fabric, *asked))
        return self._kept[2]

    def _position(self, view: FleetView) -> int | None:
        return next((at for at, node in enumerate(view.nodes) if node.id == self.selected), None)
