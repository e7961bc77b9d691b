"""Simulated time for a process that probes: what it measures are simulated seconds, whatever this machine is doing.

The monotonic clocks advance by sleeping and by simulated device time alone, at `speed` times real time; the processor
time a program uses costs nothing. Waiting for a descriptor takes its real time. The wall clock stays the node's.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Any

OWED_AT_MOST = 0.002
"""Seconds of real sleep that may be put off, so that many short sleeps cost no more than their sum."""
TICK = 1e-7
"""Every look at the clock advances it a little: a program that spins on it gets somewhere."""

_monotonic, _sleep = time.monotonic, time.sleep
_select, _poll = select.select, select.poll


class VirtualClock:
    """The monotonic clock of this process."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._now = _monotonic()
        self._owed = 0.0

    def install(self) -> None:
        """Take over the clock of this process and of its forks."""
        time.monotonic = time.perf_counter = self.monotonic  # type: ignore[assignment]
        time.monotonic_ns = time.perf_counter_ns = self.monotonic_ns  # type: ignore[assignment]
        time.sleep = self.sleep  # type: ignore[assignment]
        select.select = self.select  # type: ignore[assignment]
        select.poll = lambda: Poll(self)  # type: ignore[assignment, return-value]

    def monotonic(self) -> float:
        """Simulated seconds."""
        self._now += TICK
        return self._now

    def monotonic_ns(self) -> int:
        """Simulated nanoseconds."""
        return int(self.monotonic() * 1e9)

    def sleep(self, seconds: float) -> None:
        """Sleep in simulated time: shorter by `speed` in real time."""
        self._now += max(seconds, 0.0)
        self._owed += max(seconds, 0.0) / self._speed
        if self._owed >= OWED_AT_MOST:
            began = _monotonic()
            _sleep(self._owed)
            self._owed -= _monotonic() - began

    def waiting(self, wait: Callable[..., Any], *arguments: Any) -> Any:
        """Wait for something real; the time it takes passes here too."""
        began = _monotonic()
        try:
            return wait(*arguments)
        finally:
            self._now += _monotonic() - began

    def select(self, *arguments: Any) -> Any:
        """`select.select`."""
        return self.waiting(_select, *arguments)


class Poll:
    """`select.poll()`."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._real = _poll()
        self.register, self.unregister, self.modify = self._real.register, self._real.unregister, self._real.modify

    def poll(self, *arguments: Any) -> Any:
        """Wait for events."""
        return self._clock.waiting(self._real.poll, *arguments)
