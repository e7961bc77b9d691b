"""What dialogs share: a frame in the middle of the screen, never larger than it."""

from __future__ import annotations

from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import ModalScreen
from textual.strip import Strip

from ..keys import Key
from ..theme import Ink
from ..widgets.strip_view import StripView

Answer = TypeVar("Answer")
MAX_WIDTH = 92


class StripDialog(ModalScreen[Answer]):
    """A modal question drawn as strips; a subclass draws it and answers."""

    DEFAULT_CSS = """
    StripDialog { align: center middle; background: $background 0%; }
    StripDialog > Container {
        width: 90%; max-width: 92; height: 60%; min-height: 8; max-height: 90%;
        border: heavy $primary; background: $background;
    }
    StripDialog.-small > Container { width: 100%; height: 100%; border: none; }
    """
    KEYS: tuple[Key, ...] = ()

    def __init__(self, ink: Ink) -> None:
        super().__init__()
        self.ink = ink
        for key in self.KEYS:
            self._bindings.bind(key.keys, key.action, key.label, show=False)

    def compose(self) -> ComposeResult:
        """A frame around one strip view."""
        with Container():
            yield StripView(self.draw, id="dialog")

    def on_resize(self) -> None:
        """As high as it needs; without a frame where every row counts."""
        is_small = self.size.width < 60 or self.size.height < 18
        self.set_class(is_small, "-small")
        if not is_small:
            inner = min(MAX_WIDTH, int(self.size.width * 0.9)) - 2
            self.query_one(Container).styles.height = min(self.rows(inner) + 2, int(self.size.height * 0.9))

    def rows(self, width: int) -> int:
        """How many rows it would like at that width."""
        raise NotImplementedError

    def draw(self, width: int, height: int) -> list[Strip]:
        """The question."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again."""
        self.query_one("#dialog", StripView).redraw()
