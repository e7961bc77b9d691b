"""The simulated world: what a transfer, a counter and a log show, given declared faults.

Everything is a pure function of the scenario, the node, the time and the node's ledger (what probing has done to it),
so that separate processes of one node (collector, probe worker, tools) see the same world.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from ..incident.errors import InputError
from .copying import Copy, Copying
from .crossing import OPERATIONS
from .draws import generator, uniform
from .hardware import FactValue, Hardware
from .kernel_log import KernelLog
from .ledger import Key, Ledger, LogLine, Transfer
from .readings import Reader, Readings, domain_of
from .running import RunningFault
from .scenario import Scenario, Sickness

DRIVER = "570.124.06"


@dataclass(frozen=True, slots=True)
class SimNode:
    """A node of the world."""

    name: str
    """As the operator calls it: `sim3`."""
    hostname: str
    """As it calls itself."""
    index: int
    uptime: float
    """Seconds it had been up when the world began."""
    clock_skew: float
    """Its clock minus the true time, seconds."""


class World:
    """A scenario at work.

    `began`: true time at which it began, seconds since the epoch; now, where it is not given. All processes of one
    world must be given the same.
    """

    def __init__(self, scenario: Scenario, began: float | None = None) -> None:
        self.scenario = scenario
        self.began = time.time() if began is None else began
        self._faults = tuple(RunningFault(fault, scenario.seed, number) for number, fault in enumerate(scenario.faults))
        self._part = cache(self._make_part)

    @cached_property
    def nodes(self) -> tuple[SimNode, ...]:
        """All nodes in order."""
        return tuple(self._node(index, name) for index, name in enumerate(self.scenario.nodes))

    def node(self, name: str) -> SimNode:
        """The node of that name; raises InputError with the names there are."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise InputError(f"scenario {self.scenario.name} has no node {name!r}; it has {', '.join(self.scenario.nodes)}")

    def hardware(self, node: str) -> Hardware:
        """Parts and wiring of a node."""
        return self._part(node).hardware

    def identity(self, node: str) -> Mapping[str, Mapping[str, FactValue]]:
        """Facts of all parts by path within the node (`""`: the node itself) and key, as written on them and wired.

        What can be read of a GPU that is off the bus is the reader's affair: see `nvml_error`.
        """
        about = self.node(node)
        return {
            "": {
                "hostname": about.hostname,
                "kernel": "5.15.0-1053-nvidia",
                "boot_time": self.began - about.uptime + about.clock_skew,
                "kernel_cmdline": "BOOT_IMAGE=/vmlinuz-5.15.0-1053-nvidia root=/dev/md0 ro iommu=pt pci=realloc=off",
                "driver_version": DRIVER,
                "nvml_version": f"12.{DRIVER}",
                "cuda_driver_version": "12.8",
                "python": "3.10.12",
                "gpu_count": self.scenario.platform.gpus,
            },
            **self.hardware(node).facts,
        }

    def fields(self, node: str) -> tuple[Key, ...]:
        """All readings a healthy node has, in a fixed order."""
        return self._part(node).reader.fields

    def readings(self, node: str, at: float, ledger: Ledger) -> Readings:
        """Readings at a true time, by path within the node and name; what can't be read is absent."""
        loaded = frozenset(gpu for gpu, until in ledger.busy.items() if at < until)
        return self._part(node).reader.read(at - self.began, loaded, ledger)

    def log(self, node: str, since: float, until: float, ledger: Ledger) -> list[LogLine]:
        """Kernel log lines written at true times in [since, until), oldest first."""
        return self._part(node).log.lines(since, until, ledger)

    def transfer(
        self,
        node: str,
        op: str,
        ends: Sequence[str],
        start: float,
        window_s: float,
        windows: int,
        nonce: int,
        *,
        at: float,
        warm_s: float = 0.0,
        beside: Sequence[tuple[str, tuple[str, ...]]] = (),
    ) -> Transfer:
        """A timed copy.

        `op`: `h2d`, `d2h`, `p2p`. `ends`: names of GPUs, source first. `start`: the node's load clock as it starts,
        the warm-up first. `nonce`: different for every copy of a node. `at`: true time it starts. `beside`: operation
        and ends of the copies that run at the same time. Raises ValueError for ends the node doesn't have.
        """
        names = [gpu.name for gpu in self.hardware(node).gpus]
        if OPERATIONS.get(op) != len(ends) or not set(ends) <= set(names) or len(set(ends)) != len(ends):
            raise ValueError(f"no copy {op!r} between {', '.join(ends)}")
        since_began = round(at - self.began, 6)  # exact again, whatever the epoch took from it
        copy = Copy(op, tuple(ends), start, window_s, windows, nonce, since_began, warm_s, tuple(beside))
        return self._part(node).copying.run(copy, self.began)

    def sickness(self, node: str, at: float) -> Sickness | None:
        """What keeps the node from being used at a true time; None while nothing does."""
        for row in self.scenario.sick:
            if row.node == node and at - self.began >= row.since:
                return row
        return None

    def clock(self, node: str, at: float) -> float:
        """What the node's clock shows at a true time."""
        return at + self.node(node).clock_skew

    def _node(self, index: int, name: str) -> SimNode:
        seed = self.scenario.seed
        return SimNode(
            name=name,
            hostname=f"dgx-{3 + index // 8:02d}-{1 + index % 8:02d}",
            index=index,
            uptime=86400.0 * (3 + 40 * uniform("uptime", seed, name)),
            clock_skew=float(generator("skew", seed, name).normal(0.0, self.scenario.world.clock_skew)),
        )

    def _make_part(self, name: str) -> _Part:
        node = self.node(name)
        hardware = self.scenario.hardware(name)
        own = [running for running in self._faults if running.fault.node == name]
        return _Part(
            hardware,
            Reader(self.scenario, hardware, own, node.uptime),
            Copying(self.scenario, hardware, own),
            KernelLog(self.scenario, hardware, self._faults, self.began, node.uptime),
        )


@dataclass(frozen=True)
class _Part:
    """One node's share of the world."""

    hardware: Hardware
    reader: Reader
    copying: Copying
    log: KernelLog


__all__ = ["Ledger", "LogLine", "SimNode", "Transfer", "World", "domain_of"]
