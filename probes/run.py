"""Running a planned round: the trials of a node at once, all nodes side by side, each failure kept to its own node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..incident.errors import Deadline, InputError, LanescopeError, ProbeError
from ..incident.events import Trial, TrialEnded
from ..incident.ids import NodeId
from ..incident.source import Source, Task, TaskOutput
from ..topology.fabric import Fabric
from .catalogue import CATALOGUE
from .probe import Probe

START_ALLOWANCE = 20.0
"""Seconds a node may take before its first window: starting Python, opening the driver, making contexts."""
SLACK = 5.0
"""How often over its planned length a trial may take before it counts as stuck."""
LAST_WORD = 5.0
"""Seconds past the deadline within which a source has to say so itself."""


async def run_round(
    source: Source, fabric: Fabric, trials: Sequence[Trial], number: int, now: Callable[[], float]
) -> tuple[TrialEnded, ...]:
    """Run all trials of a round, answered in the order of the plan; `now` is the operator's clock.

    Never raises for what a node does; cancelled, it takes the trials on the nodes with it."""
    by_node: dict[NodeId, list[Trial]] = {}
    for trial in trials:
        by_node.setdefault(trial.node, []).append(trial)
    async with asyncio.TaskGroup() as group:
        runs = [
            group.create_task(_NodeRound(source, fabric, number, now).run(node, mine)) for node, mine in by_node.items()
        ]
    ended = {trial.trial.id: trial for run in runs for trial in run.result()}
    return tuple(ended[trial.id] for trial in trials)


@dataclass(frozen=True, slots=True)
class _NodeRound:
    """A round on one node."""

    source: Source
    fabric: Fabric
    number: int
    now: Callable[[], float]

    async def run(self, node: NodeId, trials: Sequence[Trial]) -> tuple[TrialEnded, ...]:
        """Run a node's trials at once; whatever fails there becomes the error of its trials."""
        began = self.now()
        ended: list[TrialEnded] = []
        tasks: list[tuple[Trial, Task]] = []
        for trial in trials:
            try:
                tasks.append((trial, _probe(trial).task(trial, self.fabric)))
            except LanescopeError as error:
                ended.append(self.failed(trial, began, str(error), error.code))
        outputs: dict[str, TaskOutput] = {}
        if tasks:
            deadline = START_ALLOWANCE + SLACK * max(trial.seconds for trial, _ in tasks)
            try:
                outputs = await self.outputs(node, [task for _, task in tasks], deadline)
            except LanescopeError as error:
                ended += [self.failed(trial, began, str(error), error.code) for trial, _ in tasks]
                tasks = []
            except Exception as error:  # the border of a node: what breaks here must not cost the other nodes theirs
                sentence = f"probing {node} broke with {type(error).__name__}: {error}"
                ended += [self.failed(trial, began, sentence, LanescopeError.code) for trial, _ in tasks]
                tasks = []
        ended += [self.judged(trial, outputs.get(trial.id), began) for trial, _ in tasks]
        return tuple(ended)

    async def outputs(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> dict[str, TaskOutput]:
        """What the node answered, by task; raises Deadline even for a source that keeps none."""
        try:
            async with asyncio.timeout(deadline + LAST_WORD):
                found = await self.source.run_tasks(node, tasks, deadline)
        except TimeoutError:
            raise Deadline(f"{node} did not end its probes within {deadline + LAST_WORD:.0f} s") from None
        return {output.id: output for output in found}

    def judged(self, trial: Trial, output: TaskOutput | None, began: float) -> TrialEnded:
        """The trial as its output tells it."""
        if output is None:
            return self.failed(trial, began, f"{trial.node} gave no answer for {trial.id}", ProbeError.code)
        if output.error:
            return self.failed(trial, output.started, output.error, output.code or ProbeError.code, output.ended)
        try:
            measured = _probe(trial).read(output, trial, self.fabric)
        except LanescopeError as error:
            return self.failed(trial, output.started, str(error), error.code, output.ended)
        return TrialEnded(
            time=self.now(),
            trial=trial,
            round=self.number,
            windows=measured.windows,
            moves=measured.moves,
            started=output.started,
            ended=output.ended,
            seconds=output.seconds,
            measured_by=measured.measured_by,
        )

    def failed(self, trial: Trial, began: float, error: str, code: str, ended: float | None = None) -> TrialEnded:
        """A trial that measured nothing, and why."""
        now = self.now()
        return TrialEnded(
            time=now,
            trial=trial,
            round=self.number,
            windows=(),
            moves=(),
            started=began,
            ended=now if ended is None else ended,
            error=error,
            code=code,
        )


def _probe(trial: Trial) -> Probe:
    """The probe of a trial; raises InputError for one that the catalogue lacks."""
    if trial.probe not in CATALOGUE:
        raise InputError(f"no probe is called {trial.probe!r}; there are {', '.join(sorted(CATALOGUE))}")
    return CATALOGUE[trial.probe]
