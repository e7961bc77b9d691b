"""A bench without a world: answers a localizer's rounds with windows and counters drawn from a stated cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from lanescope.incident.events import Trial, TrialEnded
from lanescope.incident.findings import CounterMove
from lanescope.incident.ids import ComponentId
from lanescope.incident.platforms import platform
from lanescope.probes.catalogue import CATALOGUE
from lanescope.probes.localize.localizer import Localizer, RoundPlan, Stop
from lanescope.probes.localize.settings import Settings
from lanescope.topology.fabric import Fabric
from lanescope.topology.sources.platform import fabric_of

Slowness = Callable[[Trial, np.ndarray, np.random.Generator], np.ndarray]
"""Windows of a trial (GB/s) -> windows under the fault."""
Steps = Callable[[Trial, np.random.Generator], Iterable[ComponentId]]
"""Parts whose recovery counter moves under a trial."""


def unchanged(trial: Trial, windows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return windows


def nothing_steps(trial: Trial, rng: np.random.Generator) -> Iterable[ComponentId]:
    return ()


@dataclass
class Bench:
    """Runs rounds of one localizer against stated causes."""

    nodes: tuple[str, ...] = ("n1", "n2")
    seed: int = 1
    noise: float = 0.04
    slow: Slowness = unchanged
    steps: Steps = nothing_steps
    idle_steps: tuple[ComponentId, ...] = ()
    """Parts whose counter also moves before every trial that reads it."""
    error: Callable[[Trial], tuple[str, str]] = lambda trial: ("", "")
    settings: Settings = field(default_factory=lambda: Settings(budget=120.0))
    priors: dict[ComponentId, float] = field(default_factory=dict)
    platform: str = "h100_hgx"
    unusable: tuple[ComponentId, ...] = ()
    rounds_before: int = 0

    def __post_init__(self) -> None:
        self.fabric: Fabric = fabric_of(self.nodes, platform(self.platform))
        self.localizer = Localizer(
            self.fabric,
            self.fabric.nodes,
            self.settings,
            self.priors,
            unusable=self.unusable,
            rounds_before=self.rounds_before,
        )
        self.rng = np.random.default_rng(self.seed)
        self.counters: dict[ComponentId, int] = {}
        self.rounds: list[tuple[list[tuple[str, TrialEnded]], float]] = []
        self.clock = 1000.0

    def run(self, rounds: int = 10_000) -> Stop | None:
        """Up to so many rounds; the reason to stop, or None."""
        for _ in range(rounds):
            plan = self.localizer.next_round()
            if isinstance(plan, Stop):
                return plan
            self.answer(plan)
        return None

    def answer(self, plan: RoundPlan) -> None:
        number = len(self.rounds) + 1
        ended = [(f"J{number}.{trial.id}", self.measure(trial, number)) for trial in plan.trials]
        self.clock += 1.2
        self.rounds.append((ended, 0.65))
        self.localizer.learn(ended, 0.65)

    def measure(self, trial: Trial, number: int) -> TrialEnded:
        error, code = self.error(trial)
        probe = CATALOGUE[trial.probe]
        windows = probe.expected(self.fabric, trial.targets) * np.exp(self.rng.normal(0, self.noise, 16))
        windows = self.slow(trial, windows, self.rng)
        moves = () if error else tuple(self.moves(trial))
        return TrialEnded(
            time=self.clock, trial=trial, round=number, windows=() if error else tuple(map(float, windows)),
            moves=moves, started=self.clock, ended=self.clock + 0.6, seconds=0.6, error=error, code=code,
        )  # fmt: skip

    def moves(self, trial: Trial) -> Iterable[CounterMove]:
        stepping = set(self.steps(trial, self.rng))
        name = "recovery_errors" if trial.probe == "p2p" else "replays"
        for part in CATALOGUE[trial.probe].counted(self.fabric, trial.targets):
            before = self.counters.get(part, 7) + (part in self.idle_steps)
            self.counters[part] = before + (part in stepping)
            yield CounterMove(component=part, counter=name, before=before, after=self.counters[part])


def crosses(trial: Trial, part: str, fabric: Fabric) -> bool:
    return any(crossing.component == part for crossing in CATALOGUE[trial.probe].exercises(fabric, trial.targets))
