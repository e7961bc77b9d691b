"""All keys of the screen below, searchable; enter runs the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ..keys import Key

LEGEND = "Signs: · ok   ? unknown   ▲ degraded   × failed   - not applicable.   Amber is belief, red is a verdict."
LEGEND_ASCII = (
    "Signs: . ok   ? unknown   ! degraded   X failed   - not applicable.   Amber is belief, red is a verdict."
)


class HelpScreen(ModalScreen[str | None]):
    """Answers the action to run, or None."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; background: $background 0%; }
    HelpScreen > Vertical {
        width: 90%; max-width: 100; height: 80%; min-height: 8; border: heavy $primary; background: $background;
    }
    HelpScreen Input, HelpScreen Input:focus { height: 1; border: none; padding: 0 1; background: $surface; }
    HelpScreen OptionList, HelpScreen OptionList:focus {
        height: 1fr; border: none; padding: 0; background: $background; scrollbar-size: 1 1;
    }
    HelpScreen.-small > Vertical { width: 100%; height: 100%; border: none; }
    """
    BINDINGS: ClassVar = [
        Binding("escape", "close", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    def __init__(self, keys: Sequence[Key], ascii_only: bool) -> None:
        super().__init__()
        self._keys = keys
        self._shown: list[Key] = []
        self._ascii_only = ascii_only

    def compose(self) -> ComposeResult:
        """A line to search by, then the keys."""
        with Vertical():
            yield Input(placeholder="type to search, enter runs it, esc closes", id="search")
            yield OptionList(id="keys")

    def on_resize(self) -> None:
        """Without a frame where every row counts."""
        self.set_class(self.size.width < 60 or self.size.height < 18, "-small")

    def on_mount(self) -> None:
        """All keys at first."""
        self._list("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Those that hold what was typed."""
        self._list(event.value)

    def on_input_submitted(self) -> None:
        """Run the chosen one."""
        at = self.query_one("#keys", OptionList).highlighted
        self.dismiss(self._shown[at].action if at is not None and at < len(self._shown) else None)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Run the one clicked."""
        if event.option_index < len(self._shown):
            self.dismiss(self._shown[event.option_index].action)

    def action_move(self, step: int) -> None:
        """Through the list while the line keeps the focus."""
        keys = self.query_one("#keys", OptionList)
        if self._shown:
            at = (keys.highlighted or 0) + step
            keys.highlighted = max(0, min(at, len(self._shown) - 1))

    def action_close(self) -> None:
        """Run nothing."""
        self.dismiss(None)

    def _list(self, wanted: str) -> None:
        self._shown = [key for key in self._keys if wanted.lower() in f"{key.shown} {key.label} {key.help}".lower()]
        keys = self.query_one("#keys", OptionList)
        keys.clear_options()
        keys.add_options([Option(Content(f"{_shown(key, self._ascii_only):>9}  {key.help}")) for key in self._shown])
        if self._shown:
            keys.highlighted = 0
        keys.add_options([None, Option(Content(LEGEND_ASCII if self._ascii_only else LEGEND), disabled=True)])


def _shown(key: Key, ascii_only: bool) -> str:
    return key.keys.partition(",")[0] if ascii_only and not key.shown.isascii() else key.shown
