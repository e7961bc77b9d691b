"""What the tasks of one run say, gathered line by line; nothing in a line is trusted to be what it should be."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from ..incident.errors import Hung, ProbeError
from ..incident.ids import NodeId
from ..incident.source import Task, TaskOutput
from .failures import computing_on, sentence_of

MOST_BYTES = 8 << 20
"""Of output in one run."""
MOST_TELLS = 256
"""Messages of one task to its partners."""
LARGEST_TELL = 32 << 10
"""Bytes of such a message; the node program keeps to half of that."""
ENDED_WELL = ("done", "spent")
"""How a task ends that has nothing to complain of; after `spent` its process takes no other."""


class Listener(Protocol):
    """Who wants to know what tasks do while they run."""

    def told(self, task: str, message: Mapping[str, Any]) -> None:
        """A task tells its partners something."""

    def failed(self, task: str, error: str, code: str) -> None:
        """A task has failed; `error` is its sentence."""


@dataclass
class _Answer:
    """What one task has said so far."""

    lines: list[Mapping[str, Any]] = field(default_factory=list)
    error: str = ""
    code: str = ""
    seconds: float = 0.0
    over: bool = False
    tells: int = 0

    def take(self, line: Mapping[str, Any]) -> None:
        """Take in a line of the task."""
        self.lines.append(line)
        if isinstance(error := line.get("error"), Mapping) and not self.error:
            self.error, self.code = sentence_of(error)
        if "end" in line:
            self.over = True
            self.seconds = seconds_in(line.get("seconds"))

    def failure(self, task: Task) -> tuple[str, str]:
        """Sentence and code of what went wrong; empty while nothing did."""
        last = self.lines[-1].get("end") if self.over else None
        if not self.error and (not self.over or last not in ENDED_WELL):
            return f"{task.id} broke off without an end", ProbeError.code
        return self.error, self.code

    def output(self, task: Task, started: float, launch: float) -> TaskOutput:
        """The task's answer; `launch` seconds went before it."""
        error, code = self.failure(task)
        raw = b"".join(orjson.dumps(dict(line)) + b"\n" for line in self.lines)
        return TaskOutput(task.id, tuple(self.lines), started, time.time(), self.seconds + launch, error, code, raw)


class Answers:
    """The answers of all tasks of a run on one node."""

    def __init__(self, node: NodeId, tasks: Sequence[Task], listener: Listener | None) -> None:
        self.size = 0
        """Bytes heard."""
        self._node = node
        self._tasks = {task.id: task for task in tasks}
        self._answers = {task.id: _Answer() for task in tasks}
        self._listener = listener
        self._computing: list[str] = []
        self._started = time.time()

    def take(self, line: Mapping[str, Any]) -> None:
        """Take in a line of the worker. Raises ProbeError when it says too much, Hung when it can't look."""
        size = len(orjson.dumps(line))
        self.size += size
        if self.size > MOST_BYTES:
            raise ProbeError(f"{self._node}: the probe worker said more than {MOST_BYTES >> 20} MiB and was ended")
        if "computing" in line:
            self._computing.append(computing_on(line["computing"]))
        elif (answer := self._answers.get(name := str(line.get("task")))) is not None:
            if "tell" in line:
                self._pass_on(name, answer, line["tell"], size)
            else:
                self._take_of(name, answer, {key: value for key, value in line.items() if key != "task"})
        elif isinstance(error := line.get("error"), Mapping):
            raise Hung(f"{self._node}: who computes on its GPUs can't be seen: {sentence_of(error)[0]}")

    def in_the_way(self) -> str:
        """Whose processes compute on the GPUs, so that nothing was run; empty where nobody's do."""
        return ", ".join(self._computing[:4])

    def outputs(self, launch: float) -> tuple[TaskOutput, ...]:
        """All answers in the order of the tasks; `launch` seconds went before them."""
        return tuple(self._answers[task.id].output(task, self._started, launch) for task in self._tasks.values())

    def _take_of(self, name: str, answer: _Answer, line: Mapping[str, Any]) -> None:
        known = bool(answer.error)
        answer.take(line)
        if self._listener is not None and not known and (answer.error or answer.over):
            error, code = answer.failure(self._tasks[name])
            if error:
                self._listener.failed(name, error, code)

    def _pass_on(self, name: str, answer: _Answer, message: object, size: int) -> None:
        answer.tells += 1
        if size > LARGEST_TELL or answer.tells > MOST_TELLS or not isinstance(message, Mapping):
            raise ProbeError(f"{self._node}: {name} tells its partners more than it may, and was ended")
        if self._listener is not None:
            self._listener.told(name, message)


def seconds_in(value: object) -> float:
    """A duration the node reports; 0 for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        return 0.0
    return float(value)
