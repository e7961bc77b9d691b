"""The physics of a timed copy: what each window measures and which counters move under it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .crossing import crossed, has_queue, shared_with
from .draws import generator, uniform
from .hardware import Hardware
from .herrings import Herrings
from .ledger import CudaError, Key, LogLine, Transfer
from .loglines import written
from .onoff import OnOff
from .running import RunningFault, Shares
from .scenario import Scenario, Surroundings

TENANT_BURST = 20.0
"""Mean seconds of somebody else's traffic on a NIC."""
TENANT_TAKES = 0.12
"""Share of a host copy's bandwidth lost to it below a common switch."""

EXPECTED = {"p2p": "nvbandwidth_d2d_write_ce", "h2d": "h2d_pinned", "d2h": "d2h_pinned"}
"""Metric of platforms.toml that a healthy copy measures."""

OFF_THE_BUS = CudaError("cuDeviceGetByPCIBusId", "CUDA_ERROR_INVALID_DEVICE", 101, "invalid device ordinal")


@dataclass(frozen=True)
class Copy:
    """A copy to be timed."""

    operation: str
    """`h2d`, `d2h` or `p2p`."""
    ends: tuple[str, ...]
    """`("gpu3",)` or `("gpu1", "gpu5")`."""
    start: float
    """Load clock when it starts, its warm-up first."""
    window_s: float
    windows: int
    nonce: int
    """Different for every copy of a node."""
    at: float
    """True time when it starts, seconds since the world began."""
    warm_s: float = 0.0
    beside: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Operation and ends of the copies that run at the same time."""

    @property
    def seconds(self) -> float:
        """Simulated seconds it takes."""
        return self.warm_s + self.windows * self.window_s

    def edges(self, under_load: bool) -> Shares:
        """Edges of the warm-up and of the windows, in the clock of a fault."""
        begin = self.start if under_load else self.at
        return begin + np.concatenate([[0.0], self.warm_s + self.window_s * np.arange(self.windows + 1)])


class Copying:
    """Copies on one node of a world."""

    def __init__(self, scenario: Scenario, hardware: Hardware, faults: Sequence[RunningFault]) -> None:
        self._seed = scenario.seed
        self._world: Surroundings = scenario.world
        self._hardware = hardware
        self._faults = faults
        self._herrings = Herrings(scenario, hardware)

    def run(self, copy: Copy, began: float) -> Transfer:
        """What the copy shows and does. `began`: true time at which the world began."""
        met = self._met(copy)
        if any(running.fault.kind == "hard" and running.fault.component.kind == "gpu" for running, _ in met):
            return Transfer(error=OFF_THE_BUS)
        shares_on = {running.number: running.shares_on(copy.edges(running.fault.under_load)) for running, _ in met}
        rng = generator("copy", self._seed, self._hardware.node, copy.nonce)
        gbps = self._bandwidth(copy, met, shares_on, rng)
        steps: Counter[Key] = Counter()
        lines: list[LogLine] = []
        for running, _ in met:
            steps.update(dict(_steps(running, copy, shares_on[running.number], rng)))
            lines += self._lines(running, copy, began)
        steps.update(self._background(copy, rng))
        steps.update(self._herrings.steps_under(copy.operation, copy.ends, copy.seconds, rng))
        steps.update(self._traffic(copy, gbps))
        return Transfer(tuple(map(float, gbps)), dict(steps), tuple(lines), copy.seconds, copy.ends)

    def _met(self, copy: Copy) -> list[tuple[RunningFault, float]]:
        """The faults that stand on the copy's way, with the share of it that each part carries."""
        parts = crossed(self._hardware, copy.operation, copy.ends)
        return [
            (running, parts[running.fault.within])
            for running in self._faults
            if running.fault.within in parts and running.stands(copy.at)
        ]

    def _bandwidth(
        self,
        copy: Copy,
        met: Sequence[tuple[RunningFault, float]],
        shares_on: Mapping[int, Shares],
        rng: np.random.Generator,
    ) -> Shares:
        healthy = self._hardware.platform.expect[EXPECTED[copy.operation]].value
        gbps = np.full(copy.windows, healthy * math.exp(self._bias(copy)))
        gbps *= np.exp(rng.normal(0.0, self._world.noise, copy.windows))
        for running, share in met:
            weight = 1.0 if running.fault.share == "gate" else share
            gbps *= 1.0 - weight * running.fault.slowdown * shares_on[running.number][1:]
        gbps *= _outliers(copy.windows, self._world, rng)
        if copy.operation != "p2p":
            gbps *= 1.0 - TENANT_TAKES * self._tenant(copy)
        if copy.beside:
            gbps /= self._at_once(copy)
        floored: Shares = np.maximum(gbps, 0.001 * healthy)
        return floored

    def _bias(self, copy: Copy) -> float:
        ends = "-".join(copy.ends)
        return float(
            generator("bias", self._seed, self._hardware.node, copy.operation, ends).normal(0, self._world.path_bias)
        )

    def _tenant(self, copy: Copy) -> Shares:
        """Share of each window in which a NIC below the same switch carries somebody else's traffic."""
        switch = self._hardware.gpu(copy.ends[0]).path[:-1]
        busy = np.zeros(copy.windows)
        for nic in self._hardware.nics:
            traffic = tenant_of(self._seed, self._hardware.node, nic.name, self._world)
            if traffic and nic.path[:-1] == switch:
                busy = np.maximum(busy, traffic.shares_on(copy.edges(under_load=False))[1:])
        return busy

    def _at_once(self, copy: Copy) -> int:
        copies = ((copy.operation, copy.ends), *copy.beside)
        crossing = Counter(
            part for operation, ends in copies for part in crossed(self._hardware, operation, ends) if has_queue(part)
        )
        return shared_with(self._hardware, copy.operation, copy.ends, crossing)

    def _lines(self, running: RunningFault, copy: Copy, began: float) -> Iterator[LogLine]:
        """Log lines of bursts under load; those of other faults come with the passing of the wall's time."""
        if not running.fault.under_load:
            return
        for burst in running.bursts(copy.start, copy.start + copy.seconds):
            for number, line in enumerate(running.fault.log):
                if uniform("line", self._seed, running.number, number, burst) < line.share:
                    at = began + copy.at + (burst - copy.start) + line.after
                    yield LogLine(at, written(line.text, self._hardware, line.on.within))

    def _background(self, copy: Copy, rng: np.random.Generator) -> Mapping[Key, int]:
        """Replays of healthy lanes under load."""
        if copy.operation != "p2p" or not self._world.background:
            return {}
        lanes = [f"{gpu}/nvlink{lane}" for gpu in copy.ends for lane in self._hardware.lanes()]
        count = int(rng.poisson(self._world.background * copy.seconds * len(lanes)))
        return Counter((lanes[int(at)], "replay_errors") for at in rng.integers(len(lanes), size=count))

    def _traffic(self, copy: Copy, gbps: Shares) -> Mapping[Key, int]:
        """KiB that each lane of the two GPUs carried."""
        if copy.operation != "p2p":
            return {}
        kib = int(float(gbps.mean()) * 1e9 * copy.seconds / 1024 / len(self._hardware.lanes()))
        source, target = copy.ends
        return {(source, "tx_kib"): kib, (target, "rx_kib"): kib}


@lru_cache(maxsize=8192)
def tenant_of(seed: int, node: str, nic: str, world: Surroundings) -> OnOff | None:
    """When a NIC carries somebody else's traffic, in the wall's time; None where there are no tenants."""
    return OnOff(world.tenants, TENANT_BURST, "tenant", seed, node, nic) if world.tenants else None


def _steps(running: RunningFault, copy: Copy, shares_on: Shares, rng: np.random.Generator) -> Iterator[tuple[Key, int]]:
    """Steps of the fault's counters while the copy ran: one for a bad trial that shows, more at the counter's rate."""
    widths = np.diff(copy.edges(running.fault.under_load))
    seconds = float((shares_on * widths).sum())
    for name, counter in (running.fault.counters or {}).items():
        shows, more = rng.random() < counter.trials, int(rng.poisson(counter.rate * seconds))
        if seconds > 0 and shows:
            yield (running.fault.within, name), 1 + more


def _outliers(windows: int, world: Surroundings, rng: np.random.Generator) -> Shares:
    """Factor of each window: 1, or anything from 0.1 up in runs of windows that are slow for no reason."""
    factors = np.ones(windows)
    for at in np.flatnonzero(rng.random(windows) < world.outliers / world.outlier_windows):
        length = int(rng.geometric(1.0 / world.outlier_windows))
        factors[at : at + length] = rng.uniform(0.1, 1.0)
    return factors
