"""What reading a report of eight real GPUs costs: `python -m lanescope.benchmarks.reports`.

The reports are the shared captures beside the repository; where they are absent there are no figures.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from ..parsers.tools import recognize
from .figure import Figure, print_table

COMMAND = "python -m lanescope.benchmarks.reports"
CAPTURES = Path(__file__).resolve().parents[2] / "shared" / "captures" / "nvidia-smi"
REPORTS = ("q-x-h100-8gpu-580.xml", "q-x-b200-8gpu-580.xml", "q-rtxpro6000-8gpu-595.txt")
ROUNDS = 20


def figures() -> list[Figure]:
    """The median time of each report, recognized and read."""
    found = []
    for name in REPORTS:
        path = CAPTURES / name
        if not path.is_file():
            print(f"no figure for {name}: the shared captures are not here", file=sys.stderr)
            continue
        found.append(Figure(f"{name} of 8 GPUs read", 1000 * _median(path.read_text()), "ms", 30, COMMAND))
    return found


def _median(text: str) -> float:
    """Seconds, over ROUNDS."""
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        tool = recognize(text)
        if tool is None:
            raise RuntimeError("a shared capture is not recognized")
        tool.parse(text)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


if __name__ == "__main__":
    print_table(figures())
