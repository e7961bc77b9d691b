"""One investigation: which round next, what the trials taught, when to stop, what to conclude.

Deterministic: the same trials in the same rounds give the same belief, bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...incident.events import BeliefUpdated, Trial, TrialEnded, VerdictReached
from ...incident.findings import Verdict
from ...incident.ids import ComponentId, NodeId
from ...topology.fabric import Fabric
from ..catalogue import CATALOGUE
from ..probe import Probe
from .account import Books
from .coincidence import coincidences
from .conviction import Standing, convict, standing, waits_for_bandwidth, waits_for_noise
from .counters import Counters
from .edits import Edits
from .evidence import BandwidthEvidence, Observation
from .explain import verdict_of
from .parts import compile_parts
from .planner import Choice, Planner
from .posterior import Belief, Grounds, believe, resolved
from .settings import Prompts, Settings
from .words import plural

TRANSFER_FAILED = (
    "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
)
"""Errors that say that the transfer itself failed on the way: evidence. All others say nothing about parts."""
GIVE_UP_AFTER = 2
"""A GPU whose trials failed so often and never worked is left out."""
CERTIFIED_RATE = 0.1
"""Counters that step in a smaller share of trials than this don't keep everything from being called healthy."""
REST_RATE = 0.2
"""Further faults that are on, or step, less often than this don't keep the search going after a first one was named."""
LEAST_GAIN = 1e-6
"""Nats below which a round teaches nothing."""
SUSPECT_COLUMNS = 3
SUSPECTED_FROM = 0.02
SUSPECTED_ENOUGH = 0.05
"""Posterior from which a round's reason names a suspect."""


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """Trials to run at once."""

    trials: tuple[Trial, ...]
    seconds: float
    gain: float
    """Expected information, nats."""
    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """No further round."""

    outcome: str
    """`localized`, `none`, `undecided` or `not_run`."""
    reason: str


class Localizer:
    """The engine behind an investigation of some nodes."""

    def __init__(
        self,
        fabric: Fabric,
        nodes: Sequence[NodeId],
        settings: Settings | None = None,
        priors: Mapping[ComponentId, float] | None = None,
        unusable: Collection[ComponentId] = (),
        rounds_before: int = 0,
        probes: Mapping[str, Probe] = CATALOGUE,
    ) -> None:
        """`priors`: nats by component that standing counters and findings give; they steer and never decide.

        `unusable`: GPUs that are known to be gone, on which no trial is tried. `rounds_before`: rounds that earlier
        searches of the case took, so that no trial's id comes twice."""
        self.settings = settings or Settings()
        self._nodes = tuple(nodes)
        self._unusable = frozenset(unusable)
        self._rounds_before = rounds_before
        self._fabric = fabric
        self._parts = compile_parts(fabric, self._nodes, [probe for probe in probes.values() if probe.searches])
        self._prompts = Prompts({str(part): nats for part, nats in (priors or {}).items()})
        self._bandwidth = BandwidthEvidence(self._parts, self.settings)
        self._counters = Counters(self._parts)
        self._planner = Planner(self._parts, fabric, self.settings.seed)
        self._books = Books(fabric, self._parts, self._bandwidth, self._counters)
        self._overhead = self.settings.overhead
        self._seconds = 0.0
        self._began = 0.0
        self._rounds = 0
        self._trials = 0
        self._failures: list[TrialEnded] = []
        self._worked: set[ComponentId] = set()
        self._dead: set[int] = set()
        self._convicted: list[tuple[int, Verdict]] = []
        self._ready_since: tuple[int, float] | None = None
        self._edits = Edits()
        self._counted = self._counters.evidence()
        self._belief = believe(self._grounds())

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Convicted so far."""
        return tuple(verdict for _, verdict in self._convicted)

    @property
    def seconds(self) -> float:
        """Probing seconds spent."""
        return self._seconds

    def edit(self, edits: Edits) -> None:
        """Take the operator's limits and wishes for all rounds from now on."""
        self._edits = edits

    def next_round(self) -> RoundPlan | Stop:
        """The round that tells most per second, or why there is none."""
        if stop := self._decided():
            return stop
        choice = self._choose()
        if choice is None or choice.gain < LEAST_GAIN:
            return self._nothing_measurable()
        if self._seconds + choice.seconds > self.settings.budget:
            spent = f"The budget of {self.settings.budget:.0f} s is spent."
            return Stop(self._outcome_at_budget(), spent + self._still_open())
        number = self._rounds_before + self._rounds + 1
        trials = tuple(
            Trial(id=f"R{number}T{at}", probe=path.probe, node=path.node, targets=path.targets, seconds=path.seconds)
            for at, path in enumerate(choice.paths, start=1)
        )
        return RoundPlan(trials, choice.seconds, choice.gain, self._reason(choice))

    def learn(self, ended: Sequence[tuple[str, TrialEnded]], seconds: float) -> None:
        """Take in a round: its trials with the ids of their events, and the probing seconds it took."""
        self._rounds += 1
        self._began = self._seconds
        self._seconds += seconds
        self._trials += len(ended)
        if ended:
            longest = max(trial.trial.seconds for _, trial in ended)
            self._overhead = (self._overhead + min(max(seconds - longest, 0.0), 5.0)) / 2
        fresh = [seen for event_id, trial in ended if (seen := self._take(event_id, trial)) is not None]
        self._planner.ran([seen.path for seen in fresh])
        self._bandwidth.add(fresh, self._suspected_columns())
        self._counted = self._counters.evidence(coincidences(self._counters, self._bandwidth))
        self._belief = believe(self._grounds())
        while self._convict():
            self._belief = believe(self._grounds())

    def belief(self, round: int, time: float) -> BeliefUpdated:  # noqa: A002 (the event's own word)
        """What is believed now."""
        calibration = self._bandwidth.calibration
        return BeliefUpdated(
            time=time,
            round=round,
            suspects=self._books.suspects(self._belief, self._grounds()),
            no_fault=self._belief.no_fault,
            parts=len(self._parts.components),
            probes=self._trials,
            seconds=self._seconds,
            noise=calibration.noise,
            outliers=calibration.outliers,
            burst=calibration.burst,
        )

    def conclusion(self, time: float) -> VerdictReached:
        """What follows, whether the search is over or was cut short."""
        stop = self._decided()
        if stop is None:
            choice = self._choose()
            stop = self._nothing_measurable() if choice is None else Stop(self._outcome_at_budget(), self._cut_short())
        guilty = frozenset(part for part, _ in self._convicted)
        measured = bool(self._bandwidth.observations)
        return VerdictReached(
            time=time,
            outcome=stop.outcome,
            verdicts=self.verdicts,
            excludes=self._books.exclusions(self._grounds(), guilty) if measured else (),
            untestable=(*self._parts.untestable, *(self._parts.components[part] for part in sorted(self._unreached()))),
            reason=" ".join([stop.reason, *self._failed_trials()]),
            rounds=self._rounds,
            probes=self._trials,
            seconds=self._seconds,
        )

    def _grounds(self) -> Grounds:
        bandwidth = self._bandwidth
        return Grounds(
            self._parts,
            self.settings,
            resolved(self._parts, bandwidth.tables, bandwidth.baselines.spread),
            bandwidth.ratios,
            self._counted,
            self._prompts,
            self._unreached().union(self._dead),
        )

    def _take(self, event_id: str, ended: TrialEnded) -> Observation | None:
        """One trial as an observation; None where it says nothing about parts."""
        path = self._parts.by_target.get((ended.trial.probe, ended.trial.targets))
        if path is None:
            return None
        if ended.error:
            if not any(code in f"{ended.code} {ended.error}" for code in TRANSFER_FAILED):
                self._failures.append(ended)
                return None
            return Observation(event_id, ended.round, path, np.array([]), failed=True, seconds=self._began)
        windows = np.array([rate for rate in ended.windows if rate > 0])
        if not len(windows):
            return None
        self._worked.update(ended.trial.targets)
        self._counters.learn(event_id, ended)
        return Observation(event_id, ended.round, path, np.log(windows), failed=False, seconds=self._began)

    def _convict(self) -> bool:
        """Convict one part if the rules allow it."""
        grounds, belief = self._grounds(), self._belief
        now = standing(grounds, belief, self._bandwidth)
        ready = now.posterior >= self.settings.convict
        if not ready:
            self._ready_since = None
        elif self._ready_since is None or self._ready_since[0] != now.group:
            self._ready_since = (now.group, self._seconds)
        waited = self._seconds - self._ready_since[1] if self._ready_since else 0.0
        found = convict(grounds, belief, self._bandwidth, self._counters, now, waited)
        if found is None:
            return False
        found = replace(found, seconds=self._seconds)
        self._convicted.append((found.part, verdict_of(found, self._books, belief, grounds)))
        self._dead.update([found.part] if found.by == "counters" else self._parts.members(found.group).tolist())
        self._bandwidth.mute([int(self._parts.column[found.part])])
        self._ready_since = None
        return True

    def _decided(self) -> Stop | None:
        """Whether everything that can be decided is."""
        settings, belief = self.settings, self._belief
        if self._convicted:
            if belief.no_fault >= settings.rest_healthy and belief.acquits(settings.rest_missed, REST_RATE, REST_RATE):
                return Stop("localized", "The rest shows no further fault.")
            return None
        if belief.no_fault >= settings.healthy and belief.acquits(settings.missed, 0.0, CERTIFIED_RATE):
            return Stop(
                "none", f"No part shows a fault; all are healthy with a probability of {100 * belief.no_fault:.1f} %."
            )
        return None

    def _choose(self) -> Choice | None:
        grounds = self._grounds()
        now = standing(grounds, self._belief, self._bandwidth)
        belief = self._view(grounds, now)
        whole = waits_for_noise(grounds, self._belief, self._bandwidth, now)
        deaf = frozenset(self._bandwidth.muted)
        return self._planner.choose(belief, self._bandwidth, self._usable(), self._overhead, deaf, whole)

    def _view(self, grounds: Grounds, now: Standing) -> Belief:
        """What to plan by: not by what points at a part and may not convict it, where something else has to agree."""
        if waits_for_bandwidth(grounds, self._belief, self._counters, now):
            return believe(grounds.without_counters())
        if now.posterior >= 0.9 and now.unprompted < self.settings.convict_unprompted:
            return believe(grounds.without_prompts())
        return self._belief

    def _usable(self) -> dict[NodeId, tuple[ComponentId, ...]]:
        out = self._left_out()
        nodes = [node for node in self._nodes if node not in self._edits.left_out]
        return {node: tuple(gpu for gpu in self._fabric.gpus(node) if gpu not in out) for node in nodes}

    def _left_out(self) -> set[ComponentId]:
        """GPUs that are gone, or whose trials failed again and again and never worked."""
        failed: dict[ComponentId, int] = {}
        for ended in self._failures:
            for gpu in ended.trial.targets:
                failed[gpu] = failed.get(gpu, 0) + 1
        given_up = {gpu for gpu, count in failed.items() if count >= GIVE_UP_AFTER and gpu not in self._worked}
        return given_up | self._unusable

    def _unreached(self) -> frozenset[int]:
        """Parts that only left-out GPUs lead to: no probe can speak of them, so no belief is held about them."""
        out = self._left_out()
        if not out or (self._rounds and not self._bandwidth.observations):
            return frozenset()
        reached = np.zeros(self._parts.columns, dtype=bool)
        for path in self._parts.paths:
            if out.isdisjoint(path.targets):
                reached[path.columns] = True
        return frozenset(np.flatnonzero(~reached[self._parts.column]).tolist())

    def _suspected_columns(self) -> np.ndarray:
        order = np.argsort(-self._belief.column)[:SUSPECT_COLUMNS]
        return order[self._belief.column[order] > SUSPECTED_FROM]

    def _nothing_measurable(self) -> Stop:
        if self._convicted:
            return Stop("localized", "Nothing else can be measured here.")
        if not self._bandwidth.observations:
            return Stop("not_run", "Nothing could be measured on these nodes.")
        return Stop("undecided", "Nothing more can be measured on these nodes." + self._still_open())

    def _outcome_at_budget(self) -> str:
        if self._convicted:
            return "localized"
        return "undecided" if self._bandwidth.observations else "not_run"

    def _cut_short(self) -> str:
        return f"Ended after {plural(self._rounds, 'round')}, before everything was decided.{self._still_open()}"

    def _still_open(self) -> str:
        """The part suspected most, where an end leaves it undecided."""
        if self._convicted or not self._bandwidth.observations:
            return ""
        part, group = self._top()
        if group < SUSPECTED_ENOUGH:
            return " No part is suspected, but rare faults are not excluded yet."
        return f" {part} is suspected most ({100 * group:.0f} %), not enough for a verdict."

    def _top(self) -> tuple[ComponentId, float]:
        """The part believed in most, and its group's probability."""
        part = int(self._belief.part.argmax())
        return self._parts.components[part], float(self._belief.group[self._parts.group[part]])

    def _failed_trials(self) -> list[str]:
        if not self._failures:
            return []
        last = self._failures[-1]
        return [f"{plural(len(self._failures), 'trial')} measured nothing; the last, {last.trial.id}: {last.error}."]

    def _reason(self, choice: Choice) -> str:
        """What the round is to decide, in one sentence."""
        probe = CATALOGUE[choice.paths[0].probe].title if choice.paths[0].probe in CATALOGUE else choice.paths[0].probe
        part, group = self._top()
        if group >= SUSPECTED_ENOUGH:
            return f"{probe}: is {part} at fault ({100 * group:.0f} %), or something beside it?"
        nodes = len({path.node for path in choice.paths})
        return f"{probe} on {plural(nodes, 'node')}: nothing stands out yet, every part once more"
