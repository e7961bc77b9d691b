"""All figures in one table: `python -m lanescope.benchmarks.all`, or `make bench`."""

from __future__ import annotations

from . import fleet, localize, recording, tui
from .figure import Figure, print_table


def figures() -> list[Figure]:
    """Every benchmark's figures, in order."""
    return [figure for room in (fleet, tui, localize, recording) for figure in room.figures()]


if __name__ == "__main__":
    print_table(figures())
