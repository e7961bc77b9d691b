"""Arguments of node programs, as they come with a task, checked as the programs check them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .ledger import CudaError

MEASURED = (("windows", 16, 1, 1024), ("window_ms", 30.0, 0.1, 1000.0), ("warm_ms", 40.0, 0.0, 1000.0))
"""Name, usual value, least and most of what all timed programs take."""


def bad_task(text: str) -> CudaError:
    """An argument that is none."""
    return CudaError("arguments", "BAD_TASK", 0, text)


def numbers(arguments: Mapping[str, Any], limits: tuple[tuple[str, float, float, float], ...]) -> Mapping[str, float]:
    """The numbers of those names; empty where one is none or out of its range."""
    found = {name: number(arguments.get(name, usual), least, most) for name, usual, least, most in limits}
    return {} if any(math.isnan(value) for value in found.values()) else found


def number(value: object, least: float, most: float) -> float:
    """The number; NaN where it is none or out of range."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
    return float(value) if fits and isinstance(value, int | float) else math.nan
