"""What all trials of a case measured, kept up to date trial by trial: the worst window of each pair and of each target.

A case holds thousands of trials of many windows each, so a screen that draws once a second must not go through them
all again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...incident.events import TrialEnded
from ...incident.ids import ComponentId, NodeId

Pair = tuple[ComponentId, ComponentId]
Made = TypeVar("Made")
MOST_KEPT = 256
"""Things made of the same trials."""


@dataclass(frozen=True)
class Told:
    """What the trials of one probe between one pair said."""

    worst: float
    """The lowest window, in the probe's unit; NaN where none was measured."""
    trials: int
    failed: int = 0
    """Trials that measured nothing."""
    wrong: int = 0
    """Trials that found wrong data."""
    error: str = ""
    """Of the newest that measured nothing."""

    def and_also(self, other: Told) -> Told:
        """Both together."""
        worst = other.worst if self.worst != self.worst else min(self.worst, other.worst)
        return Told(
            self.worst if other.worst != other.worst else worst,
            self.trials + other.trials,
            self.failed + other.failed,
            self.wrong + other.wrong,
            other.error or self.error,
        )


class Measurements:
    """Trials by node and pair. Feed it the trials of every new snapshot; it looks only at those it hasn't seen."""

    def __init__(self) -> None:
        self._seen: Sequence[tuple[str, TrialEnded]] = ()
        self._within: dict[NodeId, dict[tuple[str, Pair], Told]] = {}
        self._across: dict[tuple[str, Pair], Told] = {}
        self._hosts: dict[NodeId, dict[tuple[str, ComponentId], Told]] = {}
        self._nodes: set[NodeId] = set()
        self._kept: dict[Hashable, Any] = {}

    def learn(self, trials: Sequence[tuple[str, TrialEnded]]) -> Measurements:
        """Take in what is new; a case that is not a continuation begins anew. Returns itself."""
        count = len(self._seen)
        if count > len(trials) or (count and trials[count - 1] is not self._seen[-1]):
            for what in (self._within, self._across, self._hosts, self._nodes, self._kept):
                what.clear()
            count = 0
        if count < len(trials):
            self._kept.clear()
        for _, ended in trials[count:]:
            self._take(ended)
        self._seen = trials
        return self

    def within(self, node: NodeId) -> Mapping[tuple[str, Pair], Told]:
        """Between GPUs of a node, by probe and pair, source first."""
        return self._within.get(node, {})

    def from_host(self, node: NodeId) -> Mapping[tuple[str, ComponentId], Told]:
        """Between a node's memory and one GPU, by probe and GPU."""
        return self._hosts.get(node, {})

    @property
    def across(self) -> Mapping[tuple[str, Pair], Told]:
        """Between nodes, by probe and pair of ends."""
        return self._across

    @property
    def nodes(self) -> frozenset[NodeId]:
        """Nodes on which trials ended."""
        return frozenset(self._nodes)

    def kept(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What was made of the trials under a key, until there are new ones."""
        if key not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[key] = make()
        found: Made = self._kept[key]
        return found

    def _take(self, ended: TrialEnded) -> None:
        targets, told = ended.trial.targets, _told(ended)
        self._nodes.update(ended.trial.nodes)
        if len(targets) == 2 and targets[0].node != targets[1].node:
            _add(self._across, (ended.trial.probe, (targets[0], targets[1])), told)
        elif len(targets) == 2 and targets[0].kind == targets[1].kind == "gpu":
            _add(self._within.setdefault(targets[0].node, {}), (ended.trial.probe, (targets[0], targets[1])), told)
        elif len(targets) == 1 and targets[0].kind == "gpu":
            _add(self._hosts.setdefault(targets[0].node, {}), (ended.trial.probe, targets[0]), told)


Key = TypeVar("Key")


def _add(into: dict[Key, Told], key: Key, told: Told) -> None:
    into[key] = into[key].and_also(told) if key in into else told


def _told(ended: TrialEnded) -> Told:
    known = [window for window in ended.windows if window > 0]
    worst = min(known) if known and not ended.error else float("nan")
    return Told(worst, 1, int(bool(ended.error)), int(ended.check == "wrong"), ended.error)
