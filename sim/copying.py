"""Timed copies within a node: between host memory and a GPU, or between two GPUs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from .crossing import crossed
from .draws import normal
from .hardware import Hardware
from .herrings import Herrings
from .ledger import CudaError, Key, LogLine, Transfer
from .loglines import written
from .physics import Load, Met, Physics, Tenant, Timing, Way, standing
from .request import Request
from .running import RunningFault
from .tenants import TENANT_TAKES, Tenants

EXPECTED = {"p2p": "nvbandwidth_d2d_write_ce", "h2d": "h2d_pinned", "d2h": "d2h_pinned"}
"""Metric of platforms.toml that a healthy copy measures."""

OFF_THE_BUS = CudaError("cuDeviceGetByPCIBusId", "CUDA_ERROR_INVALID_DEVICE", 101, "invalid device ordinal")


class Copying:
    """Copies on one node of a world."""

    def __init__(
        self,
        physics: Physics,
        hardware: Hardware,
        faults: Sequence[RunningFault],
        herrings: Herrings,
        tenants: Tenants,
        began: float,
    ) -> None:
        """`faults`: the node's own. `began`: true time at which the world began."""
        self._physics = physics
        self._hardware = hardware
        self._faults = faults
        self._herrings = herrings
        self._tenants = tenants
        self._began = began
        self._ways: dict[tuple[str, tuple[str, ...]], Way] = {}

    def way(self, operation: str, ends: tuple[str, ...]) -> Way:
        """What a copy between these GPUs meets."""
        found = self._ways.get((operation, ends))
        if found is None:
            found = self._ways[operation, ends] = self._make_way(operation, ends)
        return found

    def run(self, request: Request, ends: tuple[str, ...], load: Load) -> Transfer:
        """What the copy shows and does. `ends`: its GPUs by name. `load`: what passes the queues on its way."""
        since_began = round(request.at - self._began, 6)  # exact again, whatever the epoch took from it
        timing = Timing(request.starts, since_began, request.window_s, request.windows, request.warm_s)
        way = self._standing(self.way(request.operation, ends), since_began)
        if way.met and any(_takes_off_the_bus(met) for met in way.met):
            return Transfer(error=OFF_THE_BUS)
        rng = self._physics.draws("copy", self._hardware.node, request.nonce)
        gbps = self._physics.windows(way, timing, load, rng)
        steps: dict[Key, int] = {}
        if way.met or way.herrings:
            for _, key, count in self._physics.steps(way, timing, rng):
                steps[key] = steps.get(key, 0) + count
        if request.operation == "p2p":
            self._add_lane_steps(steps, ends, timing.seconds, gbps, rng)
        lines = self._lines(way, timing) if way.met else ()
        return Transfer(tuple(gbps), steps, lines, timing.seconds, ends)

    def _make_way(self, operation: str, ends: tuple[str, ...]) -> Way:
        hardware, world = self._hardware, self._physics.world
        parts = crossed(hardware, operation, ends)
        healthy = hardware.platform.expect[EXPECTED[operation]].value
        bias = normal("bias", self._physics.seed, hardware.node, operation, *ends) * world.path_bias
        return Way(
            level=math.log(healthy) + bias,
            met=tuple(
                Met(running, parts[running.fault.within], 0, ((0, running.fault.within),))
                for running in self._faults
                if running.fault.within in parts
            ),
            tenants=tuple(self._beside(ends[0])) if operation != "p2p" else (),
            herrings=tuple((0, key) for key in self._herrings.moving if key[0] in parts),
            queues=(tuple(f"{hardware.node}/{part}" for part in parts if part in hardware.board.narrow),),
        )

    def _beside(self, gpu: str) -> list[Tenant]:
        """Traffic of the NICs below the same switch as a GPU."""
        switch = self._hardware.gpu(gpu).path[:-1]
        nics = [nic.name for nic in self._hardware.nics if nic.path[:-1] == switch]
        return [Tenant(there, TENANT_TAKES) for nic in nics if (there := self._tenants.of(nic)) is not None]

    def _standing(self, way: Way, at: float) -> Way:
        if not way.met:
            return way
        return Way(way.level, standing(way.met, at), way.tenants, way.herrings, way.queues)

    def _lines(self, way: Way, timing: Timing) -> tuple[LogLine, ...]:
        found = []
        for met, number, at in self._physics.bursts(way, timing):
            line = met.running.fault.log[number]
            found.append(LogLine(self._began + at, written(line.text, self._hardware, line.on.within)))
        return tuple(found)

    def _add_lane_steps(
        self,
        steps: dict[Key, int],
        ends: tuple[str, ...],
        seconds: float,
        gbps: Sequence[float],
        rng: np.random.Generator,
    ) -> None:
        """Replays of healthy lanes under load, and the KiB that each lane of the two GPUs carried."""
        lanes = self._hardware.platform.lanes_per_gpu
        background = self._physics.world.background
        if background and (count := int(rng.poisson(background * seconds * 2 * lanes))):
            for key, replays in _replays(ends, lanes, count, rng).items():
                steps[key] = steps.get(key, 0) + replays
        kib = int(sum(gbps) / len(gbps) * 1e9 * seconds / 1024 / lanes)
        source, target = ends
        steps[source, "tx_kib"] = steps[target, "rx_kib"] = kib


def _replays(ends: tuple[str, ...], lanes: int, count: int, rng: np.random.Generator) -> Mapping[Key, int]:
    picked = [divmod(int(at), lanes) for at in rng.integers(2 * lanes, size=count)]
    return Counter((f"{ends[end]}/nvlink{lane}", "replay_errors") for end, lane in picked)


def _takes_off_the_bus(met: Met) -> bool:
    return met.running.fault.kind == "hard" and met.running.fault.component.kind == "gpu"
