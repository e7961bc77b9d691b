"""Runs what is not finished yet, in a few processes, and keeps every run as it ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from .runs import Finished, Key, Run, run

PROCESSES = 2
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Settings by which numeric libraries take one core a process; they are read as a process starts."""


def run_all(
    keys: Iterable[Key], finished: Finished, told: Callable[[Run], None] = lambda run: None, processes: int = PROCESSES
) -> int:
    """Run all keys that are not finished; how many these were. `told` hears of each as it ends."""
    missing = [key for key in dict.fromkeys(keys) if key not in finished]
    if not missing:
        return 0
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        try:
            for future in as_completed([pool.submit(run, key) for key in missing]):
                ended = future.result()
                finished.add(ended)
                told(ended)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return len(missing)
