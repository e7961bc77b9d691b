"""All figures in one table, in about five minutes: `python -m lanescope.benchmarks.all`, or `make bench`."""

from __future__ import annotations

import sys

from . import diagnose, fleet, judging, localize, logs, recording, reports, topology, tui
from .figure import Figure, print_table


def figures() -> list[Figure]:
    """Every benchmark's figures, in order; what is being measured is told on stderr."""
    found: list[Figure] = []
    for room in (fleet, tui, reports, logs, judging, diagnose, topology, localize, recording):
        print(f"measuring: {room.COMMAND}", file=sys.stderr, flush=True)
        found += room.figures()
    return found


if __name__ == "__main__":
    print_table(figures())
