"""Running a planned round: all trials at once, on one node or across several, each failure kept to its own trial."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..incident.errors import Deadline, LanescopeError, ProbeError
from ..incident.events import Trial, TrialEnded
from ..incident.ids import NodeId
from ..incident.source import Source, Task, TaskOutput
from ..topology.fabric import Fabric
from .catalogue import probe_named
from .probe import Probe

START_ALLOWANCE = 20.0
"""Seconds a node may take before its first window: starting Python, opening the driver, making contexts."""
SLACK = 5.0
"""How often over its planned length a trial may take before it counts as stuck."""
LAST_WORD = 5.0
"""Seconds past the deadline within which a source has to say so itself."""

NodeTasks = tuple[tuple[NodeId, Task], ...]


async def run_round(
    source: Source, fabric: Fabric, trials: Sequence[Trial], number: int, now: Callable[[], float]
) -> tuple[TrialEnded, ...]:
    """Run all trials of a round, answered in the order of the plan; `now` is the operator's clock.

    Never raises for what a node does; cancelled, it takes the trials on the nodes with it."""
    running = _Round(source, fabric, number, now, now())
    ended: list[TrialEnded] = []
    within: dict[NodeId, list[_Order]] = {}
    across: list[_Order] = []
    for trial in trials:
        try:
            order = _Order(trial, probe_of(trial).tasks(trial, fabric))
        except LanescopeError as error:
            ended.append(running.failed(trial, str(error), error.code))
            continue
        if len(trial.nodes) > 1:
            across.append(order)
        else:
            within.setdefault(trial.node, []).append(order)
    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(running.within(node, mine)) for node, mine in within.items()]
        if across:
            runs.append(group.create_task(running.across(across)))
    by_id = {trial.trial.id: trial for trial in (*ended, *(trial for run in runs for trial in run.result()))}
    return tuple(by_id[trial.id] for trial in trials)


def probe_of(trial: Trial) -> Probe:
    """The probe of a trial; raises InputError for one that the catalogue lacks."""
    return probe_named(trial.probe)


@dataclass(frozen=True, slots=True)
class _Order:
    """A trial and the runs of node programs that carry it out."""

    trial: Trial
    tasks: NodeTasks


@dataclass(frozen=True, slots=True)
class _Round:
    """A round at work."""

    source: Source
    fabric: Fabric
    number: int
    now: Callable[[], float]
    began: float

    async def within(self, node: NodeId, orders: Sequence[_Order]) -> list[TrialEnded]:
        """Run one node's trials at once; whatever fails there becomes the error of its trials."""
        tasks = [task for order in orders for _, task in order.tasks]
        deadline = _deadline(orders)

        async def outputs() -> Iterable[TaskOutput]:
            return await self.source.run_tasks(node, tasks, deadline)

        return await self._answered(orders, outputs, str(node), deadline)

    async def across(self, orders: Sequence[_Order]) -> list[TrialEnded]:
        """Run the trials that take several nodes each."""
        tasks: dict[NodeId, list[Task]] = {}
        for order in orders:
            for node, task in order.tasks:
                tasks.setdefault(node, []).append(task)
        deadline = _deadline(orders)

        async def outputs() -> Iterable[TaskOutput]:
            found = await self.source.run_joint(tasks, deadline)
            return [output for each in found.values() for output in each]

        return await self._answered(orders, outputs, "a round across nodes", deadline)

    async def _answered(
        self,
        orders: Sequence[_Order],
        outputs: Callable[[], Awaitable[Iterable[TaskOutput]]],
        where: str,
        deadline: float,
    ) -> list[TrialEnded]:
        """The trials as they ended; what can't be run at all fails them all, even for a source without deadlines."""
        try:
            async with asyncio.timeout(deadline + LAST_WORD):
                found = {output.id: output for output in await outputs()}
        except TimeoutError:
            sentence = f"{where} did not end its probes within {deadline + LAST_WORD:.0f} s"
            return [self.failed(order.trial, sentence, Deadline.code) for order in orders]
        except LanescopeError as error:
            return [self.failed(order.trial, str(error), error.code) for order in orders]
        except Exception as error:  # the border of a node: what breaks here must not cost the other nodes theirs
            sentence = f"probing {where} broke with {type(error).__name__}: {error}"
            return [self.failed(order.trial, sentence, LanescopeError.code) for order in orders]
        return [self._judged(order, found) for order in orders]

    def _judged(self, order: _Order, outputs: Mapping[str, TaskOutput]) -> TrialEnded:
        """The trial as its outputs tell it; the first failure of a node is the trial's."""
        trial = order.trial
        answers = [outputs.get(task.id) for _, task in order.tasks]
        for (node, _), answer in zip(order.tasks, answers, strict=True):
            if answer is None:
                return self.failed(trial, f"{node} gave no answer for {trial.id}", ProbeError.code)
            if answer.error:
                return self.failed(trial, answer.error, answer.code or ProbeError.code, answer)
        outputs_in_order = [answer for answer in answers if answer is not None]
        first = outputs_in_order[0]
        try:
            measured = probe_of(trial).read(outputs_in_order, trial, self.fabric)
        except LanescopeError as error:
            return self.failed(trial, str(error), error.code, first)
        return TrialEnded(
            time=self.now(),
            trial=trial,
            round=self.number,
            windows=measured.windows,
            moves=measured.moves,
            started=min(answer.started for answer in outputs_in_order),
            ended=max(answer.ended for answer in outputs_in_order),
            seconds=max(answer.seconds for answer in outputs_in_order),
            measured_by=measured.measured_by,
            check=measured.check,
            detail=measured.detail,
            digests=measured.digests,
        )

    def failed(self, trial: Trial, error: str, code: str, output: TaskOutput | None = None) -> TrialEnded:
        """A trial that measured nothing, and why."""
        now = self.now()
        return TrialEnded(
            time=now,
            trial=trial,
            round=self.number,
            windows=(),
            moves=(),
            started=self.began if output is None else output.started,
            ended=now if output is None else output.ended,
            error=error,
            code=code,
        )


def _deadline(orders: Sequence[_Order]) -> float:
    """Seconds all of them may take together, as they run at once."""
    return START_ALLOWANCE + SLACK * max(order.trial.seconds for order in orders)
