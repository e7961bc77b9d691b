"""The application: takes a snapshot once a second, holds it for the screens, and carries out what keys ask for.

Screens read the snapshot; only this module talks to the session. Freezing is not taking snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import time
from typing import ClassVar

from textual.app import App
from textual.binding import Binding

from ..incident.errors import LanescopeError
from ..incident.events import NodeState
from ..incident.ids import ComponentId, NodeId
from ..incident.snapshot import Snapshot
from ..topology.fabric import Fabric
from .commands import Command, completions, parse_command, usage
from .draw.problems import problems_of
from .draw.suspects_view import next_round
from .draw.trials import why_unmeasured
from .draw.words import plural
from .environment import wants_ascii, wants_no_colour
from .export import Export
from .hints import hint_for
from .keys import Key
from .probe_titles import probe_titles
from .screens.bundle import BundleScreen
from .screens.consent import ConsentScreen
from .screens.counters import CountersScreen
from .screens.events import EventsScreen
from .screens.fleet import FleetScreen
from .screens.help import HelpScreen
from .screens.node import NodeScreen
from .screens.prompt import PromptScreen
from .screens.suspects import SuspectsScreen
from .screens.view_screen import ViewScreen
from .session_like import SessionLike
from .textual_theme import textual_theme
from .theme import DARK, LIGHT, MONO, PALETTES, Ink, Palette

LOOK_EVERY = 1.0
"""Seconds between snapshots."""
WATCH_EVERY = 0.2
"""Seconds between looks at an open investigation, whose questions shouldn't wait."""


class LanescopeApp(App[None]):
    """Lanescope in a terminal."""

    TITLE = "Lanescope"
    ENABLE_COMMAND_PALETTE = False
    ESCAPE_TO_MINIMIZE = False
    CSS: ClassVar[str] = "ViewScreen { background: $background; overflow: hidden; }"
    BINDINGS: ClassVar = [Binding("ctrl+c", "quit", show=False, priority=True)]

    def __init__(self, session: SessionLike, ascii_only: bool = False, light: bool = False) -> None:
        super().__init__()
        self.session = session
        palette = MONO if wants_no_colour() else LIGHT if light else DARK
        self.ink = Ink(palette, ascii_only or wants_ascii())
        self.snapshot: Snapshot = session.snapshot()
        self.fabric: Fabric = session.fabric()
        self.problems = problems_of(self.snapshot)
        self.frozen_at: float | None = None
        self._message = ""
        self._asked_round = 0
        self._seen_state = ""
        self._export: Export | None = None
        for known in PALETTES.values():
            self.register_theme(textual_theme(known))

    @property
    def title_of_case(self) -> str:
        """How crumbs begin."""
        return f"incident {self.snapshot.case}" if self.snapshot.case else "lanescope"

    def on_mount(self) -> None:
        """Show the fleet at once and begin to look."""
        self.theme = textual_theme(self.ink.palette).name
        self.snapshot = self.session.snapshot()
        self.push_screen(FleetScreen())
        self.set_interval(LOOK_EVERY, self._tick)
        self.set_interval(WATCH_EVERY, self._watch)

    def look(self) -> None:
        """Take a snapshot and show it."""
        self.snapshot = self.session.snapshot()
        self.fabric = self.session.fabric()
        self.problems = problems_of(self.snapshot)
        if self.frozen_at is not None:
            self.frozen_at = self.snapshot.now
        self.redraw()

    def redraw(self) -> None:
        """Draw the topmost full screen again; dialogs above it stay as they are."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, ViewScreen):
                screen.redraw()
                return

    def freeze(self, frozen: bool) -> None:
        """Hold what is seen, or go on."""
        self.frozen_at = self.snapshot.now if frozen else None
        if frozen:
            self.redraw()
        else:
            self.look()

    def say(self, message: str) -> None:
        """Tell something in the hint line until the next key."""
        self._message = message
        self.redraw()

    def line_for(self, screen: str) -> str:
        """The hint line: what was just said, else what a newcomer would do next."""
        if self._message:
            return self._message
        investigation = self.session.investigation
        state = investigation.state if investigation else ""
        if screen == "fleet" and self.session.hint is not None:
            return self.session.hint(self.snapshot)
        return hint_for(screen, self.snapshot, state)

    def on_key(self) -> None:
        """Whatever was said has been read."""
        self._message = ""

    def go_back(self) -> None:
        """Leave the screen; the fleet stays."""
        if sum(isinstance(screen, ViewScreen) for screen in self.screen_stack) > 1:
            self.pop_screen()

    def open_node(self, node: NodeId, part: ComponentId | None = None) -> None:
        """Look inside a node, with a part selected."""
        if node in self.snapshot.nodes:
            self._show(NodeScreen(node, part))

    def open_lens(self, lens: str, node: NodeId | None) -> None:
        """Another lens on the same object takes the place of this one, so that esc goes up and not back."""
        if lens == "topology" and node is None:
            self.show_fleet()
            return
        if lens == "counters":
            screen: ViewScreen = CountersScreen(node)
        elif lens == "events" or node is None:
            screen = EventsScreen(node)
        else:
            screen = NodeScreen(node)
        if isinstance(self.screen, FleetScreen):
            self.push_screen(screen)
        else:
            self.switch_screen(screen)

    def show_fleet(self) -> None:
        """Back to where everything begins."""
        while len([screen for screen in self.screen_stack if isinstance(screen, ViewScreen)]) > 1:
            self.pop_screen()

    def show_suspects(self) -> None:
        """Suspects or verdict."""
        if not isinstance(self.screen, SuspectsScreen):
            self._show(SuspectsScreen())

    def localize(self, nodes: Sequence[NodeId]) -> None:
        """Begin to localize; the first round is asked about as soon as it is planned."""
        live = tuple(node for node in nodes if self.snapshot.nodes[node].state is NodeState.LIVE)
        open_ = self.session.investigation
        if open_ is not None and open_.state in ("planning", "proposed", "running"):
            self.show_suspects()
            self._asked_round = 0
            return
        if not live:
            self.say(f"{', '.join(nodes[:4])}: no node there is live, so nothing can be probed")
            return
        try:
            self.session.investigate(live)
        except LanescopeError as error:
            self.say(str(error))
            return
        self._asked_round = 0
        self.show_suspects()

    def answer_or_localize(self) -> None:
        """On the suspects screen: the open question again, or a new search on the nodes of the last."""
        investigation = self.session.investigation
        if investigation is not None and investigation.state == "proposed":
            self._ask_consent()
            return
        probed = dict.fromkeys(trial.node for plan in self.snapshot.rounds for trial in plan.trials)
        self.localize(tuple(probed) or tuple(self.snapshot.nodes))

    def stop_probing(self) -> None:
        """Cancel; what was learnt stays."""
        investigation = self.session.investigation
        if investigation is None or investigation.state in ("ended", "cancelled"):
            self.say("nothing is being probed")
        else:
            investigation.cancel()

    def ask_bundle(self, out: Path | None = None) -> None:
        """The evidence dialog."""
        if self._export is None or not self._export.is_writing:
            self._export = Export(self.session, self.snapshot, out)
        self.push_screen(BundleScreen(self.ink, self._export, self._begin_export))

    def ask_filter(self, pattern: str, follow: Callable[[str], None]) -> None:
        """Filter while typing."""
        self.push_screen(PromptScreen("/", pattern, follow=follow))

    def ask_command(self) -> None:
        """Type a command."""
        nodes = [str(node) for node in self.snapshot.nodes]

        def run(line: str | None) -> None:
            if line:
                self._run_command(parse_command(line, nodes))

        self.push_screen(PromptScreen(":", complete=lambda text: completions(text, nodes), explain=usage), run)

    def show_help(self, keys: Sequence[Key]) -> None:
        """Keys of a screen; the chosen one is run on it."""
        below = self.screen

        async def run(action: str | None) -> None:
            if action:
                await self.run_action(action, default_namespace=below)

        self.push_screen(HelpScreen(keys, self.ink.ascii_only), run)

    def save_picture(self) -> None:
        """This screen as an SVG in the case folder."""
        folder = self.session.case_path / "screenshots"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = self.save_screenshot(f"screen-{time():.0f}.svg", str(folder))
        except OSError as error:
            self.say(f"the picture could not be saved: {error}")
            return
        self.say(f"saved {path}")

    def _show(self, screen: ViewScreen) -> None:
        """One step further in; a screen of the same kind takes the place of this one."""
        if type(screen) is type(self.screen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def _tick(self) -> None:
        if self.frozen_at is None:
            self.look()

    def _watch(self) -> None:
        """Show at once when nodes get known or an investigation moves on, and ask when it has a question."""
        if not self.snapshot.nodes and self.frozen_at is None:
            self.look()
        investigation = self.session.investigation
        if investigation is None:
            return
        if investigation.state != self._seen_state:
            self._seen_state = investigation.state
            if self.frozen_at is None:
                self.look()
        plan = investigation.proposal
        is_new = plan is not None and plan.round != self._asked_round
        if investigation.state == "proposed" and is_new and isinstance(self.screen, SuspectsScreen):
            self._ask_consent()

    def _ask_consent(self) -> None:
        """Name nodes, probes and cost; run only what was said yes to."""
        investigation = self.session.investigation
        plan = investigation.proposal if investigation else None
        if investigation is None or plan is None:
            return
        self._asked_round = plan.round

        def answered(answer: str | None) -> None:
            if answer in ("yes", "all") and investigation.state == "proposed":
                investigation.approve(all_rounds=answer == "all")
            elif answer == "no":
                self.say("nothing runs; p asks again, x stops probing")

        coming = next_round(plan)
        self.push_screen(ConsentScreen(self.ink, coming, probe_titles(), why_unmeasured(self.snapshot)), answered)

    def _begin_export(self, export: Export) -> None:
        """Write it whatever screen is open; who closed the dialog is told in the hint line."""

        async def write() -> None:
            await export.write()
            self.look()
            if not isinstance(self.screen, BundleScreen):
                self.say(export.sentence())

        self.run_worker(write(), exit_on_error=True)

    def _run_command(self, command: Command | str) -> None:
        """Carry out what was typed, or say what was wrong with it."""
        if isinstance(command, str):
            self.say(command)
            return
        argument = command.argument
        node = NodeId(argument) if argument else None
        actions: dict[str, Callable[[], object]] = {
            "fleet": self.show_fleet,
            "node": lambda: self.open_node(NodeId(argument)),
            "counters": lambda: self.open_lens("counters", node),
            "events": lambda: self.open_lens("events", node),
            "localize": lambda: self._localize_hosts(argument),
            "survey": self._survey,
            "suspects": self.show_suspects,
            "bundle": lambda: self.ask_bundle(Path(argument).expanduser() if argument else None),
            "note": lambda: self._note(argument),
            "theme": lambda: self.use_palette(PALETTES[argument]),
            "help": self._help_here,
            "quit": self.exit,
        }
        actions[command.name]()

    def _survey(self) -> None:
        """Ask the nodes in the background; findings come as the answers are read."""

        async def ask() -> None:
            try:
                asked = await self.session.survey(self.say)
            except LanescopeError as error:
                self.say(str(error))
                return
            self.say(f"settings and states of {plural(asked, 'node')} were read; what they tell is among the findings")

        self.run_worker(ask(), exit_on_error=True)

    def _note(self, text: str) -> None:
        self.session.note(text)
        self.say("noted in the journal")

    def _help_here(self) -> None:
        if isinstance(self.screen, ViewScreen):
            self.screen.action_help()

    def _localize_hosts(self, hosts: str) -> None:
        """`:localize gpu[001-004]`; all nodes without hosts."""
        from ..fleet.hosts import expand

        try:
            nodes = expand([hosts]) if hosts else tuple(self.snapshot.nodes)
        except LanescopeError as error:
            self.say(str(error))
            return
        strangers = [node for node in nodes if node not in self.snapshot.nodes]
        if strangers:
            self.say(f"{', '.join(strangers[:4])}: not among the nodes of this session")
        else:
            self.localize(nodes)

    def use_palette(self, palette: Palette) -> None:
        """Change colours while running."""
        self.ink = Ink(palette, self.ink.ascii_only)
        self.theme = textual_theme(palette).name
        self.redraw()
