"""One measured figure, and how a table of them is printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """What was measured, what was aimed at, and how to measure it again."""

    name: str
    value: float
    unit: str
    goal: float
    command: str
    """`python -m lanescope.benchmarks.NAME`."""
    higher_is_better: bool = False

    @property
    def is_met(self) -> bool:
        """Whether the goal is reached."""
        return self.value >= self.goal if self.higher_is_better else self.value <= self.goal

    def row(self) -> tuple[str, str, str, str, str]:
        """The cells of its line."""
        sign = ">=" if self.higher_is_better else "<="
        return (
            self.name,
            f"{self.value:.4g} {self.unit}",
            f"{sign} {self.goal:g}",
            "yes" if self.is_met else "NO",
            self.command,
        )


def print_table(figures: Iterable[Figure]) -> None:
    """Print figures as an aligned table."""
    rows = [("figure", "measured", "goal", "met", "command"), *(figure.row() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
