"""An investigation: proposes rounds of probes, runs what the operator allows, updates the belief up to a verdict."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..incident.errors import LanescopeError, NoPython
from ..incident.events import Consented, NodeState, RoundEnded, RoundPlanned, SearchBegan, TrialEnded
from ..incident.findings import Severity
from ..incident.ids import ComponentId, NodeId
from ..incident.snapshot import Snapshot
from ..probes.catalogue import CATALOGUE
from ..probes.localize.localizer import Localizer, RoundPlan, Stop
from ..probes.localize.settings import Settings
from ..probes.run import run_round

if TYPE_CHECKING:
    from .session import Session

GPU_DOMAIN = "nvml"
"""The hang domain that tells of GPUs and lanes; its facts come before its first sample."""

PRIOR_NATS = {Severity.CRITICAL: 4.0, Severity.WARNING: 2.5, Severity.INFO: 0.0}
"""How far a standing finding steers the search; it never convicts (ARCHITECTURE.md, "Rules that hold everywhere")."""


class Investigation:
    """One search for a faulty part.

    `state` is `planning`, `proposed` (waiting for the operator's yes), `running`, `ended` or `cancelled`.
    """

    def __init__(self, session: Session, nodes: Sequence[NodeId], budget: float | None, approve_all: bool) -> None:
        self.nodes = tuple(nodes)
        self.state = "planning"
        self.proposal: RoundPlanned | None = None
        self.error = ""
        self._session = session
        self._approve_all = approve_all
        self._approved = asyncio.Event()
        self._round = len(session.snapshot().rounds)
        self._seconds = 0.0
        self._budget = budget
        self._task: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """True until it ended or was cancelled."""
        return self.state not in ("ended", "cancelled")

    def start(self) -> None:
        """Begin in the background; `error` tells in one sentence if it breaks off."""
        self._task = asyncio.create_task(self._guarded())

    def approve(self, all_rounds: bool = False) -> None:
        """The operator's yes to the proposed round, or to all up to a verdict."""
        self._approve_all = self._approve_all or all_rounds
        self._approved.set()

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
            if self.is_open:
                self.state = "cancelled"

    async def _search(self) -> None:
        session = self._session
        fabric = session.fabric()
        settings = Settings() if self._budget is None else Settings(budget=self._budget)
        snapshot = session.snapshot()
        steered_by, left_out = priors(snapshot, self.nodes), gone(snapshot)
        session.record(
            SearchBegan(
                time=time.time(),
                nodes=self.nodes,
                probes=tuple(name for name, probe in CATALOGUE.items() if probe.searches),
                priors={str(part): nats for part, nats in steered_by.items()},
                unusable=tuple(sorted(left_out)),
                budget=settings.budget,
                seed=settings.seed,
                first_round=self._round + 1,
            )
        )
        localizer = Localizer(
            fabric,
            self.nodes,
            settings,
            steered_by,
            unusable=left_out,
            rounds_before=self._round,
        )
        while True:
            self.state = "planning"
            plan = await asyncio.to_thread(localizer.next_round)
            if isinstance(plan, Stop):
                session.record(localizer.conclusion(time.time()))
                return
            await self._propose(plan)
            ended = await self._run(plan)
            seconds = _spent(ended, plan)
            self._seconds += seconds
            session.record(RoundEnded(time=time.time(), round=self._round, seconds=seconds))
            pairs = [(session.record(trial), trial) for trial in ended]
            await asyncio.to_thread(localizer.learn, pairs, seconds)
            session.record(localizer.belief(self._round, time.time()))

    async def _propose(self, plan: RoundPlan) -> None:
        self._round += 1
        self._approved.clear()
        self.proposal = RoundPlanned(
            time=time.time(),
            round=self._round,
            trials=plan.trials,
            seconds=plan.seconds,
            gain=plan.gain,
            reason=plan.reason,
        )
        self.state = "proposed"
        self._session.record(self.proposal)
        if not self._approve_all:
            await self._approved.wait()
        by = "all rounds up to a verdict" if self._approve_all else "this round"
        self._session.record(Consented(time=time.time(), what=f"round {self._round}", by=f"operator, {by}"))

    async def _run(self, plan: RoundPlan) -> tuple[TrialEnded, ...]:
        self.state = "running"
        return await run_round(self._session.source, self._session.fabric(), plan.trials, self._round, time.time)


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
