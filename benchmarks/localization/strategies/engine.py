"""The engine at work in an arena, on rounds that it or somebody else chooses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ....probes.localize.localizer import Localizer, RoundPlan, Stop
from ....probes.localize.settings import Settings
from ..arena import Arena
from ..cluster import Shot
from ..outcome import Named, Outcome

Choice = Callable[[RoundPlan], Sequence[Shot]]
"""The trials of a round, given those that the engine would run."""


@dataclass(slots=True)
class Search:
    """One search, and how long the engine computed for it."""

    arena: Arena
    budget: float
    choose: Choice
    seed: int
    _deciding: list[float] = field(default_factory=list)
    _learning: list[float] = field(default_factory=list)
    _named_after: float = math.nan

    def run(self) -> Outcome:
        """Rounds until the engine stops, or the budget is spent."""
        cluster = self.arena.cluster
        settings = Settings(budget=self.budget, seed=self.seed, drained=self.arena.is_drained)
        localizer = Localizer(cluster.fabric, cluster.nodes, settings, probes=cluster.probes)
        while self.arena.seconds < self.budget:
            began = time.perf_counter()
            plan = localizer.next_round()
            if isinstance(plan, Stop):
                break
            self._deciding.append(time.perf_counter() - began)
            self._round(localizer, plan)
        return self._outcome(localizer)

    def _round(self, localizer: Localizer, plan: RoundPlan) -> None:
        since = self.arena.seconds
        shots = self.choose(plan)
        ended = [(f"{trial.trial.id}", trial) for trial in self.arena.run(shots)]
        known = len(localizer.verdicts)
        began = time.perf_counter()
        localizer.learn(ended, self.arena.seconds - since)
        self._learning.append(time.perf_counter() - began)
        if len(localizer.verdicts) > known:
            self._named_after = self.arena.seconds

    def _outcome(self, localizer: Localizer) -> Outcome:
        reached = localizer.conclusion(0.0)
        return Outcome(
            named=tuple(Named(said.component, frozenset(said.alternatives)) for said in reached.verdicts),
            healthy=reached.outcome == "none",
            named_after=self._named_after,
            seconds=self.arena.seconds,
            launching=self.arena.launching,
            rounds=self.arena.rounds,
            probes=self.arena.probes,
            deciding=tuple(self._deciding),
            learning=tuple(self._learning),
        )
