"""A fault at work: when it is on, by either clock, and what it has done so far."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .drifting import Drifting
from .faults import Fault
from .onoff import OnOff

Shares = npt.NDArray[np.float64]


class RunningFault:
    """One fault of a world. Times are seconds since the world began, or of the load clock where the method says so."""

    def __init__(self, fault: Fault, seed: int, number: int, drift: float = 0.0) -> None:
        """`drift`: seconds after which its duty changes; 0: never."""
        self.fault = fault
        self.number = number
        self._seed = seed
        self._drift = drift

    @cached_property
    def _process(self) -> OnOff | Drifting | None:
        """None for a fault that is on all the time."""
        fault = self.fault
        if fault.kind != "intermittent":
            return None
        keys = (self._seed, self.number, fault.component)
        if self._drift:
            return Drifting(fault.duty, fault.burst, self._drift, *keys)
        return OnOff(fault.duty, fault.burst, *keys)

    def stands(self, time: float) -> bool:
        """Whether the fault is there at a time, on or off."""
        return self.fault.since <= time < self.fault.until

    def is_on(self, time: float) -> bool:
        """Whether it is on at a time of the wall; never for one that needs load."""
        if not self.stands(time) or self.fault.under_load:
            return False
        return self._process is None or self._process.is_on(time)

    def steady(self, since: float, until: float) -> bool | None:
        """Whether it is on, or off, from one time of its own clock to another; None where it changes."""
        return True if self._process is None else self._process.steady(since, until)

    def shares_on(self, edges: Shares) -> Shares:
        """Share of the windows between `edges`, in the fault's own clock, during which it is on."""
        return np.ones(len(edges) - 1) if self._process is None else self._process.shares_on(edges)

    def bursts(self, since: float, until: float) -> list[float]:
        """When it comes on, in the fault's own clock."""
        if self._process is not None:
            return [float(at) for at in self._process.bursts(since, until)]
        return [self.fault.since] if since <= self.fault.since < until else []

    def bursts_of_wall(self, since: float, until: float) -> list[float]:
        """When it comes on between two times of the wall; none for one that needs load."""
        if self.fault.under_load:
            return []
        since = max(since, self.fault.since)
        return self.bursts(since, min(until, self.fault.until)) if since < until else []

    def steps(self, time: float) -> dict[str, int]:
        """By how much it has moved its part's counters up to a time of the wall, probing apart."""
        if self.fault.under_load or not self.fault.counters or time <= self.fault.since:
            return {}
        since, until = self.fault.since, min(time, self.fault.until)
        if self._process is None:
            seconds, bursts = until - since, 1
        else:
            seconds, bursts = self._process.seconds_on(since, until), self._process.count(since, until)
        return {
            name: math.floor(counter.rate * seconds) + math.floor(counter.trials * bursts)
            for name, counter in self.fault.counters.items()
        }
