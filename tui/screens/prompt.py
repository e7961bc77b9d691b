"""One line to type in, at the bottom of the screen: commands with completion, and filters that act while typing."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class PromptScreen(ModalScreen[str | None]):
    """Answers the line, or None where it was given up."""

    DEFAULT_CSS = """
    PromptScreen { align: left bottom; background: $background 0%; }
    PromptScreen > Vertical { height: auto; background: $surface; }
    PromptScreen Input, PromptScreen Input:focus { height: 1; border: none; padding: 0 1; background: $surface; }
    PromptScreen Static { height: auto; max-height: 6; padding: 0 1; color: $text; background: $surface; }
    """
    BINDINGS: ClassVar = [
        Binding("escape", "give_up", show=False),
        Binding("tab", "complete", show=False, priority=True),
    ]

    def __init__(
        self,
        sign: str,
        text: str = "",
        complete: Callable[[str], list[str]] | None = None,
        follow: Callable[[str], None] | None = None,
        explain: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__()
        self._sign = sign
        self._text = text
        self._complete = complete
        self._follow = follow
        self._explain = explain

    def compose(self) -> ComposeResult:
        """What goes on from here, then the line."""
        with Vertical():
            if self._complete is not None:
                yield Static(id="ways")
            yield Input(self._sign + self._text, id="line", select_on_focus=False)

    def on_mount(self) -> None:
        """The cursor at the end, the ways on shown."""
        self.query_one("#line", Input).cursor_position = len(self._sign + self._text)
        self._show_ways(self._text)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Follow what is typed; without its sign there is no line left."""
        if not event.value.startswith(self._sign):
            self.action_give_up()
            return
        text = event.value.removeprefix(self._sign)
        self._show_ways(text)
        if self._follow is not None:
            self._follow(text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Done."""
        self.dismiss(event.value.removeprefix(self._sign))

    def action_complete(self) -> None:
        """Go on as far as all ways agree."""
        line = self.query_one("#line", Input)
        ways = self._complete(line.value.removeprefix(self._sign)) if self._complete else []
        if ways:
            line.value = self._sign + _shared_start(ways)
            line.cursor_position = len(line.value)

    def action_give_up(self) -> None:
        """Leave without an answer; a filter goes back to what it was."""
        if self._follow is not None:
            self._follow(self._text)
        self.dismiss(None)

    def _show_ways(self, text: str) -> None:
        if self._complete is not None:
            ways = "  ".join(self._complete(text)[:40])
            said = self._explain(text) if self._explain else ""
            self.query_one("#ways", Static).update(Content("\n".join(line for line in (ways, said) if line)))


def _shared_start(ways: list[str]) -> str:
    """The longest start of all ways; the whole of a single one."""
    start = ways[0]
    for way in ways[1:]:
        while not way.startswith(start):
            start = start[:-1]
    return start
