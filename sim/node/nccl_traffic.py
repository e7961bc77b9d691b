"""What the operations of one simulated communicator take, and what they leave in the ledger of this rank's node.

Both ranks work it out for themselves from what they agreed on, window by window, and come to the same. Each writes down
its own end: what the NIC or the GPU beside it counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ..copying import EXPECTED
from ..ledger import CudaError, NetTransfer, Transfer
from ..net_copying import METRIC, OF_THE_RATE
from ..request import NET
from .beside import Beside
from .copies import BUSY_AFTER, NO_WARM_UP, WINDOWS_PER_COPY
from .machine import Machine
from .nccl_meeting import Agreed, Copying, Member

P2P = "p2p"
SHORTEST = 1e-3
"""Seconds of a transfer that is only looked at for whether it could run."""


@dataclass(slots=True)
class Unwritten:
    """What has been moved since the ledger was last written."""

    began: float
    """Seconds of the communicator's traffic before it."""
    first: int
    seconds: float = 0.0
    windows: int = 0
    longest: float = 0.0


class Traffic:
    """All that a communicator's ranks move between them."""

    def __init__(self, machine: Machine, agreed: Agreed, rank: int) -> None:
        self._machine = machine
        self._agreed = agreed
        self._rank = rank
        self._elapsed = 0.0
        self._windows = 0
        self._unwritten: dict[Flow, Unwritten] = {}
        self._beside = Beside(f"{machine.folder}/copies")
        self.by_nics = by_nics(agreed)
        self.error: CudaError | None = None
        """Why nothing goes through any more, as this rank sees it."""

    def flow(self, source: int, both_ways: bool) -> Flow:
        """What goes from that rank to the other, and at the same time back if `both_ways`."""
        return Flow(self, source, both_ways)

    def begin(self) -> tuple[CudaError | None, CudaError | None]:
        """Show this node's other processes what goes on. -> why a rank could not even begin, by rank"""
        mine = self._copying()
        self._beside.join(mine[0], _within(self._machine.name, mine[1]))
        looked = self._run(self.flow(0, False), 0.0, SHORTEST, 1, self._agreed.nonce)
        return looked[0].error, looked[1].error

    def seconds(self, flow: Flow, size: int) -> float:
        """How long one window of `size` bytes takes."""
        expected = size / (self._healthy() * 1e9)
        nonce = self._agreed.nonce * WINDOWS_PER_COPY + self._windows + 1
        window = self._run(flow, self._elapsed, expected, 1, nonce)
        self.error = self.error or window[self._rank].error or window[1 - self._rank].error
        gbps = window[0].gbps
        seconds = size / (gbps[0] * 1e9) if gbps else expected
        if flow not in self._unwritten:
            self._unwritten[flow] = Unwritten(self._elapsed, self._windows)
        done = self._unwritten[flow]
        done.seconds += seconds
        done.windows += 1
        done.longest = max(done.longest, seconds)
        self._elapsed += seconds
        self._windows += 1
        return seconds

    def settle(self) -> None:
        """Write what has been moved so far into the node's ledger."""
        if not self._unwritten:
            return
        transfers = [self._whole(flow, done)[self._rank] for flow, done in self._unwritten.items()]
        self._unwritten.clear()
        reached = self._agreed.members[self._rank].clock + self._elapsed
        until = self._machine.true_time() + BUSY_AFTER
        with self._machine.ledger_file.changing() as change:
            seconds = max(0.0, reached - change.ledger.load_clock)  # two ranks of a node count once
            change.ledger = change.ledger.after(transfers, seconds, until)

    def end(self) -> None:
        """Write what is left, and move nothing any more."""
        self.settle()
        self._beside.leave()

    def _whole(self, flow: Flow, done: Unwritten) -> tuple[Transfer, Transfer]:
        """What was moved as one transfer: what it did to counters and logs."""
        windows = max(1, round(done.seconds / done.longest))
        nonce = self._agreed.nonce * WINDOWS_PER_COPY + WINDOWS_PER_COPY // 2 + done.first
        return self._run(flow, done.began, done.seconds / windows, windows, nonce)

    def _run(self, flow: Flow, began: float, window_s: float, windows: int, nonce: int) -> tuple[Transfer, Transfer]:
        """What the world says, by rank."""
        source, target = self._agreed.members[flow.source], self._agreed.members[1 - flow.source]
        beside = self._others()
        at = self._agreed.at + began
        if self.by_nics:
            ends = self._machine.world.net_transfer(
                source.node,
                source.gpu,
                target.node,
                target.gpu,
                (source.clock + began, target.clock + began),
                window_s,
                windows,
                nonce,
                at=at,
                warm_s=NO_WARM_UP,
                both_ways=flow.both_ways,
                beside=beside,
            ).ends
        else:
            whole = self._machine.world.transfer(
                source.node,
                P2P,
                (source.gpu, target.gpu),
                source.clock + began,
                window_s,
                windows,
                nonce,
                at=at,
                warm_s=NO_WARM_UP,
                beside=beside,
            )
            ends = _halves(whole, source, target).ends
        return ends if flow.source == 0 else (ends[1], ends[0])

    def _others(self) -> list[Copying]:
        """What else was copied as the ranks met, without their own."""
        own = {f"{member.node}/{member.gpu}" for member in self._agreed.members}
        found = {copying for member in self._agreed.members for copying in member.beside}
        return sorted(copying for copying in found if set(copying[1]) != own)

    def _copying(self) -> Copying:
        ends = tuple(f"{member.node}/{member.gpu}" for member in self._agreed.members)
        return (NET if self.by_nics else P2P), ends

    def _healthy(self) -> float:
        """GB/s."""
        platform = self._machine.hardware.platform
        if not self.by_nics:
            return platform.expect[EXPECTED[P2P]].value
        measured = platform.expect.get(METRIC)
        return (measured.value if measured is not None else platform.nic_gbps * OF_THE_RATE) / 8


@dataclass(frozen=True, slots=True)
class Flow:
    """Work on a stream that the other rank takes part in."""

    traffic: Traffic
    source: int
    """Rank that sends."""
    both_ways: bool

    def seconds(self, size: int) -> float:
        """How long `size` bytes take, as one window."""
        return self.traffic.seconds(self, size)


def by_nics(agreed: Agreed) -> bool:
    """Whether what the ranks move leaves by the NIC beside each GPU."""
    first, second = agreed.members
    return first.node != second.node or (first.only_nics and second.only_nics)


def _within(node: str, ends: tuple[str, ...]) -> tuple[str, ...]:
    """Ends as the node's own processes name them: its GPUs without its name where all are its own."""
    if all(end.startswith(f"{node}/") for end in ends):
        return tuple(end.partition("/")[2] for end in ends)
    return ends


def _halves(whole: Transfer, source: Member, target: Member) -> NetTransfer:
    """A copy within a node as two ends: each has what its GPU counted, the source all else."""
    theirs = {key: count for key, count in whole.steps.items() if key[0].split("/")[0] == target.gpu}
    ours = {key: count for key, count in whole.steps.items() if key not in theirs}
    return NetTransfer(
        (
            msgspec.structs.replace(whole, steps=ours, gpus=(source.gpu,)),
            msgspec.structs.replace(whole, steps=theirs, lines=(), gpus=(target.gpu,)),
        )
    )
