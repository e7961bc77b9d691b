"""What all full screens share: one strip view of header, picture, hint and keys, and the keys that work on all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.screen import Screen
from textual.strip import Strip

from ...incident.snapshot import Snapshot
from ...topology.fabric import Fabric
from ..draw.page import Header, KeyHint, Page, draw_page
from ..draw.problems import Problem, draw_problems
from ..keys import EVERYWHERE, Key
from ..theme import Ink, Mark
from ..widgets.cropped_update import CroppingCompositor
from ..widgets.strip_view import StripView

if TYPE_CHECKING:
    from ..app import LanescopeApp

SMALLEST = (80, 24)
"""Below this a screen is the list of findings, whatever it is."""


class ViewScreen(Screen[None]):
    """A picture of the app's snapshot. Subclasses say what it shows and what their own keys do."""

    NAME: ClassVar[str] = ""
    """For hints."""
    KEYS: ClassVar[tuple[Key, ...]] = ()
    """Own keys, those that act first."""
    UNSHOWN: ClassVar[frozenset[str]] = frozenset()
    """Ids of keys that would say nothing in this screen's footer."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = CroppingCompositor()
        self.pattern = ""
        self.faults_only = False
        self.problem: int | None = None
        """Position in the list of problems that n and N went to."""
        for key in self.keys():
            self._bindings.bind(key.keys, key.action, key.label, show=False)

    def compose(self) -> ComposeResult:
        """One widget: rows are the unit of repainting."""
        yield StripView(self._page, id="page")

    def on_screen_resume(self) -> None:
        """Show what happened while another screen was on top."""
        self.redraw()

    @property
    def owner(self) -> LanescopeApp:
        """The app, which holds the snapshot."""
        return cast("LanescopeApp", self.app)

    @property
    def snapshot(self) -> Snapshot:
        """What is shown."""
        return self.owner.snapshot

    @property
    def fabric(self) -> Fabric:
        """How it is wired."""
        return self.owner.fabric

    @property
    def ink(self) -> Ink:
        """What to draw with."""
        return self.owner.ink

    def crumbs(self) -> tuple[str, ...]:
        """Where this screen is, from the case down."""
        raise NotImplementedError

    def picture(self, width: int, height: int) -> Sequence[Strip]:
        """The picture for that size."""
        raise NotImplementedError

    def problems(self) -> tuple[Problem, ...]:
        """What n and N go through here."""
        return self.owner.problems

    def go_to(self, problem: Problem) -> None:
        """Bring a problem into view."""

    def move(self, rows: int, columns: int) -> None:
        """Move the selection."""

    def redraw(self) -> None:
        """Draw again and repaint what changed."""
        for page in self.query("#page").results(StripView):  # none before the screen is composed
            page.redraw()

    def keys(self) -> tuple[Key, ...]:
        """All keys of this screen, in the order of its footer."""
        return tuple(dict.fromkeys((*self.KEYS, *EVERYWHERE)))

    def unshown(self) -> frozenset[str]:
        """Ids of keys that the footer leaves out now."""
        return self.UNSHOWN

    def is_small(self) -> bool:
        """Whether there is only room for the findings."""
        return self.size.width < SMALLEST[0] or self.size.height < SMALLEST[1]

    def action_move(self, rows: int, columns: int) -> None:
        """Arrows: through the problems where the list is all there is."""
        if self.is_small():
            self.action_problem(rows or columns)
            return
        self.move(rows, columns)
        self.redraw()

    def action_problem(self, step: int) -> None:
        """n and N."""
        found = self.problems()
        if not found:
            self.owner.say("nothing needs a look")
            return
        at = (
            -1
            if self.problem is None and step > 0
            else 0
            if self.problem is None
            else min(self.problem, len(found) - 1)
        )
        self.problem = (at + step) % len(found)
        self.go_to(found[self.problem])
        self.redraw()

    def action_faults(self) -> None:
        """Only what needs a look, or all again."""
        self.faults_only = not self.faults_only
        self.redraw()

    def action_filter(self) -> None:
        """Ask for a text to filter by; the picture follows while it is typed."""
        self.owner.ask_filter(self.pattern, self.filter_by)

    def filter_by(self, pattern: str) -> None:
        """Keep what holds the pattern."""
        self.pattern = pattern
        self.redraw()

    def action_back(self) -> None:
        """Undo what narrows the view first, then leave the screen."""
        if self.pattern or self.faults_only or self.problem is not None:
            self.pattern, self.faults_only, self.problem = "", False, None
            self.redraw()
        else:
            self.owner.go_back()

    def action_help(self) -> None:
        """The keys of this screen."""
        self.owner.show_help(self.keys())

    def action_command(self) -> None:
        """Type a command."""
        self.owner.ask_command()

    def action_freeze(self) -> None:
        """Freeze or go on."""
        self.owner.freeze(self.owner.frozen_at is None)

    def action_reread(self) -> None:
        """A fresh look now."""
        self.owner.look()

    def action_bundle(self) -> None:
        """The evidence dialog."""
        self.owner.ask_bundle()

    def action_suspects(self) -> None:
        """Suspects or verdict."""
        self.owner.show_suspects()

    def action_picture(self) -> None:
        """Save this screen."""
        self.owner.save_picture()

    def _page(self, width: int, height: int) -> list[Strip]:
        return draw_page(self._frame(), self._body, width, height, self.ink)

    def _body(self, width: int, height: int) -> Sequence[Strip]:
        if self.is_small():
            problems = self.problems()
            chosen = None if self.problem is None else min(self.problem, len(problems) - 1)
            return draw_problems(problems, len(self.snapshot.nodes), width, height, self.ink, chosen)
        return self.picture(width, height)

    def _frame(self) -> Page:
        snapshot = self.snapshot
        problems = self.owner.problems
        findings = sum(finding.is_fault for finding in snapshot.findings)
        header = Header(
            self._crumbs_with_filter(),
            snapshot.now,
            max((view.last_heard for view in snapshot.nodes.values()), default=0.0),
            snapshot.source,
            snapshot.up(),
            len(snapshot.nodes),
            findings,
            max((problem.mark for problem in problems), default=Mark.OK),
            self.owner.frozen_at,
        )
        footer = tuple(KeyHint(key.shown, key.label) for key in self.keys() if key.id not in _UNSHOWN | self.unshown())
        return Page(header, self.owner.line_for(self.NAME), footer)

    def _crumbs_with_filter(self) -> tuple[str, ...]:
        narrowed = [f"/{self.pattern}"] if self.pattern else []
        narrowed += ["faults only"] if self.faults_only else []
        return (*self.crumbs(), *narrowed)


_UNSHOWN = {"left", "right", "up", "down", "page_up", "page_down", "previous", "reread", "picture"}
"""Keys that help lists and the footer has no room for."""
