"""The physics that all timed transfers have in common: what each window measures, and what moves under them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import msgspec
import numpy as np

from .draws import Stream, uniform
from .ledger import Key
from .onoff import OnOff
from .running import RunningFault, Shares
from .surroundings import Surroundings

WHOLE = 1_000_000
"""A transfer's traffic; shares of it that meet in a queue are counted in such parts, so that sums are exact."""
FLOOR = 0.001
"""Share of a healthy transfer's bandwidth that is left under any fault."""


class Met(msgspec.Struct, frozen=True, gc=False):
    """A fault on a transfer's way."""

    running: RunningFault
    share: float
    """Of the transfer that its part carries."""
    clock: int
    """Which of the transfer's load clocks it runs by."""
    moves: tuple[tuple[int, str], ...]
    """Where its counters are: number of an end of the transfer, and the part within that end's node."""


class Tenant(msgspec.Struct, frozen=True, gc=False):
    """Somebody else's traffic on the way."""

    there: OnOff
    """In simulated seconds since the world began: as time would be if probes took as long as they say."""
    takes: float
    """Share of the transfer's bandwidth lost to it."""


class Way(msgspec.Struct, frozen=True, gc=False):
    """What a transfer between two ends meets, whenever it runs."""

    level: float
    """Logarithm of the GB/s of a healthy one, the path's own bias included."""
    met: tuple[Met, ...]
    tenants: tuple[Tenant, ...]
    herrings: tuple[tuple[int, Key], ...]
    """Innocent counters that step now and then: number of the end, and part within its node."""
    queues: tuple[tuple[str, ...], ...]
    """Parts that all of it passes, and where it takes turns with others; in several pieces."""
    shared: tuple[tuple[str, int], ...] = ()
    """The same for parts that a share of it passes, of `WHOLE`."""


class Timing(msgspec.Struct, frozen=True, gc=False):
    """When a transfer runs."""

    clocks: tuple[float, ...]
    """Load clocks when it starts, its warm-up first."""
    at: float
    """Seconds since the world began."""
    window_s: float
    windows: int
    warm_s: float

    @property
    def seconds(self) -> float:
        """Simulated seconds it takes."""
        return self.warm_s + self.windows * self.window_s

    def begin(self, met: Met) -> float:
        """When it starts, in the clock of a fault."""
        return self.clocks[met.clock] if met.running.fault.under_load else self.at

    def edges(self, begin: float) -> Shares:
        """Edges of the warm-up and of the windows, for a start at `begin`."""
        return begin + np.concatenate([[0.0], self.warm_s + self.window_s * np.arange(self.windows + 1)])


Load = Mapping[str, int]
"""How much passes the parts where transfers take turns, of `WHOLE`; only those where that is more than one."""


class Physics:
    """Of one world. Not for several threads."""

    def __init__(self, seed: int, world: Surroundings, speed: float = 1.0) -> None:
        """`speed`: how much faster than real time probes run; others come and go that much faster too."""
        self.seed = seed
        self.world = world
        self._speed = speed
        self._stream = Stream()

    def draws(self, *keys: object) -> np.random.Generator:
        """The draws of one transfer; to be drawn before those of the next are asked for."""
        return self._stream.at(self.seed, *keys)

    def windows(self, way: Way, timing: Timing, load: Load, rng: np.random.Generator) -> list[float]:
        """GB/s of each window."""
        gbps: Shares = np.exp(rng.normal(way.level, self.world.noise, timing.windows))
        lowered = self._strike_outliers(gbps, rng)
        for met in way.met:
            lowered |= _slow(gbps, met, timing)
        begin = timing.at * self._speed
        for tenant in way.tenants:
            there = tenant.there.steady(begin, begin + timing.seconds)
            if there is None:
                gbps *= 1.0 - tenant.takes * tenant.there.shares_on(timing.edges(begin))[1:]
            elif there:
                gbps *= 1.0 - tenant.takes
        if load:
            gbps /= _turns(way, load) / WHOLE
        if lowered:
            np.maximum(gbps, FLOOR * math.exp(way.level), out=gbps)
        found: list[float] = gbps.tolist()
        return found

    def steps(self, way: Way, timing: Timing, rng: np.random.Generator) -> Iterator[tuple[int, Key, int]]:
        """Counters that faults and herrings move under it: number of the end, counter, by how much."""
        for met in way.met:
            for name, count in _fault_steps(met, timing, rng):
                for end, part in met.moves:
                    yield end, (part, name), count
        for end, key in way.herrings:
            if count := int(rng.poisson(self.world.herring_rate / 60 * timing.seconds)):
                yield end, key, count

    def bursts(self, way: Way, timing: Timing) -> Iterator[tuple[Met, int, float]]:
        """Log lines of bursts under load: the fault, number of its line, seconds since the world began.

        Those of other faults come with the passing of the wall's time.
        """
        for met in way.met:
            fault = met.running.fault
            if not fault.under_load or not fault.log:
                continue
            begin = timing.begin(met)
            for burst in met.running.bursts(begin, begin + timing.seconds):
                for number, line in enumerate(fault.log):
                    if uniform("line", self.seed, met.running.number, number, burst) < line.share:
                        yield met, number, timing.at + (burst - begin) + line.after

    def _strike_outliers(self, gbps: Shares, rng: np.random.Generator) -> bool:
        """Make windows low for no reason, in runs; whether any is."""
        world = self.world
        count = int(rng.binomial(len(gbps), world.outliers / world.outlier_windows)) if world.outliers else 0
        if not count:
            return False
        factors = np.ones(len(gbps))
        for at in np.sort(rng.permutation(len(gbps))[:count]):
            length = int(rng.geometric(1.0 / world.outlier_windows))
            factors[at : at + length] = rng.uniform(0.1, 1.0)
        gbps *= factors
        return True


def loads(ways: Iterable[Way]) -> dict[str, int]:
    """Where transfers that take these ways at once take turns, and how much passes there."""
    every = list(ways)
    counts = Counter(chain.from_iterable(chain.from_iterable(way.queues for way in every)))
    found = {part: count * WHOLE for part, count in counts.items() if count > 1}
    shared: Counter[str] = Counter()
    for way in every:
        for part, share in way.shared:
            shared[part] += share
    for part, share in shared.items():
        if (whole := share + counts[part] * WHOLE) > WHOLE:
            found[part] = whole
    return found


def standing(met: Sequence[Met], at: float) -> tuple[Met, ...]:
    """The faults that are there at a time, on or off."""
    return tuple(one for one in met if one.running.stands(at))


def _turns(way: Way, load: Load) -> int:
    """How much passes the fullest queue on the way, of `WHOLE`."""
    fullest = WHOLE
    for parts in way.queues:
        for part in parts:
            if part in load:
                fullest = max(fullest, load[part])
    for part, _ in way.shared:
        fullest = max(fullest, load.get(part, WHOLE))
    return fullest


def _slow(gbps: Shares, met: Met, timing: Timing) -> bool:
    """Lose what a fault on the way costs; whether it was on at all."""
    fault, begin = met.running.fault, timing.begin(met)
    on = met.running.steady(begin, begin + timing.seconds)
    if not fault.slowdown or on is False:
        return False
    lost = fault.slowdown if fault.share == "gate" else met.share * fault.slowdown
    gbps *= 1.0 - (lost if on else lost * met.running.shares_on(timing.edges(begin))[1:])
    return True


def _fault_steps(met: Met, timing: Timing, rng: np.random.Generator) -> Iterator[tuple[str, int]]:
    """Steps of a fault's counters while the transfer ran: one for a bad trial that shows, more at their rate."""
    counters = met.running.fault.counters
    if not counters:
        return
    edges = timing.edges(timing.begin(met))
    seconds = float((met.running.shares_on(edges) * np.diff(edges)).sum())
    for name, counter in counters.items():
        shows, more = rng.random() < counter.trials, int(rng.poisson(counter.rate * seconds))
        if seconds > 0 and shows:
            yield name, 1 + more
