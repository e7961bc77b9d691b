"""Tasks of node programs that start together, on one node or several: what the world answers to each.

Tasks of one program and one joint name are one trial; any other is one by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from ..incident.errors import Deadline, NotTested, ProbeError
from ..incident.ids import NodeId
from ..incident.source import Task, TaskOutput
from .ledger import CudaError, Ledger, NetTransfer, Transfer
from .program import Line, Party, Program, Wanted, lines_of_error
from .programs import programs_of
from .readings import Readings
from .request import Request
from .world import World

COLD_LAUNCH = 0.5
"""Seconds until the first task of a node starts: driver, contexts, pinned memory."""
WARM_LAUNCH = 0.05
"""Seconds until any later one starts."""
LOOKS_LOADED = 1.0
"""Seconds a GPU keeps its link and clocks up after a transfer."""

CODES = {"NOT_TOLD": Deadline.code, "NOT_SIMULATED": NotTested.code, "MISSING": NotTested.code}
"""Code of an error, by the name a program gives it; of all others that of a ProbeError."""


@dataclass(slots=True)
class _Trial:
    """What runs together, and how it went."""

    program: Program | None
    parties: list[Party]
    errors: list[CudaError | None]
    """Party by party."""
    wanted: Wanted | None = None
    sides: tuple[Transfer, ...] = ()
    """Party by party, where a transfer ran."""

    @property
    def failed(self) -> bool:
        """Whether any party has an error."""
        return any(error is not None for error in self.errors)


class Trials:
    """Runs tasks on the nodes of a world and writes down what that does to the nodes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._programs = programs_of(world.network)

    def run(
        self, tasks: Mapping[NodeId, Sequence[Task]], ledgers: dict[NodeId, Ledger], at: float
    ) -> tuple[Mapping[NodeId, tuple[TaskOutput, ...]], float]:
        """Answers in the order of the tasks, and the simulated seconds that all took; changes `ledgers`.

        `at`: true time at which they are launched.
        """
        world = self._world
        launch = max(WARM_LAUNCH if ledgers[node].trials else COLD_LAUNCH for node in tasks)
        before = {node: world.readings(node, at, ledgers[node]) for node in tasks}
        trials = self._trials(tasks)
        self._transfer(trials, ledgers, at + launch)
        took = [self._seconds(trial, launch) for trial in trials]
        seconds = {
            node: max((one for trial, one in zip(trials, took, strict=True) if _is_on(node, trial)), default=launch)
            for node in tasks
        }
        outputs: dict[str, TaskOutput] = {}
        for trial, one in zip(trials, took, strict=True):
            for place, party in enumerate(trial.parties):
                lines = tuple(self._lines(trial, place, before[party.node], one))
                outputs[party.node + party.task.id] = _output(party.task, lines, at, one)
        for node in tasks:
            ledgers[node] = self._written(ledgers[node], node, trials, seconds[node], at)
        found = {node: tuple(outputs[node + task.id] for task in mine) for node, mine in tasks.items()}
        return found, max(seconds.values())

    def _trials(self, tasks: Mapping[NodeId, Sequence[Task]]) -> list[_Trial]:
        """Tasks gathered by what is one trial, in the order in which they were given."""
        found: dict[tuple[str, ...], _Trial] = {}
        for node, mine in tasks.items():
            hardware = self._world.hardware(node)
            for task in mine:
                program = self._programs.get(task.program)
                key = ("joint", task.program, task.joint) if task.joint else ("single", node, task.id)
                trial = found.setdefault(key, _Trial(program, [], []))
                plan = program.read(task, hardware) if program is not None else None
                unknown = CudaError("worker", "UNKNOWN_PROGRAM", 0, f"no program {task.program}")
                error = plan if isinstance(plan, CudaError) else unknown if program is None else None
                trial.parties.append(Party(node, task, hardware, plan))
                trial.errors.append(error)
        return list(found.values())

    def _transfer(self, trials: Sequence[_Trial], ledgers: Mapping[NodeId, Ledger], at: float) -> None:
        """Time what the trials want, all at once."""
        for trial in trials:
            if trial.program is None or trial.failed:
                continue
            wanted = trial.program.wanted(trial.parties)
            if isinstance(wanted, CudaError):
                trial.errors = [wanted] * len(trial.parties)
            else:
                trial.wanted = wanted
        running = [trial for trial in trials if trial.wanted is not None]
        nonces = {node: ledger.trials for node, ledger in ledgers.items()}
        requests = []
        for trial in running:
            assert trial.wanted is not None
            starts = at + (trial.program.start_seconds if trial.program is not None else 0.0)
            requests.append(_request(trial.wanted, ledgers, nonces, starts))
            for party in trial.parties:
                nonces[party.node] += 1
        for trial, transfer in zip(running, self._world.transfers(requests), strict=True):
            trial.sides = _sides(trial, transfer)
            trial.errors = [side.error for side in trial.sides]

    def _seconds(self, trial: _Trial, launch: float) -> float:
        """Node time of a trial, launch included."""
        if trial.program is None or not trial.sides or trial.failed:
            return launch
        return launch + trial.program.start_seconds + max(side.seconds for side in trial.sides)

    def _lines(self, trial: _Trial, place: int, before: Readings, took: float) -> Iterator[Line]:
        """What one party prints. One that has no error of its own stops for that of another, whose name it gives."""
        if trial.failed or trial.program is None:
            yield from lines_of_error(trial.errors[place] or _of_another(trial), took)
            return
        transfer = trial.sides[place] if trial.sides else Transfer()
        yield from trial.program.lines(trial.parties[place], transfer, before, took)

    def _written(self, ledger: Ledger, node: NodeId, trials: Sequence[_Trial], seconds: float, at: float) -> Ledger:
        done = [
            trial.sides[place] if trial.sides else Transfer()
            for trial in trials
            for place, party in enumerate(trial.parties)
            if party.node == node
        ]
        return ledger.after(done, seconds, at + seconds / self._world.scenario.speed + LOOKS_LOADED)


def _is_on(node: NodeId, trial: _Trial) -> bool:
    return any(party.node == node for party in trial.parties)


def _request(wanted: Wanted, ledgers: Mapping[NodeId, Ledger], nonces: Mapping[NodeId, int], at: float) -> Request:
    nodes = [NodeId(end.partition("/")[0]) for end in wanted.ends]
    return Request(
        wanted.operation,
        wanted.ends,
        tuple(ledgers[node].load_clock for node in nodes),
        wanted.window_ms / 1000,
        wanted.windows,
        nonces[nodes[0]],
        at,
        wanted.warm_ms / 1000,
        wanted.both_ways,
    )


def _sides(trial: _Trial, transfer: Transfer | NetTransfer) -> tuple[Transfer, ...]:
    """The transfer as each party sees it; of a copy within a node each tells what its own GPU counted, and the first
    what no GPU did."""
    assert trial.wanted is not None
    if isinstance(transfer, NetTransfer):
        by_end = dict(zip(trial.wanted.ends, transfer.ends, strict=True))
        return tuple(by_end[f"{party.node}/{party.plan.gpu}"] for party in trial.parties)
    if len(trial.parties) == 1:
        return (transfer,)
    gpus = [str(party.plan.gpu) for party in trial.parties]
    return tuple(
        Transfer(
            transfer.gbps,
            {key: step for key, step in transfer.steps.items() if _whose(key[0], gpus) == place},
            () if place else transfer.lines,
            transfer.seconds,
            (gpu,),
            transfer.error,
        )
        for place, gpu in enumerate(gpus)
    )


def _whose(part: str, gpus: Sequence[str]) -> int:
    owner = part.partition("/")[0]
    return gpus.index(owner) if owner in gpus else 0


def _of_another(trial: _Trial) -> CudaError:
    place, error = next((place, error) for place, error in enumerate(trial.errors) if error is not None)
    return CudaError(error.call, error.name, error.code, f"rank {place}: {error.text}")


def _output(task: Task, lines: tuple[Line, ...], at: float, seconds: float) -> TaskOutput:
    raw = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    error, code = _error_of(lines)
    return TaskOutput(task.id, lines, at, at, seconds, error=error, code=code, raw=raw)


def _error_of(lines: Sequence[Line]) -> tuple[str, str]:
    """Sentence and code of a task that failed; empty for one that ran."""
    for line in lines:
        if error := line.get("error"):
            code = CODES.get(error["name"], ProbeError.code)
            if code == NotTested.code:
                return f"not tested: {error['text']}", code
            return f"{error['call']} failed with {error['name']}", code
    return "", ""
