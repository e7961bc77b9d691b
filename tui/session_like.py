"""What the screens ask of a session: snapshots to draw, and the four things an operator can start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..incident.ids import NodeId
from ..incident.snapshot import Snapshot

if TYPE_CHECKING:
    from ..incident.events import BundleWritten, RoundPlanned
    from ..topology.fabric import Fabric


class InvestigationLike(Protocol):
    """One localization under way, or ended."""

    @property
    def state(self) -> str:
        """`planning`, `proposed`, `running`, `ended` or `cancelled`."""

    @property
    def proposal(self) -> RoundPlanned | None:
        """The round that waits for the operator's yes."""

    @property
    def error(self) -> str:
        """One sentence; empty while all is well."""

    def approve(self, all_rounds: bool = False) -> None:
        """Run the proposed round, or this and all that follow."""

    def cancel(self) -> None:
        """Plan and run no more; what was learnt stays."""


class SessionLike(Protocol):
    """The seam between screens and whatever runs the incident: live, simulated or replayed."""

    def snapshot(self) -> Snapshot:
        """Everything known now."""

    def fabric(self) -> Fabric:
        """How the parts are wired, as far as facts tell."""

    def investigate(
        self, nodes: Sequence[NodeId], budget: float | None = None, approve_all: bool = False
    ) -> InvestigationLike:
        """Begin to localize on these nodes; nothing runs before `approve`."""

    @property
    def investigation(self) -> InvestigationLike | None:
        """The localization that is under way or ended last."""

    async def bundle(self, out: Path | None = None, *, progress: Callable[[str], None] | None = None) -> BundleWritten:
        """Export the evidence, a line a stage to `progress`; raises LanescopeError with one sentence."""

    def note(self, text: str) -> None:
        """Write something down in the journal."""

    async def stop(self) -> None:
        """End everything, on the nodes too."""

    @property
    def case_path(self) -> Path:
        """The case folder."""

    @property
    def hint(self) -> Callable[[Snapshot], str] | None:
        """What a newcomer would do next; None where nobody leads."""
