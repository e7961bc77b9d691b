"""The simulated node that this process runs on: who it is, what its clock shows, what its parts read at this moment.

All processes of a node share the world (a pure function of scenario, time and ledger) and the node's ledger file.
"""

from __future__ import annotations

import json
import math
import pickle
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from ..faults import COUNTERS_OF
from ..hardware import Gpu, Hardware
from ..world import SimNode, World, domain_of
from .ledger_file import LedgerFile
from .library import Library
from .tree import Tree

FRESH_FOR = 0.02
"""Seconds for which readings are not made anew: a collector reads 2000 values a tick, of one moment."""

COUNTERS = frozenset(name for names in COUNTERS_OF.values() for name in names) | {"crc_errors", "tx_kib", "rx_kib"}
"""Readings that probing moves."""

JOB_PID, JOB_BYTES = 48211, 71_000 << 20
"""The computing process that a busy node shows on each GPU."""

_wall = time.time
_sleep = time.sleep


class Machine:
    """One simulated node."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        with open(f"{folder}/node.json", "rb") as file:
            self._described: dict[str, Any] = json.load(file)
        self.name: str = self._described["node"]
        self.ledger_file = LedgerFile(f"{folder}/ledger.json")
        self.before_counters: Callable[[], None] = lambda: None
        """Called before a counter is read: a probing process writes down what it has done so far."""
        self._read: tuple[float, object, Mapping[tuple[str, str], float]] = (-1.0, None, {})

    @cached_property
    def world(self) -> World:
        """The world this node is in."""
        with open(self._described["scenario"], "rb") as file:
            return World(pickle.load(file), self._described["began"])

    @cached_property
    def about(self) -> SimNode:
        """The node as the world knows it."""
        return self.world.node(self.name)

    @cached_property
    def hardware(self) -> Hardware:
        """Its parts and wiring."""
        return self.world.hardware(self.name)

    @cached_property
    def facts(self) -> Mapping[str, Mapping[str, Any]]:
        """What is written on its parts, by path within the node (`""`: the node) and key."""
        return self.world.identity(self.name)

    @cached_property
    def tree(self) -> Tree:
        """Its /sys and the like."""
        from .procfs import add_procfs
        from .sysfs import sysfs

        tree = sysfs(self)
        add_procfs(tree, self)
        return tree

    def prepare(self) -> None:
        """Make what forks of this process will all need, once."""
        self.readings()
        _ = self.tree

    @property
    def hostname(self) -> str:
        """As it calls itself."""
        return self.about.hostname

    @property
    def kernel(self) -> str:
        """Kernel release."""
        return str(self.facts[""]["kernel"])

    @property
    def kernel_cmdline(self) -> str:
        """What the kernel was started with."""
        return str(self.facts[""]["kernel_cmdline"])

    @property
    def driver_version(self) -> str:
        """Version of the GPU driver."""
        return str(self.facts[""]["driver_version"])

    @property
    def nvml_version(self) -> str:
        """Version of the management library."""
        return str(self.facts[""]["nvml_version"])

    @property
    def cuda_version(self) -> int:
        """CUDA version of the driver as the API gives it: 12080 for 12.8."""
        major, minor = str(self.facts[""]["cuda_driver_version"]).split(".")
        return int(major) * 1000 + int(minor) * 10

    @property
    def boot_time(self) -> float:
        """When it booted, on its own clock."""
        return float(self.facts[""]["boot_time"])

    @property
    def speed(self) -> float:
        """How much faster than real time probes run."""
        return self.world.scenario.speed

    def true_time(self) -> float:
        """The true time, seconds since the epoch."""
        return _wall()

    def now(self) -> float:
        """What its clock shows."""
        return _wall() + self.about.clock_skew

    def readings(self) -> Mapping[tuple[str, str], float]:
        """All readings of this moment, by path within the node and name; what can't be read is absent."""
        made, version, readings = self._read
        now, current = _wall(), self.ledger_file.version()
        if not 0 <= now - made < FRESH_FOR or version != current:
            readings = self.world.readings(self.name, now, self.ledger_file.load())
            self._read = (now, current, readings)
        return readings

    def reading(self, part: str, field: str) -> float:
        """One reading; NaN where it can't be read. Never returns while the part's hang domain is stuck."""
        if self._hangs:
            self._wait_for_ever_if_stuck(part, field)
        if field in COUNTERS:
            self.before_counters()
        return self.readings().get((part, field), math.nan)

    @cached_property
    def _hangs(self) -> bool:
        return any(row.node == self.name and row.how == "hangs" for row in self.world.scenario.sick)

    def _wait_for_ever_if_stuck(self, part: str, field: str) -> None:
        sick = self.world.sickness(self.name, _wall())
        while sick is not None and sick.how == "hangs" and sick.domain == domain_of((part, field)):
            _sleep(3600.0)

    def wait_for_ever_if_log_stuck(self) -> None:
        """As for readings: a kernel log that hangs gives nothing more."""
        sick = self.world.sickness(self.name, _wall())
        while sick is not None and sick.how == "hangs" and sick.domain == "kmsg":
            _sleep(3600.0)

    def compute_processes(self, gpu: Gpu) -> list[tuple[int, int]]:
        """Process ids and bytes of what computes on a GPU."""
        count = self.reading(gpu.name, "compute_processes")
        return [(JOB_PID + gpu.index, JOB_BYTES)] * (0 if math.isnan(count) else int(count))

    def log(self, since: float, until: float) -> list[tuple[float, str]]:
        """Kernel log lines of true times in [since, until): seconds since the node's boot, and text."""
        booted = self.boot_time - self.about.clock_skew
        lines = self.world.log(self.name, since, until, self.ledger_file.load())
        return [(line.at - booted, line.text) for line in lines]

    @property
    def booted(self) -> float:
        """When it booted, true time."""
        return self.boot_time - self.about.clock_skew

    def open_kernel_log(self, flags: int) -> int:
        """A descriptor on its /dev/kmsg."""
        from .kmsg import open_kernel_log  # needs sockets and threads: few processes do

        return open_kernel_log(self, flags)

    def skip_kernel_log(self, descriptor: int) -> None:
        """What seeking such a descriptor to its end does."""
        from .kmsg import skip_to_end

        skip_to_end(descriptor)

    def nvml_library(self) -> Library:
        """The node's libnvidia-ml.so.1."""
        from .nvml import Nvml

        return Library("libnvidia-ml.so.1", Nvml(self), "nvml")

    def cuda_library(self) -> Library:
        """The node's libcuda.so.1; loading it puts this process on simulated time."""
        from .cuda import Cuda
        from .virtual_clock import VirtualClock

        clock = VirtualClock(self.speed)
        clock.install()
        return Library("libcuda.so.1", Cuda(self, clock), "cu")
