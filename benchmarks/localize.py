"""How long it takes to name a fault, and how often rightly: `python -m lanescope.benchmarks.localize`.

Worlds of the shipped scenarios under other seeds, probed in process, steered by the findings that stand at the first
samples as an investigation is; seconds are simulated probing seconds. Right: the declared part is named, or stands
among the parts that no probe separates from the one named. Wrong: a verdict that names no declared fault. The declared
part itself named is `exact`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from statistics import median

from ..incident.events import Entry, FindingRaised, SampleTaken, SchemaDeclared, VerdictReached
from ..incident.findings import Verdict
from ..incident.fold import Incident
from ..incident.source import CommandOutput
from ..probes.localize.localizer import Localizer, Stop
from ..probes.localize.settings import Settings
from ..probes.run import run_round
from ..session.investigation import priors
from ..signals.judge import judge
from ..sim.scenario import Scenario, load_scenario
from ..sim.source import WorldSource
from ..sim.world import World
from ..topology.sources.facts import build_fabric
from .figure import Figure, print_table

COMMAND = "python -m lanescope.benchmarks.localize"
FIRST_SEED = 1000
BUDGET = 300.0
CASES = (("demo", 20), ("lane_gates", 6), ("gpu_pcie_falls_to_x8", 6), ("lane_down", 4), ("everything_wrong", 4))
HEALTHY_SEEDS = 20


@dataclass(frozen=True)
class Run:
    """One investigation of one world."""

    reached: VerdictReached
    named_after: float
    """Simulated probing seconds until the first verdict; NaN without one."""
    decisions: tuple[float, ...]
    """Seconds of computing to choose each round."""
    wanted: frozenset[str]
    """Parts that localizing should name."""
    guilty: frozenset[str]
    """All parts with a declared fault."""

    @property
    def is_right(self) -> bool:
        """Whether every fault to be localized is named."""
        return all(any(part in _named(verdict) for verdict in self.reached.verdicts) for part in self.wanted)

    @property
    def is_exact(self) -> bool:
        """Whether it is named itself."""
        return self.wanted <= {str(verdict.component) for verdict in self.reached.verdicts}

    @property
    def accused(self) -> int:
        """Verdicts that name no declared fault."""
        return sum(not (self.guilty & _named(verdict)) for verdict in self.reached.verdicts)


def _named(verdict: Verdict) -> set[str]:
    return {str(verdict.component), *map(str, verdict.alternatives)}


async def investigate(scenario: Scenario, budget: float = BUDGET) -> Run:
    """Localize on all nodes of a world, as fast as it can be computed."""
    source = WorldSource(World(scenario), pace=math.inf)
    incident = Incident()
    number = 0
    awaited = 0
    async for event in source.events():
        if not isinstance(event, CommandOutput):
            number += 1
            incident.apply(Entry(number, f"J{number}", event))
        awaited += isinstance(event, SchemaDeclared) - isinstance(event, SampleTaken)
        if isinstance(event, SampleTaken) and not awaited:
            break
    views = incident.snapshot().nodes
    fabric = build_fabric([views[node] for node in source.nodes])
    for finding in judge(incident.snapshot(), fabric):
        number += 1
        incident.apply(Entry(number, f"J{number}", FindingRaised(time=time.time(), finding=finding)))
    steered_by = priors(incident.snapshot(), source.nodes)
    localizer = Localizer(fabric, source.nodes, Settings(budget=budget), steered_by)
    named_after, decisions, rounds = math.nan, [], 0
    while True:
        began = time.perf_counter()
        plan = localizer.next_round()
        decisions.append(time.perf_counter() - began)
        if isinstance(plan, Stop):
            break
        rounds += 1
        ended = await run_round(source, fabric, plan.trials, rounds, time.time)
        seconds = max(trial.seconds or trial.trial.seconds for trial in ended)
        localizer.learn([(f"R{rounds}.{at}", trial) for at, trial in enumerate(ended)], seconds)
        if math.isnan(named_after) and localizer.verdicts:
            named_after = localizer.seconds
    await source.close()
    return Run(
        localizer.conclusion(time.time()),
        named_after,
        tuple(decisions),
        frozenset(str(wish.component) for wish in scenario.expected if wish.how == "localize"),
        frozenset(str(fault.component) for fault in scenario.faults),
    )


def runs_of(name: str, seeds: int, budget: float = BUDGET) -> list[Run]:
    """One scenario under several seeds."""
    scenario = load_scenario(Path(str(files("lanescope.sim.scenarios"))) / f"{name}.toml")
    return [
        asyncio.run(investigate(replace(scenario, seed=seed), budget)) for seed in range(FIRST_SEED, FIRST_SEED + seeds)
    ]


def figures() -> list[Figure]:
    """The demo's lane by the goals of the house, and what healthy nodes must not show."""
    demo = runs_of("demo", 20)
    return _demo_figures(demo) + _healthy_figures(runs_of("healthy", HEALTHY_SEEDS))


def _demo_figures(demo: list[Run]) -> list[Figure]:
    return [
        Figure("localize: the demo's lane named, median of 20", _median(demo), "simulated s", 25, COMMAND),
        Figure("localize: right, of 20", sum(run.is_exact for run in demo), "runs", 19, COMMAND, True),
        Figure("localize: innocent parts convicted", sum(run.accused for run in demo), "parts", 0, COMMAND),
        Figure("localize: choosing a round, median", _decision(demo), "ms", 50, COMMAND),
    ]


def _healthy_figures(healthy: list[Run]) -> list[Figure]:
    accused = sum(run.accused for run in healthy)
    certified = sum(run.reached.outcome == "none" for run in healthy)
    until = median(run.reached.seconds for run in healthy)
    return [
        Figure(f"localize: accused in {len(healthy)} healthy fleets", accused, "parts", 0, COMMAND),
        Figure(f"localize: certified healthy, of {len(healthy)}", certified, "fleets", 19, COMMAND, True),
        Figure("localize: until certified healthy, median", until, "simulated s", 120, COMMAND),
    ]


def _median(runs: Iterable[Run]) -> float:
    named = [run.named_after for run in runs if not math.isnan(run.named_after)]
    return median(named) if named else math.nan


def _decision(runs: Iterable[Run]) -> float:
    return 1000 * median(seconds for run in runs for seconds in run.decisions)


def _table(name: str, runs: list[Run]) -> str:
    ended = median(run.reached.seconds for run in runs)
    return (
        f"{name:22} {len(runs):4} {sum(run.is_right for run in runs):6} {sum(run.is_exact for run in runs):6} "
        f"{sum(run.accused for run in runs):6} {_median(runs):10.1f} {ended:10.1f} {_decision(runs):8.1f}"
    )


def main() -> None:
    """Print every case, then the figures."""
    heads = " ".join(f"{head:>6}" for head in ("right", "exact", "wrong"))
    print(f"{'scenario':22} {'runs':>4} {heads} {'named, s':>10} {'ended, s':>10} {'ms':>8}")
    demo: list[Run] = []
    for name, seeds in CASES:
        found = runs_of(name, seeds)
        print(_table(name, found), flush=True)
        demo = demo or found
    healthy = runs_of("healthy", HEALTHY_SEEDS)
    print(_table("healthy", healthy))
    print()
    print_table(_demo_figures(demo) + _healthy_figures(healthy))


if __name__ == "__main__":
    main()
