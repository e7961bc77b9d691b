"""What recording costs: bytes on disk, CPU, and the longest append: `python -m lanescope.benchmarks.recording`.

The load is made: 15 of 100 fields change at each tick (5 counters that only rise, 5 whole readings that wander, 5 with
three decimals), the others stand still; 2 are missing. Time is simulated, CPU is the process's own, all threads.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..evidence.durable import DiskThread
from ..evidence.recording import Recording
from ..incident.events import Entry, SampleTaken
from ..incident.ids import NodeId
from .figure import Figure, print_table

COMMAND = "python -m lanescope.benchmarks.recording"
NODES, FIELDS, SECONDS = 8, 3000, 180
BEGIN = 1_790_000_000.0

Vector = npt.NDArray[np.float64]


def figures() -> list[Figure]:
    """Recording 8 nodes of 3000 fields at 1 Hz for three minutes."""
    with tempfile.TemporaryDirectory() as folder:
        cpu, longest = _record(Path(folder))
        size = sum(path.stat().st_size for path in (Path(folder) / "recording").iterdir())
    load = f"{NODES} nodes x {FIELDS} fields"
    return [
        Figure(f"recording, {load}: bytes per field and second", size / (NODES * FIELDS * SECONDS), "B", 0.5, COMMAND),
        Figure(f"recording, {load} at 1 Hz: share of a core", 100 * cpu / SECONDS, "%", 1.0, COMMAND),
        Figure(f"recording, {load}: longest append", 1000 * longest, "ms", 50.0, COMMAND),
    ]


def _record(folder: Path) -> tuple[float, float]:
    """CPU seconds of all appends, and wall seconds of the longest."""
    samples = list(_load())
    now, disk = 0.0, DiskThread()
    recording = Recording(folder / "recording", disk, clock=lambda: now)
    longest, begun = 0.0, time.process_time()
    for seq, sample in enumerate(samples, 1):
        now = sample.time - BEGIN
        before = time.perf_counter()
        recording.append(Entry(seq, f"{sample.node}#{seq}", sample))
        recording.keep_up()
        longest = max(longest, time.perf_counter() - before)
    recording.close()
    disk.close()
    return time.process_time() - begun, longest


def _load() -> Iterator[SampleTaken]:
    chance = np.random.default_rng(1)
    rows = [chance.integers(0, 1 << 40, FIELDS).astype(np.float64) for _ in range(NODES)]
    share = FIELDS // 20
    for second in range(SECONDS):
        for number in range(NODES):
            row = rows[number] = _next(rows[number], chance, share)
            yield SampleTaken(BEGIN + second + number / 10, NodeId(f"n{number}"), "nvml", "a", row)


def _next(row: Vector, chance: np.random.Generator, share: int) -> Vector:
    row = row.copy()
    row[:share] += chance.integers(1, 5000, share)
    row[share : 2 * share] = 40 + chance.integers(0, 30, share)
    row[2 * share : 3 * share] = np.round(300 + 50 * chance.random(share), 3)
    row[-(FIELDS // 50) :] = np.nan
    row.flags.writeable = False
    return row


if __name__ == "__main__":
    print_table(figures())
