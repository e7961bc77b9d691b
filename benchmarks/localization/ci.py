"""Holds the engine to what it can do: `python -m lanescope.benchmarks.localization.ci`; 1 where it can't any more.

Small clusters and few seeds, in a minute or two. Counts and simulated seconds only: no machine is too slow for it.
`--record` writes the intervals anew, around what the engine does now; look at the difference before keeping it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .cells import Cell
from .pool import run_all
from .runs import Finished, Key
from .summary import Summary, summary

RECORDED = Path(__file__).with_name("intervals.toml")

SOONER, LATER = 0.6, 1.5
"""Around the median seconds that were measured, what is recorded."""


@dataclass(frozen=True, slots=True)
class Interval:
    """What a cell's runs must lie within, ends included."""

    cell: Cell
    seeds: int
    right: tuple[int, int]
    wrong: tuple[int, int]
    seconds: tuple[float, float]
    """Of the median until the verdict."""

    def planned(self) -> list[Key]:
        """Its runs."""
        return [Key.of(self.cell, seed) for seed in range(self.seeds)]

    def complaints(self, found: Summary) -> Iterator[str]:
        """One sentence for each figure that lies outside."""
        cell = self.cell
        for name in ("right", "wrong", "seconds"):
            low, high = getattr(self, name)
            value = getattr(found, name)
            if not low <= value <= high:
                where = f"{cell.strategy} on {cell.nodes} nodes, {cell.fault} in {cell.world}"
                yield f"{where}: {name} is {value:g} and was recorded from {low:g} to {high:g}"


def recorded(path: Path = RECORDED) -> tuple[Interval, ...]:
    """All intervals of a file."""
    rows = tomllib.loads(path.read_text("utf-8"))["cell"]
    return tuple(
        Interval(
            Cell(row["nodes"], row["world"], row["fault"], row["strategy"]),
            row["seeds"],
            tuple(row["right"]),
            tuple(row["wrong"]),
            tuple(row["seconds"]),
        )
        for row in rows
    )


def around(interval: Interval, found: Summary) -> Interval:
    """An interval around what was found: one run fewer right, a third faster or half as slow again.

    How many may be wrong is for people to decide, and stays.
    """
    least = max(0, found.right - 1) if found.right < found.runs else found.right
    low, high = (round(found.seconds * factor, 1) for factor in (SOONER, LATER))
    return replace(interval, right=(least, found.runs), seconds=(low, high))


def write(intervals: Iterable[Interval], path: Path = RECORDED) -> None:
    """Put intervals into a file, below the comments it begins with."""
    heading = path.read_text("utf-8").partition("\n\n")[0]
    path.write_text("\n\n".join([heading, *map(_row, intervals)]) + "\n", "utf-8")


def _row(interval: Interval) -> str:
    cell = interval.cell
    return "\n".join(
        [
            "[[cell]]",
            f"nodes = {cell.nodes}",
            *(f'{name} = "{getattr(cell, name)}"' for name in ("world", "fault", "strategy")),
            f"seeds = {interval.seeds}",
            *(f"{name} = {list(getattr(interval, name))}" for name in ("right", "wrong", "seconds")),
        ]
    )


def measure(intervals: Sequence[Interval], results: Path) -> list[Summary]:
    """Run what is recorded, as far as it is not finished."""
    finished = Finished(results)
    run_all([key for interval in intervals for key in interval.planned()], finished)
    return [summary(interval.cell, finished.of(interval.planned())) for interval in intervals]


def complaints_of(intervals: Sequence[Interval], found: Sequence[Summary]) -> list[str]:
    """All that lies outside."""
    pairs = zip(intervals, found, strict=True)
    return [complaint for interval, line in pairs for complaint in interval.complaints(line)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what lies outside; 1 where something does."""
    parser = argparse.ArgumentParser(prog="python -m lanescope.benchmarks.localization.ci", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the intervals anew")
    record = parser.parse_args(arguments).record
    intervals = recorded()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(intervals, Path(folder) / "runs.jsonl")
    if record:
        write(around(interval, line) for interval, line in zip(intervals, found, strict=True))
    complaints = complaints_of(intervals, found)
    for complaint in complaints:
        print(complaint)
    print(f"{len(intervals)} cells, {len(complaints)} figures outside what was recorded")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
