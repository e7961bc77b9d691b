"""A session over a made-up incident, for the app: what the real one promises, without nodes behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from lanescope.incident.errors import EvidenceError, InputError
from lanescope.incident.events import BundleWritten, NoteWritten, RoundPlanned
from lanescope.incident.ids import NodeId
from lanescope.incident.snapshot import Snapshot
from lanescope.probes.localize.edits import Edits
from lanescope.topology.fabric import Fabric
from lanescope.topology.sources.facts import build_fabric

from .made_up import MadeUp, plan, rounds_on, verdict_on  # noqa: TID251 (this folder, not the room)


class MadeUpInvestigation:
    def __init__(self, session: MadeUpSession, nodes: Sequence[NodeId]) -> None:
        self.session = session
        self.nodes = tuple(nodes)
        self.state = "planning"
        self.error = ""
        self.proposal: RoundPlanned | None = None
        self.approved: list[bool] = []
        self.probes = ("p2p", "h2d", "net_pair")
        self.budget = 300.0
        self.seconds = 0.0
        self.began: float | None = None
        self.paused_at: float | None = None
        self.edits = Edits()
        self.refuses = ""

    def propose(self, number: int = 1) -> None:
        self.proposal = plan(number, self.nodes[0])
        self.state = "proposed"

    def approve(self, all_rounds: bool = False) -> None:
        self.approved.append(all_rounds)
        self.state = "running"

    def pause(self) -> None:
        self.paused_at = self.session.made.now
        if self.state != "running":
            self.state = "paused"

    def resume(self) -> None:
        self.paused_at = None
        self.state = "proposed" if self.proposal else "planning"

    def edit(self, edits: Edits) -> None:
        if self.refuses:
            raise InputError(self.refuses)
        self.edits = edits

    def cancel(self) -> None:
        self.state = "cancelled"

    def end(self) -> None:
        rounds_on(self.session.made, self.nodes[0], [(0.2, 0.2, 0.3), (0.6, 0.1, 0.1), (0.967, 0.01, 0.001)])
        self.session.made.take(verdict_on(self.session.made, self.nodes[0]))
        self.state = "ended"


class MadeUpSession:
    def __init__(self, made: MadeUp, folder: Path, hint: Callable[[Snapshot], str] | None = None) -> None:
        self.made = made
        self.case_path = folder
        self.hint = hint
        self.investigation: MadeUpInvestigation | None = None
        self.bundle_fails = ""
        self.bundle_waits = asyncio.Event()
        self.bundle_waits.set()
        self.bundles = 0
        self.snapshots = 0
        self._fabric: Fabric | None = None
        self._kept: tuple[int, Snapshot] | None = None

    def snapshot(self) -> Snapshot:
        self.snapshots += 1
        if self._kept is None or self._kept[0] != self.made.sequence:
            self._kept = (self.made.sequence, self.made.snapshot())
        return self._kept[1]

    def fabric(self) -> Fabric:
        if self._fabric is None:
            self._fabric = build_fabric(self.made.snapshot().nodes.values())
        return self._fabric

    def investigate(
        self, nodes: Sequence[NodeId], budget: float | None = None, approve_all: bool = False
    ) -> MadeUpInvestigation:
        self.investigation = MadeUpInvestigation(self, nodes)
        return self.investigation

    async def bundle(self, out: Path | None = None, *, progress: Callable[[str], None] | None = None) -> BundleWritten:
        self.bundles += 1
        if progress:
            progress("collected from 3 of 8 nodes")
        await self.bundle_waits.wait()
        if self.bundle_fails:
            raise EvidenceError(self.bundle_fails)
        event = BundleWritten(time=self.made.now, path=str(out or self.case_path / "4711.evb.zip"), root="ab" * 32)
        self.made.take(event)
        return event

    async def survey(self, told: Callable[[str], None] | None = None) -> int:
        return self.made.snapshot().up()

    def note(self, text: str) -> None:
        self.made.take(NoteWritten(time=self.made.now, text=text, by="operator"))

    async def stop(self) -> None: ...
