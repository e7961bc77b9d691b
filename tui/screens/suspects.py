"""The localization: belief while it gathers, the verdict at its end."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from ..draw.suspects import draw_suspects
from ..draw.suspects_view import suspects_view
from ..draw.verdict import draw_verdict
from ..keys import BACK, BUNDLE, LOCALIZE, OPEN, STOP
from .view_screen import ViewScreen


class SuspectsScreen(ViewScreen):
    """Which part is it?"""

    NAME = "suspects"
    KEYS = (BUNDLE, LOCALIZE, OPEN, STOP, BACK)
    UNSHOWN = frozenset({"suspects"})

    def unshown(self) -> frozenset[str]:
        """The bundle comes with the verdict, stopping goes with it."""
        return self.UNSHOWN | {"stop"} if self.snapshot.verdict else self.UNSHOWN | {"bundle"}

    def crumbs(self) -> tuple[str, ...]:
        """Case, fleet, localize, verdict."""
        end = ("verdict",) if self.snapshot.verdict else ()
        return (self.owner.title_of_case, "fleet", "localize", *end)

    def picture(self, width: int, height: int) -> Sequence[Strip]:
        """Suspects, or how it ended."""
        view = suspects_view(self.snapshot, self.fabric, self.owner.session.investigation)
        draw = draw_verdict if view.verdict else draw_suspects
        return draw(view, width, height, self.ink)

    def action_localize(self) -> None:
        """Answer the proposal, or begin anew on the same nodes."""
        self.owner.answer_or_localize()

    def action_open(self) -> None:
        """The node of the part most believed to be at fault, with that part selected."""
        snapshot = self.snapshot
        parts = [verdict.component for verdict in snapshot.verdict.verdicts] if snapshot.verdict else []
        parts += [suspect.component for suspect in snapshot.belief.suspects] if snapshot.belief else []
        if parts:
            self.owner.open_node(parts[0].node, parts[0])

    def action_stop_probing(self) -> None:
        """Cancel the investigation."""
        self.owner.stop_probing()
