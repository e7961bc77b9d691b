"""Runs: one strategy against one drawn fault, and how it ended, as a line of JSON in a file that grows."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median

import msgspec
import numpy as np

from ...incident.ids import ComponentId
from .arena import Arena
from .cells import Cell
from .cluster import cluster_of
from .draw import draw
from .outcome import Outcome
from .sources import digest
from .strategies import STRATEGIES
from .worlds import WORLDS

RESULTS = Path(__file__).resolve().parents[1] / "results" / "localization.jsonl"


class Key(msgspec.Struct, frozen=True):
    """What makes a run the same as one that is finished."""

    nodes: int
    world: str
    fault: str
    strategy: str
    seed: int
    sources: str

    @classmethod
    def of(cls, cell: Cell, seed: int) -> Key:
        """The key of a cell's run, by the sources as they are now."""
        return cls(cell.nodes, cell.world, cell.fault, cell.strategy, seed, digest(cell.strategy))

    @property
    def cell(self) -> Cell:
        """The cell it belongs to."""
        return Cell(self.nodes, self.world, self.fault, self.strategy)


class Run(msgspec.Struct, frozen=True):
    """A finished run. Seconds are simulated probing seconds but for `computed`."""

    key: Key
    guilty: list[str]
    named: list[str]
    right: bool
    exact: bool
    accused: int
    """Named parts that have nothing to do with any fault."""
    found: int
    """Faults that were named."""
    healthy: bool
    named_after: float | None
    seconds: float
    launching: float
    rounds: int
    probes: int
    one_at_a_time: float | None
    deciding_ms: tuple[float, float] | None
    """Of choosing a round: median and longest."""
    learning_ms: tuple[float, float] | None
    """Of taking one in: median and longest."""
    computed: float
    """Seconds that the whole run took to compute."""

    @property
    def verdict_after(self) -> float:
        """Until it was known: the last part named, or the end where nothing was."""
        return self.seconds if self.named_after is None else self.named_after


def run(key: Key) -> Run:
    """Let a strategy search."""
    world = WORLDS[key.world]
    cluster = cluster_of(key.nodes, world.wiring, world.knows_network)
    drawn = draw(cluster, key.fault, key.world, key.seed)
    began = time.perf_counter()
    outcome = STRATEGIES[key.strategy](Arena(cluster, drawn), np.random.default_rng(key.seed))
    return _told(key, outcome, drawn.guilty, time.perf_counter() - began)


def _told(key: Key, outcome: Outcome, guilty: tuple[ComponentId, ...], computed: float) -> Run:
    return Run(
        key=key,
        guilty=[str(part) for part in guilty],
        named=[str(named.component) for named in outcome.named],
        right=outcome.is_right(guilty),
        exact=outcome.is_exact(guilty),
        accused=outcome.accused(guilty),
        found=outcome.found(guilty),
        healthy=outcome.healthy,
        named_after=_or_none(outcome.named_after),
        seconds=outcome.seconds,
        launching=outcome.launching,
        rounds=outcome.rounds,
        probes=outcome.probes,
        one_at_a_time=_or_none(outcome.one_at_a_time),
        deciding_ms=_milliseconds(outcome.deciding),
        learning_ms=_milliseconds(outcome.learning),
        computed=computed,
    )


def _milliseconds(seconds: Sequence[float]) -> tuple[float, float] | None:
    return (1000 * median(seconds), 1000 * max(seconds)) if seconds else None


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


class Finished:
    """The file of finished runs. One that was cut while a line was written is read up to there."""

    def __init__(self, path: Path = RESULTS) -> None:
        self.path = path
        lines = path.read_bytes() if path.exists() else b""
        self._cut = b"\n" if lines and not lines.endswith(b"\n") else b""
        self._runs = {run.key: run for run in _read(lines)}

    def __contains__(self, key: Key) -> bool:
        return key in self._runs

    def add(self, run: Run) -> None:
        """Keep a run: in the file at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(self._cut + msgspec.json.encode(run) + b"\n")
        self._cut = b""
        self._runs[run.key] = run

    def of(self, keys: Iterable[Key]) -> list[Run]:
        """Those of these runs that are finished, in order."""
        return [self._runs[key] for key in keys if key in self._runs]


def _read(lines: bytes) -> Iterator[Run]:
    for line in lines.splitlines():
        try:
            yield msgspec.json.decode(line, type=Run)
        except msgspec.DecodeError:
            continue  # half a line, or one of an older form: it is run again
