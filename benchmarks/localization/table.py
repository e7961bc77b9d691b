"""Prints the benchmark's table; what was run before is read, what is missing is run first.

python -m lanescope.benchmarks.localization [--nodes 1,8] [--faults hard,0.05] [--strategies ours,sweep]
    [--worlds standard] [--seeds 20] [--from 0] [--show] [--results FILE]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from .cells import EVERY_FAULT, EVERY_STRATEGY, EVERY_WORLD, Cell, cells
from .draw import FAULTS
from .intervals import clopper_pearson
from .pool import run_all
from .runs import RESULTS, Finished, Key, Run
from .summary import Summary, summary

NODES = (1, 8)
SEEDS = 20
HEADS = (
    "fault", "strategy", "runs", "right", "exact", "wrong", "verdict s", "p90 s", "end s", "launch s", "rounds",
    "probes", "one pair at a time", "decide ms", "max", "learn ms", "max",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, print all."""
    asked = _parser().parse_args(arguments)
    chosen = list(cells(asked.nodes, asked.worlds, asked.faults, asked.strategies))
    seeds = range(asked.first, asked.first + asked.seeds)
    finished = Finished(asked.results)
    if not asked.show:
        keys = sorted((Key.of(cell, seed) for seed in seeds for cell in chosen), key=lambda key: key.nodes)
        run_all(keys, finished, _telling(sum(key not in finished for key in keys)))
    print_tables(chosen, seeds, finished)


def print_tables(chosen: Iterable[Cell], seeds: Iterable[int], finished: Finished) -> None:
    """A table for every cluster and world, then what all runs of a strategy say together."""
    found: list[Summary] = []
    numbers = list(seeds)
    for (nodes, world), group in groupby(chosen, key=lambda cell: (cell.nodes, cell.world)):
        lines = [summary(cell, runs) for cell in group if (runs := finished.of(Key.of(cell, seed) for seed in numbers))]
        if lines:
            print(f"\n{nodes} node{'s' if nodes > 1 else ''}, {world} world (simulated seconds)")
            _print_aligned([HEADS, *map(_row, lines)])
        found += lines
    print("\nall runs above: share that names an innocent part, with its exact 95 % interval")
    _print_aligned([("strategy", "runs", "right", "wrong", "at least", "at most"), *_pooled(found)])


def _pooled(found: Sequence[Summary]) -> Iterable[tuple[str, ...]]:
    for strategy in dict.fromkeys(line.cell.strategy for line in found):
        lines = [line for line in found if line.cell.strategy == strategy]
        runs, right, wrong = (sum(getattr(line, name) for line in lines) for name in ("runs", "right", "wrong"))
        low, high = clopper_pearson(wrong, runs)
        yield strategy, str(runs), _share(right, runs), str(wrong), f"{100 * low:.2f} %", f"{100 * high:.2f} %"


def _row(line: Summary) -> tuple[str, ...]:
    return (
        line.cell.fault,
        line.cell.strategy,
        str(line.runs),
        _share(line.right, line.runs),
        _share(line.exact, line.runs),
        _share(line.wrong, line.runs),
        _number(line.seconds),
        _number(line.p90),
        _number(line.ended),
        _number(line.launching),
        f"{line.rounds:.0f}",
        f"{line.probes:.0f}",
        _duration(line.one_at_a_time),
        *map(_number, (*line.deciding_ms, *line.learning_ms)),
    )


def _share(count: int, runs: int) -> str:
    return f"{100 * count / runs:.0f} %"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1f}"


def _duration(seconds: float) -> str:
    if math.isnan(seconds):
        return "-"
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def _print_aligned(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        names = [cell.ljust(width) for cell, width in zip(row[:2], widths, strict=False)]
        figures = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        print("  ".join([*names, *figures]).rstrip())


def _telling(missing: int) -> Callable[[Run], None]:
    """Tells each finished run on stderr."""
    done = 0

    def told(run: Run) -> None:
        nonlocal done
        done += 1
        key = run.key
        ended = "right" if run.right else "WRONG" if run.accused else "undecided"
        print(
            f"{done}/{missing} {key.nodes} {key.world} {key.fault} {key.strategy} seed {key.seed}: "
            f"{ended} after {run.verdict_after:.0f} s ({run.computed:.1f} s computed)",
            file=sys.stderr,
            flush=True,
        )

    return told


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lanescope.benchmarks.localization", description=__doc__)
    parser.add_argument("--nodes", type=_counts, default=NODES, help="clusters, by their number of nodes: 1,8")
    parser.add_argument("--faults", type=_among(EVERY_FAULT), default=FAULTS, help=", ".join(EVERY_FAULT))
    parser.add_argument("--strategies", type=_among(EVERY_STRATEGY), default=EVERY_STRATEGY)
    parser.add_argument("--worlds", type=_among(EVERY_WORLD), default=("standard",), help=", ".join(EVERY_WORLD))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs of every cell")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where finished runs are kept")
    return parser


def _counts(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _among(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def names(text: str) -> tuple[str, ...]:
        chosen = tuple(known) if text == "all" else tuple(text.split(","))
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return chosen

    return names
