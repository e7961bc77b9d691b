"""What the tasks of one trial tell each other, and that one of them failed, passed on across nodes.

Tasks belong together by their `joint` name. When one fails, or its node can't be used, the others are told, so that
they end at once instead of waiting for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..incident.errors import LanescopeError
from ..incident.ids import NodeId
from ..incident.source import Task, TaskOutput
from .failures import PARTNER

Tell = Callable[[NodeId, str, Mapping[str, Any]], None]
"""Passes a message to a task on a node."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a trial can't go on."""

    task: str
    error: str
    """One sentence that names the node."""
    code: str


class Relay:
    """The listener of all nodes of a run."""

    def __init__(self, tasks: Mapping[NodeId, Sequence[Task]], tell: Tell) -> None:
        self._nodes = {task.id: node for node, mine in tasks.items() for task in mine}
        self._joints = {task.id: task.joint for mine in tasks.values() for task in mine if task.joint}
        self._causes: dict[str, Cause] = {}
        self._tell = tell

    def told(self, task: str, message: Mapping[str, Any]) -> None:
        """Pass on what a task tells its partners."""
        for partner in self._partners(task):
            self._tell(self._nodes[partner], partner, message)

    def failed(self, task: str, error: str, code: str) -> None:
        """Tell the partners of a task why it failed; the first failure of a trial is its cause."""
        joint = self._joints.get(task)
        if joint is None or joint in self._causes:
            return
        node = self._nodes[task]
        cause = self._causes[joint] = Cause(task, error if str(node) in error else f"{node}: {error}", code)
        for partner in self._partners(task):
            self._tell(self._nodes[partner], partner, {"partner_failed": cause.error})

    def node_failed(self, node: NodeId, error: LanescopeError) -> None:
        """Fail all tasks of a node that can't be used."""
        for task, where in self._nodes.items():
            if where == node:
                self.failed(task, str(error), error.code)

    def cause(self, task: Task) -> Cause | None:
        """Why a task can't go on: the failure of another one of its trial."""
        cause = self._causes.get(self._joints.get(task.id, ""))
        return cause if cause is not None and cause.task != task.id else None

    def settled(self, task: Task, output: TaskOutput) -> TaskOutput:
        """The output of a task; where it ended for its partner's sake, with the partner's reason."""
        cause = self.cause(task)
        if cause is None or not _ended_for_a_partner(output):
            return output
        return replace(output, error=f"a partner failed: {cause.error}", code=cause.code)

    def _partners(self, task: str) -> list[str]:
        joint = self._joints.get(task)
        return [other for other, name in self._joints.items() if name == joint and other != task]


def _ended_for_a_partner(output: TaskOutput) -> bool:
    """Whether the first error of a task is that another one failed."""
    errors = (line["error"] for line in output.lines if isinstance(line.get("error"), Mapping))
    return next((error.get("name") == PARTNER for error in errors), False)
