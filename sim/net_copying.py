"""Timed transfers by the NICs beside GPUs: between two nodes, or within one whose traffic is made to leave it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import msgspec

from .board import Nic
from .copying import OFF_THE_BUS
from .draws import normal
from .hardware import Hardware
from .herrings import Herrings
from .ledger import CudaError, Key, LogLine, NetTransfer, Transfer
from .loglines import written
from .network import Network, way_to_nic
from .onoff import OnOff
from .physics import WHOLE, Load, Met, Physics, Tenant, Timing, Way, standing
from .readings import TRAFFIC
from .request import Request
from .running import RunningFault
from .tenants import TENANT_TAKES, Tenants

NET_TENANT_BURST = 3.0
"""Mean seconds of somebody else's traffic on an uplink or leaf."""
METRIC = "ib_write_bw"
"""Of platforms.toml, Gb/s: what a healthy transfer between NICs measures."""
OF_THE_RATE = 0.98
"""Share of a NIC's rate that it measures where platforms.toml does not say."""
SENT = tuple((name, per_byte) for name, per_byte in TRAFFIC.items() if "xmit" in name)
RECEIVED = tuple((name, per_byte) for name, per_byte in TRAFFIC.items() if "rcv" in name)
SOURCE, TARGET, BOTH = 0, 1, 2
"""Ends of a transfer, and its load clocks: each end's node's, and the later of the two for the network's parts."""

NO_PORT = CudaError("ncclCommInitRankConfig", "ncclInvalidUsage", 5, "Error: network IB not found.")
"""What NCCL says where the NIC it may use has no link."""
NO_ANSWER = CudaError(
    "ncclGroupEnd", "ncclRemoteError", 6, "NET/IB: Got completion with status=12 (transport retry counter exceeded)"
)
"""What it says when packets don't arrive."""


@dataclass(frozen=True, slots=True)
class NodeShare:
    """What a transfer needs to know of a node."""

    hardware: Hardware
    faults: Sequence[RunningFault]
    """The node's own."""
    herrings: Herrings
    tenants: Tenants


@dataclass(frozen=True, slots=True)
class End:
    """One end of transfers: a GPU as the source, or as the target."""

    node: str
    gpu: str
    hardware: Hardware
    nic: Nic
    leaf: str
    spine: str
    """That traffic to it takes where routing is static."""
    met: tuple[Met, ...]
    tenants: tuple[Tenant, ...]
    herrings: tuple[tuple[int, Key], ...]
    queues: tuple[str, ...]
    sends: tuple[tuple[Key, float], ...]
    """Counters of its NIC that what it sends moves, with counts per byte."""
    receives: tuple[tuple[Key, float], ...]


class Between(msgspec.Struct, frozen=True, gc=False):
    """What is between the cables of two ends."""

    met: tuple[Met, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    queues: tuple[str, ...] = ()
    shared: tuple[tuple[str, int], ...] = ()


NOTHING = Between()


class NetCopying:
    """Transfers across the network of a world."""

    def __init__(
        self,
        physics: Physics,
        network: Network,
        faults: Sequence[RunningFault],
        share_of: Callable[[str], NodeShare],
        began: float,
    ) -> None:
        """`faults`: those of parts of the network. `began`: true time at which the world began."""
        self._physics = physics
        self._network = network
        self._share_of = share_of
        self._began = began
        self._at: dict[str, list[RunningFault]] = defaultdict(list)
        for running in faults:
            self._at[running.fault.component].append(running)
        self._gone = [running for running in faults if running.fault.kind == "hard"]
        self._ends: tuple[dict[str, End], dict[str, End]] = ({}, {})
        self._tenants: dict[str, OnOff] = {}
        self._parts = lru_cache(maxsize=4096)(network.between)
        self._healthy = _healthy(network)

    def way(self, ends: tuple[str, ...], at: float) -> Way:
        """What a transfer between GPUs (`sim1/gpu3`) meets at a time, seconds since the world began."""
        source, target = self._end(SOURCE, ends[0]), self._end(TARGET, ends[1])
        world = self._physics.world
        between = self._between(source, target, at)
        bias = normal("bias", self._physics.seed, "net", *ends) * world.path_bias if world.path_bias else 0.0
        met = between.met
        if source.met or target.met:
            met = standing((*source.met, *_of_other_parts(source, target), *met), at)
        queues: tuple[tuple[str, ...], ...] = (source.queues, target.queues, between.queues)
        if source.node == target.node:
            queues = (tuple(dict.fromkeys(chain.from_iterable(queues))),)
        return Way(
            level=self._healthy + bias,
            met=met,
            tenants=source.tenants + target.tenants + between.tenants,
            herrings=source.herrings + target.herrings,
            queues=queues,
            shared=between.shared,
        )

    def run(self, request: Request, load: Load, way: Way | None = None) -> NetTransfer:
        """What the transfer shows and does. `load`: what passes the queues on its way."""
        since_began = round(request.at - self._began, 6)
        clocks = (*request.starts, max(request.starts))
        timing = Timing(clocks, since_began, request.window_s, request.windows, request.warm_s)
        ends = self._end(SOURCE, request.ends[0]), self._end(TARGET, request.ends[1])
        if way is None:
            way = self.way(request.ends, since_began)
        if way.met and (errors := _errors(way.met, ends)) != (None, None):
            return NetTransfer((Transfer(error=errors[0]), Transfer(error=errors[1])))
        rng = self._physics.draws("net", *request.ends, request.nonce)
        gbps = tuple(self._physics.windows(way, timing, load, rng))
        steps = _traffic(ends, int(sum(gbps) / len(gbps) * 1e9 * timing.seconds), request.both_ways)
        if way.met or way.herrings:
            for end, key, count in self._physics.steps(way, timing, rng):
                steps[end][key] = steps[end].get(key, 0) + count
        lines = self._lines(way, timing, ends) if way.met else ((), ())
        return NetTransfer(
            (
                Transfer(gbps, steps[SOURCE], lines[SOURCE], timing.seconds, (ends[SOURCE].gpu,)),
                Transfer(gbps, steps[TARGET], lines[TARGET], timing.seconds, (ends[TARGET].gpu,)),
            )
        )

    def _end(self, place: int, gpu: str) -> End:
        found = self._ends[place].get(gpu)
        if found is None:
            found = self._ends[place][gpu] = self._make_end(place, *gpu.split("/"))
        return found

    def _make_end(self, place: int, node: str, name: str) -> End:
        share = self._share_of(node)
        gpu = share.hardware.gpu(name)
        nic = self._network.nic_beside(share.hardware, gpu)
        parts = dict.fromkeys(way_to_nic(gpu, nic))
        narrow = share.hardware.board.narrow
        cable = self._network.cable(share.hardware, nic)
        met = [
            Met(running, 1.0, place, ((place, running.fault.within),))
            for running in share.faults
            if running.fault.within in parts
        ]
        met += [Met(running, 1.0, BOTH, ((place, nic.name),)) for running in self._at.get(cable, ())]
        there = share.tenants.of(nic.name)
        return End(
            node=node,
            gpu=name,
            hardware=share.hardware,
            nic=nic,
            leaf=self._network.leaf(share.hardware, nic),
            spine=self._network.spine(share.hardware, nic),
            met=tuple(met),
            tenants=(Tenant(there, TENANT_TAKES),) if there is not None else (),
            herrings=tuple((place, key) for key in share.herrings.moving if key[0] in parts),
            queues=tuple(f"{node}/{part}" for part in parts if part in narrow),
            sends=tuple(((nic.name, name), per_byte) for name, per_byte in SENT),
            receives=tuple(((nic.name, name), per_byte) for name, per_byte in RECEIVED),
        )

    def _between(self, source: End, target: End, at: float) -> Between:
        """What is between the cables of two ends."""
        here, there, spine = source.leaf, target.leaf, target.spine
        static = self._network.routing == "static"
        if source.nic is target.nic and source.node == target.node:
            return NOTHING  # the NIC passes it back without sending it out
        if not self._at and not self._physics.world.net_tenants:
            if here == there:
                return NOTHING
            if not static:
                return Between(shared=_spread(here, there, WHOLE // self._network.spines))
            return Between(queues=(f"uplink/{here}~{spine}", f"uplink/{there}~{spine}"))
        gone = self._gone_at(at)
        parts = self._parts(here, there, "" if not static else spine, gone)
        moves = ((SOURCE, source.nic.name), (TARGET, target.nic.name))
        met = [
            Met(running, parts[part], BOTH, moves)
            for part, faults in self._at.items()
            if part in parts
            for running in faults
        ]
        uplinks = tuple(part for part in parts if part.startswith("uplink/"))
        return Between(
            met=standing(met, at),
            tenants=self._others(parts),
            queues=uplinks if static else (),
            shared=() if static or not uplinks else _spread(here, there, 2 * WHOLE // len(uplinks)),
        )

    def _gone_at(self, at: float) -> tuple[str, ...]:
        return tuple(running.fault.component for running in self._gone if running.stands(at))

    def _others(self, parts: Mapping[str, float]) -> tuple[Tenant, ...]:
        """Somebody else's traffic on uplinks and leaves."""
        world = self._physics.world
        if not world.net_tenants:
            return ()
        return tuple(
            Tenant(self._tenant(part), world.net_tenants_take * share)
            for part, share in parts.items()
            if part.startswith(("uplink/", "leaf-"))
        )

    def _tenant(self, part: str) -> OnOff:
        found = self._tenants.get(part)
        if found is None:
            share = self._physics.world.net_tenants
            found = self._tenants[part] = OnOff(share, NET_TENANT_BURST, "net tenant", self._physics.seed, part)
        return found

    def _lines(self, way: Way, timing: Timing, ends: tuple[End, End]) -> tuple[tuple[LogLine, ...], ...]:
        """Log lines of either end."""
        found: tuple[list[LogLine], list[LogLine]] = ([], [])
        for met, number, at in self._physics.bursts(way, timing):
            line = met.running.fault.log[number]
            end = next((end for end in (SOURCE, TARGET) if ends[end].node == line.on.node), None)
            if end is not None:
                text = written(line.text, ends[end].hardware, line.on.within)
                found[end].append(LogLine(self._began + at, text))
        return tuple(found[SOURCE]), tuple(found[TARGET])


def _healthy(network: Network) -> float:
    """Logarithm of the GB/s of a healthy transfer."""
    platform = network.nodes[0].platform
    measured = platform.expect.get(METRIC)
    return math.log((measured.value if measured is not None else platform.nic_gbps * OF_THE_RATE) / 8)


def _of_other_parts(source: End, target: End) -> Iterable[Met]:
    """What the target meets and the source does not: two GPUs of one node share its host and may share a switch."""
    if source.node != target.node:
        return target.met
    known = {met.running.number for met in source.met}
    return (met for met in target.met if met.running.number not in known)


def _spread(here: str, there: str, share: int) -> tuple[tuple[str, int], ...]:
    """The queues of two leaves' uplinks, all of them as one: the same share goes by each."""
    return (f"{here}/up", share), (f"{there}/up", share)


def _traffic(ends: tuple[End, End], count: int, both_ways: bool) -> tuple[dict[Key, int], dict[Key, int]]:
    """What the NICs of either end count of so many bytes."""
    source, target = ends
    sent = {key: int(count * per_byte) for key, per_byte in source.sends}
    received = {key: int(count * per_byte) for key, per_byte in target.receives}
    if both_ways:
        sent |= {key: int(count * per_byte) for key, per_byte in source.receives}
        received |= {key: int(count * per_byte) for key, per_byte in target.sends}
    return sent, received


def _errors(met: Sequence[Met], ends: tuple[End, End]) -> tuple[CudaError | None, CudaError | None]:
    """What each end says of faults that let nothing through; None where it only waits for the other."""
    found: list[CudaError | None] = [None, None]
    for one in met:
        fault = one.running.fault
        if fault.kind != "hard":
            continue
        kind = fault.part_kind
        if kind == "gpu":
            found[one.moves[0][0]] = OFF_THE_BUS
        elif kind in ("nic", "cable"):
            found[one.moves[0][0]] = found[one.moves[0][0]] or NO_PORT
        elif kind == "leaf":
            for place, end in enumerate(ends):
                if end.leaf == fault.component:
                    found[place] = found[place] or NO_PORT
        elif kind in ("uplink", "spine"):
            found = [error or NO_ANSWER for error in found]
    return found[SOURCE], found[TARGET]
