"""One evidence bundle on its way: what is to be written, how far it is, where it lies. Dialogs come and go over it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import monotonic

from ..incident.errors import LanescopeError
from ..incident.snapshot import Snapshot
from .draw.bundle import BundleView, contents_of
from .session_like import SessionLike


class Export:
    """Holds the view of one export; `write` changes it as it goes."""

    def __init__(self, session: SessionLike, snapshot: Snapshot, out: Path | None) -> None:
        self._session = session
        self._out = out
        self._started = 0.0
        where = str(out) if out else f"a new .evb.zip in {session.case_path}"
        self._view = BundleView("asking", where, contents_of(snapshot))

    @property
    def view(self) -> BundleView:
        """How it stands now."""
        if self._view.state == "writing":
            return replace(self._view, waited=monotonic() - self._started)
        return self._view

    @property
    def is_writing(self) -> bool:
        """Whether a second one would be in its way."""
        return self._view.state == "writing"

    async def write(self) -> None:
        """Write it; what goes wrong is told in the view."""
        self._started = monotonic()
        self._view = replace(self._view, state="writing")
        try:
            written = await self._session.bundle(self._out, progress=self._note)
        except (LanescopeError, OSError) as error:
            self._view = replace(self._view, state="failed", error=str(error))
        else:
            self._view = replace(self._view, state="written", path=written.path, root=written.root)

    def sentence(self) -> str:
        """How it ended, for those who closed the dialog."""
        view = self._view
        return f"the bundle could not be written: {view.error}" if view.error else f"the bundle is written: {view.path}"

    def _note(self, stage: str) -> None:
        self._view = replace(self._view, stage=stage)
