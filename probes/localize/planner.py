"""Choosing the next round: most expected information per second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...incident.ids import ComponentId
from ...topology.fabric import Fabric
from ..probe import Aim, Probe, Targets
from .information import Information
from .network_rounds import NetworkRounds
from .parts import Bools, Floats, Ints, Parts
from .rounds import NodeRounds, rounds_of
from .tables import padded

FRUGAL = 0.99
"""Share of a round's information that the trials it keeps must hold."""
CONTROLS = 4
"""Trials that a round keeps at least: what a suspect's trials are compared with."""
VARIETY = 0.1
"""By how much a path that was never measured is preferred to one measured often."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The trials of a round, and what they are expected to tell."""

    probe: Probe
    drawn: Callable[[], tuple[Targets, ...]]
    """What each trial is aimed at; drawn up for the chosen round only."""
    gain: float
    """Nats."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be measured."""

    barred: Mapping[str, frozenset[ComponentId]]
    """For each probe that may run, the GPUs it may not be aimed at."""
    whole: bool
    """Keep trials that tell little, for the calibration's sake."""
    overhead: float
    """Seconds a round takes beside its longest trial."""


class Planner:
    """Scores all candidate rounds and picks the best, node by node and for the network as a whole."""

    def __init__(self, parts: Parts, fabric: Fabric, probes: Mapping[str, Probe], seed: int) -> None:
        self._parts = parts
        self._rng = np.random.default_rng(seed)
        self._inside = [_Inside(parts, fabric, probe) for probe in probes.values() if probe.aim is not Aim.ACROSS]
        self._across = [NetworkRounds(parts, probe) for probe in probes.values() if probe.aim is Aim.ACROSS]

    def ran(self, paths: Iterable[int]) -> None:
        """Remember what was measured, so that partners vary."""
        numbers = np.array(list(paths), dtype=np.int64)
        for inside in self._inside:
            inside.ran(numbers)

    def reached(self, barred: Mapping[str, frozenset[ComponentId]]) -> Bools:
        """[columns] whether any trial crosses it, given for each probe the GPUs it can't be aimed at."""
        reached = np.zeros(self._parts.columns + 1, dtype=bool)
        for inside in self._inside:
            reached[inside.crossed(barred[inside.probe.name])] = True
        for rounds in self._across:
            out = barred[rounds.probe.name]
            reached[rounds.crossed(np.array([end not in out for end in rounds.ends], dtype=bool))] = True
        return reached[:-1]

    def choose(self, told: Information, limits: Limits) -> Choice | None:
        """The best round, or None where nothing can be measured."""
        best: Choice | None = None
        for choice in (*self._within(told, limits), *self._network(told, limits)):
            if best is None or choice.gain / choice.seconds > best.gain / best.seconds:
                best = choice
        return best

    def _within(self, told: Information, limits: Limits) -> Iterator[Choice]:
        """For each probe the best round of every node."""
        for inside in self._inside:
            if inside.probe.name not in limits.barred:
                continue
            paths, gains = inside.best(told, limits.barred[inside.probe.name], self._rng)
            if len(paths):
                kept = _frugal(gains, limits.whole)
                yield Choice(
                    inside.probe,
                    partial(self._targets, paths[kept]),
                    float(gains[kept].sum()),
                    inside.probe.seconds + limits.overhead,
                )

    def _network(self, told: Information, limits: Limits) -> Iterator[Choice]:
        for rounds in self._across:
            probe = rounds.probe
            if probe.name not in limits.barred:
                continue
            barred = limits.barred[probe.name]
            usable = np.array([end not in barred for end in rounds.ends], dtype=bool)
            for matching in rounds.matchings(usable, self._rng):
                gains = told.of_paths(matching.columns)
                kept = _frugal(gains, limits.whole)
                yield Choice(
                    probe,
                    partial(rounds.targets, matching, kept),
                    float(gains[kept].sum()),
                    probe.seconds + limits.overhead,
                )

    def _targets(self, paths: Ints) -> tuple[Targets, ...]:
        return tuple(self._parts.paths[path].targets for path in paths.tolist())


class _Inside:
    """One probe within nodes: its paths as arrays, its candidate rounds."""

    def __init__(self, parts: Parts, fabric: Fabric, probe: Probe) -> None:
        self.probe = probe
        self._rounds: tuple[NodeRounds, ...] = rounds_of(parts, fabric, probe.name, parts.nodes)
        mine = [path for path in parts.paths if path.probe == probe.name]
        self._place = np.full(len(parts.paths) + 1, len(mine), dtype=np.int64)
        self._place[[path.index for path in mine]] = np.arange(len(mine))
        self._columns = padded([path.columns.tolist() for path in mine], parts.columns)
        self._counted = padded([path.counted.tolist() for path in mine], len(parts.components))
        self._visits = np.zeros(len(mine))
        self._aimed_at: dict[ComponentId, list[int]] = {}
        for at, path in enumerate(mine):
            for end in path.targets:
                self._aimed_at.setdefault(end, []).append(at)

    def ran(self, paths: Ints) -> None:
        """Count visits of paths, by their number in the whole table."""
        places = self._place[paths[paths < len(self._place)]]
        np.add.at(self._visits, places[places < len(self._visits)], 1)

    def crossed(self, out: frozenset[ComponentId]) -> Ints:
        """Columns that the trials not aimed at one of `out` cross."""
        return np.unique(self._columns[self._may_be_aimed(out)])

    def best(self, told: Information, barred: frozenset[ComponentId], rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Paths of the best round of every node, by their number in the whole table, and what each would tell."""
        gains = told.of_paths(self._columns) + told.of_counters(self._counted)
        usable = self._may_be_aimed(barred)
        tempting = np.where(usable, gains * (1 + VARIETY / (1 + self._visits)), 0.0)
        chosen = [
            self._usable(rounds.best(np.append(tempting, 0.0)[self._place], rng), usable) for rounds in self._rounds
        ]
        paths = np.concatenate([np.array([], dtype=np.int64), *chosen])
        return paths, gains[self._place[paths]]

    def _may_be_aimed(self, barred: frozenset[ComponentId]) -> Bools:
        usable = np.ones(len(self._visits), dtype=bool)
        usable[[at for end in barred for at in self._aimed_at.get(end, ())]] = False
        return usable

    def _usable(self, paths: Ints, usable: Bools) -> Ints:
        return paths[usable[self._place[paths]]]


def _frugal(gains: Floats, whole: bool) -> Ints:
    """The trials that hold nearly all of the information, in their order: the rest of the fleet stays undisturbed."""
    order = np.argsort(-gains, kind="stable")
    if whole:
        return np.sort(order)
    held = np.cumsum(gains[order])
    if not len(held) or held[-1] <= 0:
        return np.sort(order)
    enough = max(int(np.searchsorted(held, FRUGAL * held[-1])) + 1, CONTROLS)
    return np.sort(order[:enough])
