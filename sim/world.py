"""The simulated world: what a transfer, a counter and a log show, given declared faults.

Everything is a pure function of the scenario, the node, the time and the node's ledger (what probing has done to it),
so that separate processes of one node (collector, probe worker, tools) see the same world.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from ..incident.errors import InputError
from .copying import Copying
from .crossing import OPERATIONS
from .draws import generator, uniform
from .fabric_text import FabricText, forwarding
from .hardware import FactValue, Hardware
from .herrings import Herrings
from .kernel_log import KernelLog
from .ledger import Key, Ledger, LogLine, NetTransfer, Transfer
from .net_copying import NetCopying, NodeShare
from .network import Network
from .physics import Load, Physics, Way, loads
from .readings import Reader, Readings, domain_of
from .request import NET, Request
from .running import RunningFault
from .scenario import Scenario, Sickness
from .tenants import Tenants

DRIVER = "570.124.06"

Beside = tuple[str, tuple[str, ...]]
"""Operation and ends of a transfer that runs at the same time."""


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
        drift = scenario.world.duty_drift
        self._faults = tuple(
            RunningFault(fault, scenario.seed, number, drift) for number, fault in enumerate(scenario.faults)
        )
        self._physics = Physics(scenario.seed, scenario.world, scenario.speed)
        self._part = cache(self._make_part)

    @cached_property
    def nodes(self) -> tuple[SimNode, ...]:
        """All nodes in order."""
        return tuple(self._node(index, name) for index, name in enumerate(self.scenario.nodes))

    def node(self, name: str) -> SimNode:
        """The node of that name; raises InputError with the names there are."""
        if name in self._places:
            return self.nodes[self._places[name]]
        raise InputError(f"scenario {self.scenario.name} has no node {name!r}; it has {', '.join(self.scenario.nodes)}")

    def hardware(self, node: str) -> Hardware:
        """Parts and wiring of a node."""
        return self._part(node).share.hardware

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

    def error_counters(self, node: str, keys: Iterable[Key], at: float, ledger: Ledger) -> Readings:
        """What `readings` says of these error counters, in less time."""
        return self._part(node).reader.error_counters(keys, at - self.began, ledger)

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
        beside: Sequence[Beside] = (),
    ) -> Transfer:
        """A timed copy.

        `op`: `h2d`, `d2h`, `p2p`. `ends`: names of GPUs, source first. `start`: the node's load clock as it starts,
        the warm-up first. `nonce`: different for every copy of a node. `at`: true time it starts. `beside`: operation
        and ends of the transfers that run at the same time, GPUs of this node by name, all others as `sim2/gpu3`.
        Raises ValueError for ends the node doesn't have.
        """
        request = Request(op, tuple(f"{node}/{end}" for end in ends), (start,), window_s, windows, nonce, at, warm_s)
        names = self._checked(request)
        load = self._load(request, [_full(node, other) for other in beside]) if beside else {}
        return self._part(node).copying.run(request, names, load)

    def net_transfer(
        self,
        source: str,
        source_gpu: str,
        target: str,
        target_gpu: str,
        starts: tuple[float, float],
        window_s: float,
        windows: int,
        nonce: int,
        *,
        at: float,
        warm_s: float = 0.0,
        both_ways: bool = False,
        beside: Sequence[Beside] = (),
    ) -> NetTransfer:
        """A timed transfer from GPU to GPU by the NIC beside each, between two nodes or within one.

        `starts`: load clocks of the source's and the target's node. A fault of either node runs by its node's, one of
        the network by the later of the two: as much load as any of them has seen. `nonce`: different for every
        transfer of the source's node. The rest as for `transfer`.
        """
        ends = (f"{source}/{source_gpu}", f"{target}/{target_gpu}")
        request = Request(NET, ends, starts, window_s, windows, nonce, at, warm_s, both_ways)
        self._checked(request)
        load = self._load(request, [_full(source, other) for other in beside]) if beside else {}
        return self._across.run(request, load)

    def transfers(self, requests: Sequence[Request]) -> list[Transfer | NetTransfer]:
        """Transfers that run at once; each as `transfer` or `net_transfer` gives it with all others `beside`."""
        names = [self._checked(request) for request in requests]
        ways = [self._way(request.operation, request.ends, request.at) for request in requests]
        load = loads(ways)
        return [
            self._across.run(request, load, way)
            if request.operation == NET
            else self._part(request.ends[0].partition("/")[0]).copying.run(request, ends, load)
            for request, ends, way in zip(requests, names, ways, strict=True)
        ]

    @property
    def network(self) -> Network:
        """What the nodes are plugged into."""
        return self.scenario.network

    def fabric_text(self, at: float | None = None) -> str:
        """The network as `ibnetdiscover` prints it: as it was built, or as it is found at a true time."""
        gone = set()
        if at is not None:
            hard = [
                running for running in self._faults if running.fault.kind == "hard" and running.stands(at - self.began)
            ]
            gone = {str(running.fault.component) for running in hard}
        return "\n".join(FabricText(self.network, gone).lines()) + "\n"

    def forwarding(self) -> Mapping[str, str]:
        """The spine by which traffic reaches each NIC (`sim1/mlx5_0`); empty where nobody is told, or it is spread."""
        wiring = self.scenario.wiring
        return forwarding(self.network) if wiring.told and wiring.routing == "static" else {}

    def sickness(self, node: str, at: float) -> Sickness | None:
        """What keeps the node from being used at a true time; None while nothing does."""
        for row in self.scenario.sick:
            if row.node == node and at - self.began >= row.since:
                return row
        return None

    def clock(self, node: str, at: float) -> float:
        """What the node's clock shows at a true time."""
        return at + self.node(node).clock_skew

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: index for index, name in enumerate(self.scenario.nodes)}

    @cached_property
    def _across(self) -> NetCopying:
        of_network = [running for running in self._faults if running.fault.of_network]
        return NetCopying(self._physics, self.network, of_network, lambda node: self._part(node).share, self.began)

    @cached_property
    def _plugged(self) -> Mapping[str, list[tuple[str, RunningFault]]]:
        """By node: NICs, with faults of the cable or leaf that they are plugged into."""
        found: dict[str, list[tuple[str, RunningFault]]] = defaultdict(list)
        for running in self._faults:
            for node, nic in self.network.nics_at(running.fault.component):
                found[node.node].append((nic.name, running))
        return found

    def _checked(self, request: Request) -> tuple[str, ...]:
        """The ends' names within their nodes; raises ValueError for a transfer that can't be."""
        across = request.operation == NET
        places = [self._gpus.get(end) for end in request.ends]
        count = 2 if across else OPERATIONS.get(request.operation, 0)
        names = tuple(place[1] for place in places if place is not None)
        distinct = len(set(request.ends)) == len(names) == count
        if not distinct or (not across and len({place[0] for place in places if place is not None}) > 1):
            raise ValueError(f"no transfer {request.operation!r} between {', '.join(request.ends)}")
        if across and len(request.starts) != 2:
            raise ValueError("a transfer between two ends starts by two load clocks")
        return names

    @cached_property
    def _gpus(self) -> Mapping[str, tuple[str, str]]:
        """Node and name of every GPU, by `sim1/gpu3`."""
        names = [gpu.name for gpu in self.network.nodes[0].board.gpus]
        return {f"{node}/{name}": (node, name) for node in self.scenario.nodes for name in names}

    def _way(self, operation: str, ends: tuple[str, ...], at: float) -> Way:
        if operation == NET:
            return self._across.way(ends, round(at - self.began, 6))
        node = ends[0].partition("/")[0]
        return self._part(node).copying.way(operation, tuple(end.partition("/")[2] for end in ends))

    def _load(self, request: Request, beside: Sequence[Beside]) -> Load:
        every = ((request.operation, request.ends), *beside)
        return loads([self._way(operation, ends, request.at) for operation, ends in every])

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
        herrings, tenants = Herrings(self.scenario, hardware), Tenants(self.scenario.seed, name, self.scenario.world)
        plugged = self._plugged.get(name, ())
        return _Part(
            NodeShare(hardware, own, herrings, tenants),
            Reader(self.scenario, hardware, own, plugged, herrings, tenants, node.uptime),
            Copying(self._physics, hardware, own, herrings, tenants, self.began),
            KernelLog(self.scenario, hardware, self._faults, self.began, node.uptime),
        )


@dataclass(frozen=True)
class _Part:
    """One node's share of the world."""

    share: NodeShare
    reader: Reader
    copying: Copying
    log: KernelLog


def _full(node: str, transfer: Beside) -> Beside:
    """With its ends as `sim1/gpu3`."""
    operation, ends = transfer
    return operation, tuple(end if "/" in end else f"{node}/{end}" for end in ends)


__all__ = ["Ledger", "LogLine", "NetTransfer", "Request", "SimNode", "Transfer", "World", "domain_of"]
