"""The localization: belief while it gathers, what was measured, the round that comes next, the verdict at its end."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace

from textual.strip import Strip

from ...incident.errors import LanescopeError
from ...incident.ids import ComponentId, NodeId
from ...probes.localize.edits import Edits
from ..draw.edit_search import Line, lines_of
from ..draw.measurements import Measurements
from ..draw.suspects import Pane, draw_suspects
from ..draw.suspects_view import Choice, SuspectsView, suspects_view
from ..draw.verdict import draw_verdict
from ..keys import (
    BACK,
    BUNDLE,
    DOWN,
    EDIT,
    LEFT,
    LOCALIZE,
    MATRIX,
    OPEN,
    PANE_1,
    PANE_2,
    PANE_3,
    PANE_4,
    PAUSE,
    RESUME,
    RIGHT,
    STOP,
    UP,
    Key,
)
from ..probe_titles import probe_titles
from ..session_like import InvestigationLike
from .edit_search import EditSearchScreen
from .view_screen import ViewScreen

OVER = ("ended", "cancelled")
FOUND = ("gpu", "nvlink", "nvswitch", "pcie", "bridge", "nic", "cable")
"""Kinds of parts that a finding may offer to be decided about first."""
LOOK_EVERY = 0.1
"""Seconds between looks at a search whose question is awaited."""


class SuspectsScreen(ViewScreen):
    """Which part is it?"""

    NAME = "suspects"
    KEYS = (
        BUNDLE, LOCALIZE, PAUSE, EDIT, STOP, OPEN, MATRIX, BACK,
        PANE_1, PANE_2, PANE_3, PANE_4, LEFT, RIGHT, UP, DOWN,
    )  # fmt: skip
    UNSHOWN = frozenset({"suspects", "pane_belief", "pane_matrix", "pane_round", "pane_suspects"})

    def __init__(self) -> None:
        super().__init__()
        self._measurements = Measurements()
        self._pane = Pane.BELIEF
        self._choice = Choice()

    @property
    def search(self) -> InvestigationLike | None:
        """The search under way; None where none is, or it is over."""
        found = self.owner.session.investigation
        return None if found is None or found.state in OVER else found

    def keys(self) -> tuple[Key, ...]:
        """As ever; what pauses lets a paused search go on."""
        found = super().keys()
        is_paused = self.is_attached and self.search is not None and self.search.paused_at is not None
        return tuple(RESUME if is_paused and key == PAUSE else key for key in found)

    def unshown(self) -> frozenset[str]:
        """The bundle comes with the verdict; what steers a search goes with it."""
        steering = frozenset({"pause", "edit", "stop"}) if self.search is None else frozenset()
        return self.UNSHOWN | steering | (frozenset() if self.snapshot.verdict else {"bundle"})

    def crumbs(self) -> tuple[str, ...]:
        """Case, fleet, localize, verdict."""
        end = ("verdict",) if self.snapshot.verdict else ()
        return (self.owner.title_of_case, "fleet", "localize", *end)

    def picture(self, width: int, height: int) -> Sequence[Strip]:
        """Suspects, or how it ended."""
        view = self._view()
        draw = draw_verdict if view.verdict else draw_suspects
        return draw(view, width, height, self.ink, self._pane)

    def move(self, rows: int, columns: int) -> None:
        """Left and right: another node; up and down: another pane, or another of several verdicts."""
        nodes, end = self._view().nodes, self.snapshot.verdict
        if rows and self._pane is Pane.BELIEF and end is not None and len(end.verdicts) > 1:
            self._choice = replace(self._choice, verdict=(self._view().laid_out + rows) % len(end.verdicts))
        elif rows:
            self._pane = Pane((self._pane - 1 + (1 if rows > 0 else -1)) % len(Pane) + 1)
        elif nodes:
            now = self._view().chosen
            at = nodes.index(now) if now in nodes else 0
            self._choice = replace(self._choice, node=nodes[(at + columns) % len(nodes)])

    def action_pane(self, number: int) -> None:
        """Belief, matrix, round or suspects."""
        self._pane = Pane(number)
        self.redraw()

    def action_matrix(self) -> None:
        """Within the node, or between nodes; says so where nothing was measured between them."""
        if not self._measurements.across:
            self.owner.say("nothing has been measured between nodes yet")
            return
        self._choice = replace(self._choice, network=not self._view().matrix.is_network)
        self.redraw()

    def action_localize(self) -> None:
        """Answer the proposal, go on with a paused search, or begin anew on the same nodes."""
        if self.search is not None and self.search.paused_at is not None:
            self.action_pause()
        else:
            self.owner.answer_or_localize()

    def action_pause(self) -> None:
        """Pause, or go on."""
        search = self.search
        if search is None:
            self.owner.say("nothing is being probed")
        elif search.paused_at is None:
            search.pause()
            self.owner.look()
        else:
            search.resume()
            self.owner.look()
            self._ask_when_proposed()

    def action_edit(self) -> None:
        """Limit the search: the dialog opens on the chosen node."""
        search = self.search
        if search is None:
            self.owner.say("nothing is being probed; limits belong to a search")
            return
        lines = self._lines(search)
        chosen = self._view().chosen
        at = next((number for number, line in enumerate(lines) if line.name == chosen), 0)

        def apply(edits: Edits) -> str:
            try:
                search.edit(edits)
            except LanescopeError as error:
                return str(error)
            return ""

        def applied(edits: Edits | None) -> None:
            if edits is not None:
                self.owner.look()
                self._ask_when_proposed()

        self.owner.push_screen(EditSearchScreen(self.ink, lines, search.edits, apply, at), applied)

    def action_open(self) -> None:
        """The chosen node, with its most suspected part selected."""
        snapshot = self.snapshot
        parts = [verdict.component for verdict in snapshot.verdict.verdicts] if snapshot.verdict else []
        parts += [suspect.component for suspect in snapshot.belief.suspects] if snapshot.belief else []
        node = self._choice.node or (parts[0].node if parts else None)
        if node is not None:
            self.owner.open_node(node, next((part for part in parts if part.node == node), None))

    def action_stop_probing(self) -> None:
        """Break off the search, at once."""
        self.owner.stop_probing()

    def _view(self) -> SuspectsView:
        search = self.owner.session.investigation
        return suspects_view(self.snapshot, self.fabric, search, self._measurements, self._choice)

    def _lines(self, search: InvestigationLike) -> tuple[Line, ...]:
        """Nodes and probes of the search, and the parts that can be decided about first."""
        titles = probe_titles()
        probes = [(name, titles.get(name, "").partition(";")[0]) for name in search.probes]
        believed: dict[ComponentId, float] = dict.fromkeys(sorted(search.edits.pinned), math.nan)
        for suspect in self.snapshot.belief.suspects if self.snapshot.belief else ():
            believed[suspect.component] = suspect.posterior
        for finding in self.snapshot.findings:
            if finding.is_fault and finding.component.kind in FOUND and finding.component.node in search.nodes:
                believed.setdefault(finding.component, math.nan)
        return lines_of(tuple(NodeId(node) for node in search.nodes), probes, tuple(believed.items()))

    def _ask_when_proposed(self) -> None:
        """Ask what may run as soon as a round is proposed again: its number may be one that was asked about before."""

        async def ask() -> None:
            while (search := self.search) is not None and search.state in ("paused", "planning"):
                if search.paused_at is not None:
                    return
                await asyncio.sleep(LOOK_EVERY)
            if self.is_current and search is not None and search.state == "proposed":
                self.owner.answer_or_localize()

        self.run_worker(ask(), exclusive=True, group="ask")
