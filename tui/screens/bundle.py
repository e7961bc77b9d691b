"""The evidence dialog: asks, writes without stopping anything else, and tells where the bundle lies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic

from textual.strip import Strip

from ...incident.errors import LanescopeError
from ...incident.snapshot import Snapshot
from ..draw.bundle import BundleView, contents_of, draw_bundle
from ..keys import NO, Key
from ..session_like import SessionLike
from ..theme import Ink
from .dialog import StripDialog

WRITE = Key("write", "y,enter", "y", "yes", "write it", "Write the bundle.")


class BundleScreen(StripDialog[str]):
    """Answers the path of the bundle, empty where none was written."""

    KEYS = (WRITE, NO)

    def __init__(self, ink: Ink, session: SessionLike, snapshot: Snapshot, out: Path | None = None) -> None:
        super().__init__(ink)
        self._session = session
        self._out = out
        where = str(out) if out else f"a new .evb.zip in {session.case_path}"
        self._view = BundleView("asking", where, contents_of(snapshot))

    def draw(self, width: int, height: int) -> list[Strip]:
        """The dialog as it stands."""
        return draw_bundle(self._view, width, height, self.ink)

    def action_yes(self) -> None:
        """Write it, once; afterwards the same key closes."""
        if self._view.state == "asking":
            self._show(replace(self._view, state="writing"))
            self.run_worker(self._write(), exclusive=True)
        elif self._view.state != "writing":
            self.action_no()

    def action_no(self) -> None:
        """Close; an export under way goes on and is shown when it is done."""
        if self._view.state == "writing":
            return
        self.dismiss(self._view.path if self._view.state == "written" else "")

    async def _write(self) -> None:
        started = monotonic()
        timer = self.set_interval(1.0, lambda: self._show(replace(self._view, waited=monotonic() - started)))
        try:
            written = await self._session.bundle(self._out)
            view = replace(self._view, state="written", path=written.path, root=written.root)
        except (LanescopeError, OSError) as error:
            view = replace(self._view, state="failed", error=str(error))
        finally:
            timer.stop()
        self._show(view)

    def _show(self, view: BundleView) -> None:
        self._view = view
        self.redraw()
