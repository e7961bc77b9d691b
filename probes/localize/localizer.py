"""One investigation: which round next, what the trials taught, when to stop, what to conclude.

Deterministic: the same trials in the same rounds give the same belief, bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...incident.errors import NotTested
from ...incident.events import BeliefUpdated, Trial, TrialEnded, VerdictReached
from ...incident.findings import Verdict
from ...incident.ids import ComponentId, NodeId
from ...topology.fabric import Fabric
from ..catalogue import CATALOGUE
from ..probe import Probe, Targets
from .account import Books
from .coincidence import coincidences
from .compile import compile_parts
from .conviction import Standing, convict, standing, waits_for_bandwidth, waits_for_noise
from .counters import Counters
from .edits import Edits
from .evidence import BandwidthEvidence, Observation
from .explain import verdict_of
from .information import Information
from .likelihood import micro
from .meaning import meaning_of
from .planner import Limits, Planner
from .posterior import Belief, Grounds, believe, resolved
from .settings import STEP_RATES, Prompts, Settings
from .table_document import table_document
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
CERTIFIED_RATE = 0.2
"""Counters that step in a smaller share of trials than this don't keep everything from being called healthy."""
REST_RATE = 0.2
"""Further faults that are on, or step, less often than this don't keep the search going after a first one was named."""
LENT = 0.3
"""Share of the belief that plans lend to parts that are to be decided about."""
LEAST_GAIN = 1e-6
"""Nats below which a round teaches nothing."""
MOST_LOOKED_AT = 16
"""Trials of a round in whose light its outcomes are told."""
SUSPECT_COLUMNS = 3
SUSPECTED_FROM = 0.001
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
    meaning: tuple[str, ...] = ()
    """What each outcome would mean, a sentence each."""


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
        self._probes = {name: probe for name, probe in probes.items() if probe.searches}
        self._parts = compile_parts(fabric, self._nodes, self._probes.values())
        self._prompts = Prompts({str(part): nats for part, nats in (priors or {}).items()})
        self._bandwidth = BandwidthEvidence(self._parts, self.settings)
        self._counters = Counters(self._parts)
        self._planner = Planner(self._parts, fabric, self._probes, self.settings.seed)
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
        self._named_at = 0.0
        self._ready_since: tuple[int, float] | None = None
        self._edits = Edits()
        self._counted = self._counters.evidence()
        self._lacking: set[tuple[str, NodeId]] = set()
        self._believe()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Convicted so far."""
        return tuple(verdict for _, verdict in self._convicted)

    @property
    def seconds(self) -> float:
        """Probing seconds spent."""
        return self._seconds

    @property
    def books(self) -> Books:
        """The accounts of all parts."""
        return self._books

    @property
    def grounds(self) -> Grounds:
        """What the belief of now is drawn from."""
        return self._grounds

    @property
    def table(self) -> dict[str, Any]:
        """The table of likelihoods in use, as a document."""
        return table_document(self._bandwidth.tables, self._parts.shares)

    def edit(self, edits: Edits) -> None:
        """Take the operator's limits and wishes for all rounds from now on."""
        self._edits = edits

    def next_round(self) -> RoundPlan | Stop:
        """The round that tells most per second, or why there is none."""
        if stop := self._decided():
            return stop
        told = self._information()
        choice = self._planner.choose(told, self._limits())
        if choice is None or choice.gain < LEAST_GAIN:
            return self._nothing_measurable()
        if self._seconds + choice.seconds > self.settings.budget:
            spent = f"The budget of {self.settings.budget:.0f} s is spent."
            return Stop(self._outcome_at_budget(), spent + self._still_open())
        number = self._rounds_before + self._rounds + 1
        targets_of = choice.drawn()
        trials = tuple(
            Trial(
                id=f"R{number}T{at}",
                probe=choice.probe.name,
                node=targets[0].node,
                targets=targets,
                seconds=choice.probe.seconds,
            )
            for at, targets in enumerate(targets_of, start=1)
        )
        return RoundPlan(
            trials,
            choice.seconds,
            choice.gain,
            self._reason(choice.probe, targets_of),
            self._meaning(choice.probe, targets_of, told),
        )

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
        self._planner.ran(seen.path.index for seen in fresh)
        self._bandwidth.add(fresh, self._suspected_columns())
        self._counted = self._counters.evidence(coincidences(self._counters, self._bandwidth))
        self._believe()
        while self._convict():
            self._believe()

    def belief(self, round: int, time: float) -> BeliefUpdated:  # noqa: A002 (the event's own word)
        """What is believed now."""
        calibration = self._bandwidth.calibration
        return BeliefUpdated(
            time=time,
            round=round,
            suspects=self._books.suspects(self._belief, self._grounds),
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
            choice = self._planner.choose(self._information(), self._limits())
            stop = self._nothing_measurable() if choice is None else Stop(self._outcome_at_budget(), self._cut_short())
        guilty = frozenset(part for part, _ in self._convicted)
        measured = bool(self._bandwidth.observations)
        return VerdictReached(
            time=time,
            outcome=stop.outcome,
            verdicts=self.verdicts,
            excludes=self._books.exclusions(self._grounds, guilty) if measured else (),
            untestable=(*self._parts.untestable, *(self._parts.components[part] for part in sorted(self._unreached()))),
            reason=" ".join([stop.reason, *self._failed_trials()]),
            rounds=self._rounds,
            probes=self._trials,
            seconds=self._seconds,
        )

    def _believe(self) -> None:
        """Draw the belief, and how the most suspected group stands, from all that was learned."""
        self._grounds = self._drawn()
        self._belief = believe(self._grounds)
        self._standing = standing(self._grounds, self._belief, self._bandwidth)

    def _drawn(self) -> Grounds:
        bandwidth = self._bandwidth
        return Grounds(
            self._parts,
            self.settings,
            resolved(self._parts, bandwidth.tables, bandwidth.baselines.spread, self.settings.drained),
            bandwidth.ratios,
            bandwidth.harmless,
            self._counted,
            self._prompts,
            self._unreached().union(self._dead),
        )

    def _take(self, event_id: str, ended: TrialEnded) -> Observation | None:
        """One trial as an observation; None where it says nothing about parts."""
        path = self._parts.find(ended.trial.probe, ended.trial.targets)
        if path is None:
            return None
        if ended.code == NotTested.code:
            self._lacking.update((ended.trial.probe, node) for node in ended.trial.nodes)
        if ended.error:
            if not any(code in f"{ended.code} {ended.error}" for code in TRANSFER_FAILED):
                self._failures.append(ended)
                return None
            return Observation(
                event_id, ended.round, path, np.array([], dtype=np.int64), failed=True, seconds=self._began
            )
        windows = np.array([rate for rate in ended.windows if rate > 0])
        if not len(windows):
            return None
        self._worked.update(ended.trial.targets)
        self._counters.learn(event_id, ended, path.counted)
        return Observation(event_id, ended.round, path, micro(np.log(windows)), failed=False, seconds=self._began)

    def _convict(self) -> bool:
        """Convict one part if the rules allow it."""
        grounds, belief, now = self._grounds, self._belief, self._standing
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
        self._named_at = self._seconds
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
            if self._seconds - self._named_at >= settings.rest_patience:
                return Stop("localized", f"{settings.rest_patience:.0f} s of further rounds named no other part.")
            return None
        if belief.no_fault >= settings.healthy and belief.acquits(settings.missed, 0.0, CERTIFIED_RATE):
            return Stop(
                "none", f"No part shows a fault; all are healthy with a probability of {100 * belief.no_fault:.1f} %."
            )
        return None

    def _information(self) -> Information:
        view = self._view(self._grounds, self._standing)
        return Information.of(self._parts, self._with_wishes(view), self._bandwidth)

    def _with_wishes(self, belief: Belief) -> Belief:
        """The belief to plan by: what the operator pinned, or what alone holds the end back, is lent a share."""
        pinned = [self._parts.index[part] for part in sorted(self._edits.pinned) if part in self._parts.index]
        asked = pinned or self._unheard()
        return belief.leaning_to(self._parts, asked, LENT) if asked else belief

    def _unheard(self) -> list[int]:
        """Parts whose counters have not been read often enough, where no fault is believed in any more."""
        settings, belief = self.settings, self._belief
        enough, missed, rate = (
            (settings.rest_healthy, settings.rest_missed, REST_RATE)
            if self._convicted
            else (settings.healthy, settings.missed, CERTIFIED_RATE)
        )
        if belief.no_fault < enough:
            return []
        asked = np.exp(np.minimum(self._counted.ratios[:, np.array(STEP_RATES) >= rate], 700)).max(axis=1) > missed
        asked &= belief.unheard(missed, rate)[self._parts.kind] & self._counted.readable & (belief.part > 0)
        return [int(part) for part in np.flatnonzero(asked)]

    def _limits(self) -> Limits:
        lost = {gpu for node in self._edits.left_out for gpu in self._fabric.gpus(node)}
        barred = {name: out | lost for name, out in self._barred().items() if name not in self._edits.forbidden}
        whole = waits_for_noise(self._grounds, self._belief, self._bandwidth, self._standing)
        return Limits(barred, whole, self._overhead)

    def _barred(self) -> dict[str, frozenset[ComponentId]]:
        """For each probe the GPUs it can't be aimed at: those that are gone, and those of nodes that lack its needs."""
        out = self._left_out()
        barred = {name: set(out) for name in self._probes}
        for name, node in self._lacking:
            barred[name].update(self._fabric.gpus(node))
        return {name: frozenset(gpus) for name, gpus in barred.items()}

    def _view(self, grounds: Grounds, now: Standing) -> Belief:
        """What to plan by: not by what points at a part and may not convict it, where something else has to agree."""
        if waits_for_bandwidth(grounds, self._belief, self._counters, now):
            return believe(grounds.without_counters())
        if now.posterior >= 0.9 and now.unprompted < self.settings.convict_unprompted:
            return believe(grounds.without_prompts())
        return self._belief

    def _left_out(self) -> set[ComponentId]:
        """GPUs that are gone, or whose trials failed again and again and never worked."""
        failed: dict[ComponentId, int] = {}
        for ended in self._failures:
            for gpu in ended.trial.targets:
                failed[gpu] = failed.get(gpu, 0) + 1
        given_up = {gpu for gpu, count in failed.items() if count >= GIVE_UP_AFTER and gpu not in self._worked}
        return given_up | self._unusable

    def _unreached(self) -> frozenset[int]:
        """Parts that only left-out GPUs, or probes that can't run there, lead to: no belief is held about them."""
        barred = self._barred()
        if not any(barred.values()) or (self._rounds and not self._bandwidth.observations):
            return frozenset()
        reached = self._planner.reached(barred)
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

    def _meaning(self, probe: Probe, drawn: Sequence[Targets], told: Information) -> tuple[str, ...]:
        found = (self._parts.find(probe.name, targets) for targets in drawn[:MOST_LOOKED_AT])
        return meaning_of(self._parts, [path for path in found if path is not None], self._belief, told)

    def _reason(self, probe: Probe, drawn: Sequence[Targets]) -> str:
        """What the round is to decide, in one sentence."""
        part, group = self._top()
        if group >= SUSPECTED_ENOUGH:
            return f"{probe.title}: is {part} at fault ({100 * group:.0f} %), or something beside it?"
        nodes = len({target.node for targets in drawn for target in targets})
        return f"{probe.title} on {plural(nodes, 'node')}: nothing stands out yet, every part once more"
