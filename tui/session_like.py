"""What the screens ask of a session: snapshots to draw, and the few things an operator can start or change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..incident.ids import NodeId
from ..incident.snapshot import Snapshot

if TYPE_CHECKING:
    from ..incident.events import BundleWritten, RoundPlanned
    from ..probes.localize.edits import Edits
    from ..topology.fabric import Fabric


class InvestigationLike(Protocol):
    """One localization under way, or ended."""

    @property
    def state(self) -> str:
        """`planning`, `proposed`, `running`, `paused`, `ended` or `cancelled`."""

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """The nodes it searches."""

    @property
    def probes(self) -> tuple[str, ...]:
        """Names of the probes it was given to run."""

    @property
    def proposal(self) -> RoundPlanned | None:
        """The round that waits for the operator's yes."""

    @property
    def error(self) -> str:
        """One sentence; empty while all is well."""

    @property
    def budget(self) -> float:
        """Probing seconds after which it ends undecided."""

    @property
    def seconds(self) -> float:
        """Probing seconds spent; waiting for an answer and pausing cost none."""

    @property
    def began(self) -> float | None:
        """When the round that runs began, on the operator's clock; None while none runs."""

    @property
    def paused_at(self) -> float | None:
        """When the operator paused it; None while it may go on. The round that runs then goes on to its end."""

    @property
    def edits(self) -> Edits:
        """What the operator lets it do from the next round on."""

    def approve(self, all_rounds: bool = False) -> None:
        """Run the proposed round, or this and all that follow."""

    def pause(self) -> None:
        """Let the running round end and propose none until `resume`."""

    def resume(self) -> None:
        """Go on where it was paused."""

    def edit(self, edits: Edits) -> None:
        """Change what it may do; raises LanescopeError with one sentence for what can't be meant."""

    def cancel(self) -> None:
        """Plan and run no more, at once; what was learnt stays."""


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

    async def survey(self, told: Callable[[str], None] | None = None) -> int:
        """Ask live nodes for settings and states, read-only, a line a node to `told`; how many were asked."""

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
