"""An investigation: proposes rounds of probes, runs what the operator allows, updates the belief up to a verdict."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..incident.errors import InputError, LanescopeError, NoPython
from ..incident.events import (
    Consented,
    NodeState,
    NoteWritten,
    RoundEnded,
    RoundPlanned,
    SearchBegan,
    SearchEdited,
    TrialEnded,
)
from ..incident.findings import Severity
from ..incident.ids import ComponentId, NodeId
from ..incident.snapshot import Snapshot
from ..probes.localize.edits import Edits
from ..probes.localize.localizer import Localizer, RoundPlan, Stop
from ..probes.localize.settings import Settings
from ..probes.run import run_round
from .allowed import allowed_probes
from .network import read_network

if TYPE_CHECKING:
    from .session import Session

GPU_DOMAIN = "nvml"
"""The hang domain that tells of GPUs and lanes; its facts come before its first sample."""

PRIOR_NATS = {Severity.CRITICAL: 4.0, Severity.WARNING: 2.5, Severity.INFO: 0.0}
"""How far a standing finding steers the search; it never convicts (ARCHITECTURE.md, "Rules that hold everywhere")."""


class Investigation:
    """One search for a faulty part.

    `state` is `planning`, `proposed` (waiting for the operator's yes), `running`, `paused` (nothing runs, nothing is
    proposed), `ended` or `cancelled`. A round that runs when the operator pauses runs to its end first.
    """

    def __init__(
        self,
        session: Session,
        nodes: Sequence[NodeId],
        budget: float | None,
        approve_all: bool,
        without: Collection[str] = (),
        drained: bool = False,
    ) -> None:
        """`without`: probes that it may not run; raises InputError for a name that is none."""
        self._probes = allowed_probes(without)
        self.nodes = tuple(nodes)
        self.state = "planning"
        self.proposal: RoundPlanned | None = None
        self.error = ""
        self.paused_at: float | None = None
        """When the operator asked for a pause, on the operator's clock; None while the search may go on."""
        self.began: float | None = None
        """When the round that runs began, on the operator's clock; None while none runs."""
        self.seconds = 0.0
        """Probing seconds spent; a pause costs none."""
        usual = Settings(drained=drained)
        self._settings = usual if budget is None else replace(usual, budget=budget)
        self._session = session
        self._approve_all = approve_all
        self._approved = False
        self._moved = asyncio.Event()
        """Set by whatever the operator does, for `_until` to look again."""
        self._edits = Edits()
        self._round = len(session.snapshot().rounds)
        self._localizer: Localizer | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """True until it ended or was cancelled."""
        return self.state not in ("ended", "cancelled")

    @property
    def budget(self) -> float:
        """Probing seconds after which it ends undecided."""
        return self._settings.budget

    @property
    def probes(self) -> tuple[str, ...]:
        """Names of the probes that it was given to run; `edits` may forbid some of them."""
        return tuple(self._probes)

    @property
    def edits(self) -> Edits:
        """What the operator lets it do, from the next round on."""
        return self._edits

    @property
    def table(self) -> dict[str, Any] | None:
        """The table of likelihoods that its belief is reckoned with; None before it began."""
        return self._localizer.table if self._localizer else None

    def start(self) -> None:
        """Begin in the background; `error` tells in one sentence if it breaks off."""
        self._task = asyncio.create_task(self._guarded())

    def approve(self, all_rounds: bool = False) -> None:
        """The operator's yes to the proposed round, or to all up to a verdict; without a proposal it is no yes."""
        if self.state == "proposed":
            self._approve_all = self._approve_all or all_rounds
            self._approved = True
            self._moved.set()

    def pause(self) -> None:
        """Let the running round end and propose none until `resume`; a proposal that waits is taken back meanwhile."""
        if self.is_open and self.paused_at is None:
            self.paused_at = time.time()
            if self.state == "proposed":
                self.state = "paused"
            self._note("paused the search; the round that runs goes on to its end")
            self._moved.set()

    def resume(self) -> None:
        """Go on where it was paused."""
        if self.is_open and self.paused_at is not None:
            self.paused_at = None
            self._note("let the search go on")
            self._moved.set()

    def edit(self, edits: Edits) -> None:
        """Change what it may do, from the next round on; a proposal that waits is planned anew.

        Raises InputError for nodes, probes and parts that it doesn't know, and when nothing would be left to run."""
        self._check(edits)
        if not self.is_open or edits == self._edits:
            return
        self._edits = edits
        self._session.record(
            SearchEdited(
                time=time.time(),
                left_out=tuple(sorted(edits.left_out)),
                forbidden=tuple(sorted(edits.forbidden)),
                pinned=tuple(sorted(edits.pinned)),
                by="operator",
            )
        )
        if self.state == "proposed":
            self.state = "planning"
        self._moved.set()

    def cancel(self) -> None:
        """The operator's no: a running round is broken off, what was learned stays."""
        if self._task is not None:
            self._task.cancel()

    async def wait(self) -> None:
        """Return when it has ended, however."""
        if self._task is not None:
            await asyncio.wait((self._task,))
            if not self._task.cancelled():
                self._task.result()

    async def end(self) -> None:
        """Cancel and wait until all is cleaned up."""
        self.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _guarded(self) -> None:
        try:
            await self._search()
            self.state = "ended"
        except LanescopeError as error:
            self.error = str(error)
            self.state = "ended"
        finally:
            self.began = None
            if self.is_open:
                self.state = "cancelled"

    async def _search(self) -> None:
        session = self._session
        localizer = self._localizer = await self._begun()
        while True:
            plan = await self._agreed(localizer)
            if isinstance(plan, Stop):
                session.record(await asyncio.to_thread(localizer.conclusion, time.time()))
                return
            ended = await self._run(plan)
            seconds = _spent(ended, plan)
            self.seconds += seconds
            session.record(RoundEnded(time=time.time(), round=self._round, seconds=seconds))
            pairs = [(session.record(trial), trial) for trial in ended]
            await asyncio.to_thread(localizer.learn, pairs, seconds)
            session.record(localizer.belief(self._round, time.time()))

    async def _begun(self) -> Localizer:
        """The engine, and the event that says all that it starts from."""
        session, settings = self._session, self._settings
        await read_network(session, self.nodes)
        fabric, snapshot = session.fabric(), session.snapshot()
        steered_by, left_out = priors(snapshot, self.nodes), gone(snapshot)
        session.record(
            SearchBegan(
                time=time.time(),
                nodes=self.nodes,
                probes=self.probes,
                priors={str(part): nats for part, nats in steered_by.items()},
                unusable=tuple(sorted(left_out)),
                budget=settings.budget,
                seed=settings.seed,
                first_round=self._round + 1,
                drained=settings.drained,
            )
        )
        return await asyncio.to_thread(
            Localizer,
            fabric,
            self.nodes,
            settings,
            steered_by,
            unusable=left_out,
            rounds_before=self._round,
            probes=self._probes,
        )

    async def _agreed(self, localizer: Localizer) -> RoundPlan | Stop:
        """The next round with the operator's yes to it, or why there is none.

        A pause holds back what was planned; an edit has it planned anew, under the same number."""
        plan: RoundPlan | Stop | None = None
        planned_under = self._edits
        self._round += 1
        while True:
            await self._resumed()
            if plan is None or planned_under != self._edits:
                planned_under = self._edits
                plan = await self._planned(localizer, planned_under)
            elif isinstance(plan, Stop) or await self._said_yes(plan, planned_under):
                return plan

    async def _planned(self, localizer: Localizer, edits: Edits) -> RoundPlan | Stop:
        self.state = "planning"
        localizer.edit(edits)
        plan = await asyncio.to_thread(localizer.next_round)
        if isinstance(plan, RoundPlan):
            self.proposal = None
        return plan

    async def _said_yes(self, plan: RoundPlan, planned_under: Edits) -> bool:
        """Propose; False when the operator paused or edited instead."""
        self._approved = False
        if self.proposal is None:
            self.proposal = RoundPlanned(
                time=time.time(),
                round=self._round,
                trials=plan.trials,
                seconds=plan.seconds,
                gain=plan.gain,
                reason=plan.reason,
                meaning=plan.meaning,
            )
            self._session.record(self.proposal)
        self.state = "proposed"

        def answered() -> bool:
            return self._approved or self._approve_all or self.paused_at is not None or self._edits != planned_under

        await self._until(answered)
        if self.paused_at is not None or self._edits != planned_under:
            return False
        by = "all rounds up to a verdict" if self._approve_all else "this round"
        self._session.record(Consented(time=time.time(), what=f"round {self._round}", by=f"operator, {by}"))
        return True

    async def _resumed(self) -> None:
        """Return at once unless paused, else when the operator lets it go on."""
        if self.paused_at is not None:
            self.state = "paused"
            await self._until(lambda: self.paused_at is None)

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait for the operator; cancelling ends it at once."""
        while not holds():
            self._moved.clear()
            await self._moved.wait()

    async def _run(self, plan: RoundPlan) -> tuple[TrialEnded, ...]:
        self.state, self.began = "running", time.time()
        try:
            return await run_round(self._session.source, self._session.fabric(), plan.trials, self._round, time.time)
        finally:
            self.began = None

    def _check(self, edits: Edits) -> None:
        """Raise InputError with a sentence for edits that can't be meant."""
        known = self._localizer.books.parts.index if self._localizer else None
        strangers: dict[str, Collection[str]] = {
            "is none of the nodes of this search": edits.left_out - set(self.nodes),
            "is none of the probes of this search": edits.forbidden - self._probes.keys(),
            "is no part that this search could find at fault": edits.pinned - known.keys() if known else frozenset(),
        }
        for what, names in strangers.items():
            if names:
                raise InputError(f"{min(names)} {what}")
        if edits.forbidden >= self._probes.keys():
            raise InputError("no probe would be left to run; allow at least one")
        if edits.left_out >= set(self.nodes):
            raise InputError("no node would be left to probe; leave at least one in, or stop the search")

    def _note(self, what: str) -> None:
        self._session.record(NoteWritten(time=time.time(), text=what, by="operator"))


def priors(snapshot: Snapshot, nodes: Sequence[NodeId]) -> dict[ComponentId, float]:
    """Nats that standing findings add to the log odds of their parts."""
    return {
        finding.component: PRIOR_NATS[finding.severity]
        for finding in snapshot.findings
        if finding.component.node in nodes and PRIOR_NATS[finding.severity] > 0
    }


def gone(snapshot: Snapshot) -> frozenset[ComponentId]:
    """GPUs that a standing finding says are off the bus: nothing can be run on them."""
    return frozenset(
        finding.component for finding in snapshot.findings if finding.fault_class.startswith("gpu-off-bus")
    )


def probeable(snapshot: Snapshot, nodes: Sequence[NodeId]) -> tuple[NodeId, ...]:
    """Those of `nodes` that are live, have told what their GPUs are wired to, and have the python3 that probes take."""
    views = (snapshot.nodes[node] for node in nodes if node in snapshot.nodes)
    return tuple(
        view.id
        for view in views
        if view.state is NodeState.LIVE and GPU_DOMAIN in view.series and view.code != NoPython.code
    )


def _spent(ended: Sequence[TrialEnded], plan: RoundPlan) -> float:
    """Probing seconds of a round: the longest trial, as its node measured it; the plan's figure where none measured."""
    return max((trial.seconds for trial in ended), default=0.0) or plan.seconds
