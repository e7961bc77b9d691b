"""Running one probe at a person's word, and what its measurements say beside what healthy parts measure."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from ..incident.errors import NodeError, NotTested
from ..incident.events import Consented, NodeState, RoundEnded, RoundPlanned, Trial, TrialEnded
from ..incident.ids import NodeId
from ..incident.snapshot import Snapshot
from ..probes.probe import Measure, Probe, Targets
from ..probes.run import run_round

if TYPE_CHECKING:
    from .session import Session

CLEARLY_SLOW = 0.8
"""Share of the expected figure below which the median is no matter of taste."""
LOW_WINDOW = 0.9
"""Share of the median below which a window is told of."""


class Judgement(StrEnum):
    """What came out."""

    GOOD = "good"
    MEASURED = "measured"
    """There is no figure to hold it against."""
    SLOW = "slow"
    WRONG = "wrong"
    NOT_TESTED = "not tested"
    FAILED = "failed"
    """A run ended without a measurement."""


EXIT_CODES = {Judgement.GOOD: 0, Judgement.MEASURED: 0, Judgement.SLOW: 1, Judgement.WRONG: 1}


@dataclass(frozen=True, slots=True)
class Aimed:
    """A probe and what it is aimed at."""

    probe: Probe
    targets: Targets
    expected: float
    """In the probe's unit; NaN where nobody knows."""


@dataclass(frozen=True, slots=True)
class Run:
    """One trial as it was recorded."""

    id: str
    """Of its event in the case."""
    trial: TrialEnded


@dataclass(frozen=True, slots=True)
class Outcome:
    """All runs at one aim."""

    aimed: Aimed
    runs: tuple[Run, ...]
    odd: str = ""
    """How its results differ from those of its equals; empty where they agree, or there is nobody to compare with."""

    @property
    def windows(self) -> tuple[float, ...]:
        """Of all runs, one after the other."""
        return tuple(value for run in self.runs for value in run.trial.windows)

    @property
    def median(self) -> float:
        """NaN where nothing was measured."""
        return statistics.median(self.windows) if self.windows else math.nan

    @property
    def spread(self) -> float:
        """Half of the windows lie in a band this wide, as a share of the median; NaN of fewer than four."""
        if len(self.windows) < 4 or not self.median:
            return math.nan
        lower, _, upper = statistics.quantiles(self.windows, n=4)
        return (upper - lower) / self.median

    @property
    def low(self) -> tuple[float, ...]:
        """Windows clearly worse than the median: below it, of a latency above."""
        if self.aimed.probe.measure is Measure.LATENCY:
            return tuple(value for value in self.windows if value * LOW_WINDOW > self.median)
        return tuple(value for value in self.windows if value < LOW_WINDOW * self.median)

    @property
    def share(self) -> float:
        """How the median stands to what is expected: 1.0 is as expected, less is worse; NaN where it can't be said."""
        if not (self.median > 0 and self.aimed.expected > 0):
            return math.nan
        latency = self.aimed.probe.measure is Measure.LATENCY
        return self.aimed.expected / self.median if latency else self.median / self.aimed.expected

    @property
    def judgement(self) -> Judgement:
        """Of all runs; whatever is wrong in one of them counts."""
        trials = [run.trial for run in self.runs]
        if self.odd or any(trial.check == "wrong" for trial in trials):
            return Judgement.WRONG
        if self.share < CLEARLY_SLOW:
            return Judgement.SLOW
        failed = [trial for trial in trials if trial.error]
        if failed or not trials:
            lacking = all(trial.code == NotTested.code for trial in failed)
            return Judgement.NOT_TESTED if lacking else Judgement.FAILED
        if self.windows and math.isnan(self.share):
            return Judgement.MEASURED
        return Judgement.GOOD

    @property
    def exit_code(self) -> int:
        """0 good or measured, 1 wrong or clearly slow, 3 where a run gave no measurement."""
        return EXIT_CODES.get(self.judgement, 3)


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """Of several: what was found counts more than what could not be run, and that more than what is good."""
    codes = {outcome.exit_code for outcome in outcomes}
    return next((code for code in (1, 3) if code in codes), 0)


def usable(snapshot: Snapshot, targets: Targets) -> None:
    """Raise NodeError that says why, when a node of the targets can't be probed now."""
    for node in dict.fromkeys(target.node for target in targets):
        view = snapshot.nodes.get(NodeId(node))
        if view is None:
            raise NodeError(f"{node} is none of the hosts")
        if view.state is not NodeState.LIVE:
            raise NodeError(f"{node} can't be probed: it is {view.state} ({view.reason or 'it gave no reason'})")


async def run_probe(session: Session, aimed: Aimed, repeat: int, progress: Callable[[str], None]) -> Outcome:
    """Run a probe `repeat` times, each a round of its own, journalled as every round; the person has said yes."""
    runs = []
    for count in range(1, repeat + 1):
        run = await _run_once(session, aimed)
        runs.append(run)
        if repeat > 1:
            progress(f"run {count} of {repeat}: {in_short(run.trial, aimed.probe.measure)}")
    return Outcome(aimed, tuple(runs))


def in_short(trial: TrialEnded, measure: Measure) -> str:
    """One run in a few words."""
    if trial.error:
        return trial.error
    if trial.windows:
        return f"{statistics.median(trial.windows):.4g} {measure}"
    return trial.check or "nothing measured"


async def _run_once(session: Session, aimed: Aimed) -> Run:
    probe, number = aimed.probe, len(session.snapshot().rounds) + 1
    trial = Trial(
        id=f"R{number}T1",
        probe=probe.name,
        node=NodeId(aimed.targets[0].node),
        targets=aimed.targets,
        seconds=probe.seconds,
    )
    reason = f"A person asked for it: {probe.title}."
    planned = RoundPlanned(
        time=time.time(), round=number, trials=(trial,), seconds=probe.seconds, gain=0.0, reason=reason
    )
    session.record(planned)
    session.record(Consented(time=time.time(), what=f"round {number}", by="operator, this round"))
    (ended,) = await run_round(session.source, session.fabric(), (trial,), number, time.time)
    session.record(RoundEnded(time=time.time(), round=number, seconds=ended.seconds or probe.seconds))
    return Run(session.record(ended), ended)
