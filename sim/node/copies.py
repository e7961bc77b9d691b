"""Copies of one probing process: how long each takes on the simulated clock, and what they leave in the node's ledger.

What is enqueued on a stream between two events is one window. Its rate comes from the world as it is enqueued, at the
node's load clock, so that windows under a fault are slow. When the process reads counters or lets go of its stream, the
copy as a whole is written into the ledger: load clock, counter steps, log lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from ..copying import EXPECTED
from ..ledger import Transfer
from .beside import Beside
from .machine import Machine
from .virtual_clock import VirtualClock

WITHIN_DEVICE_GBS = 1300.0
LAUNCH_SECONDS = 4e-6
BUSY_AFTER = 2.0
"""Seconds after a copy for which its GPUs still show load: clocks and temperatures fall slowly."""
NO_WARM_UP = 1e-9
"""Programs warm up by copies like any other."""
WINDOWS_PER_COPY = 1 << 20
"""Nonces of a copy's windows lie between those of copies."""


class Joint(Protocol):
    """Work that another process takes part in: it knows how long its windows take."""

    def seconds(self, size: int) -> float:
        """How long `size` bytes take, as one window."""


@dataclass(eq=False)
class Stream:
    """Work in order: what waits for its end to be known, and when the rest is done."""

    pending: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)
    """Operation and ends -> bytes."""
    joint: dict[Joint, int] = field(default_factory=dict)
    """Work with other processes -> bytes."""
    free_at: float = 0.0


@dataclass
class OpenCopy:
    """Copies of one operation between the same ends since the ledger was last written."""

    operation: str
    ends: tuple[str, ...]
    nonce: int
    load_clock: float
    began: float
    """True time."""
    seconds: float = 0.0
    windows: int = 0
    longest: float = 0.0
    beside: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)


class Copies:
    """All copies of this process."""

    def __init__(self, machine: Machine, clock: VirtualClock) -> None:
        self._machine = machine
        self._clock = clock
        self._open: dict[tuple[str, tuple[str, ...]], OpenCopy] = {}
        self._occupied: dict[str, float] = {}
        """GPU -> true time until which kernels need not say again that it is loaded."""
        self._beside = Beside(f"{machine.folder}/copies")

    def enqueue(self, stream: Stream, operation: str, ends: tuple[str, ...], size: int) -> None:
        """Put a copy of `size` bytes on a stream."""
        what = (operation, ends)
        stream.pending[what] = stream.pending.get(what, 0) + size

    def flush(self, stream: Stream) -> float:
        """When all that is on the stream so far is done, on the simulated clock."""
        now = self._clock.monotonic()
        stream.free_at = max(stream.free_at, now)
        for (operation, ends), size in stream.pending.items():
            stream.free_at += LAUNCH_SECONDS + self._seconds(operation, ends, size)
        stream.pending.clear()
        for joint, size in stream.joint.items():
            stream.free_at += LAUNCH_SECONDS + joint.seconds(size)
        stream.joint.clear()
        return stream.free_at

    def occupy(self, stream: Stream, gpu: str, seconds: float) -> None:
        """Put a kernel on a stream: it crosses nothing, and its GPU shows load."""
        self.flush(stream)
        stream.free_at += LAUNCH_SECONDS + seconds
        now = self._machine.true_time()
        if now > self._occupied.get(gpu, 0.0):
            self._occupied[gpu] = now + BUSY_AFTER / 2
            with self._machine.ledger_file.changing() as change:
                change.ledger = change.ledger.after([Transfer(gpus=(gpu,))], 0.0, now + BUSY_AFTER)

    def wait_for(self, stream: Stream, moment: float) -> None:
        """What is put on a stream from now on begins no sooner."""
        self.flush(stream)
        stream.free_at = max(stream.free_at, moment)

    def settle(self) -> None:
        """Write what has been copied so far into the node's ledger."""
        done = [copy for copy in self._open.values() if copy.windows]
        self._open.clear()
        if not done:
            return
        now = self._machine.true_time()
        transfers = [self._whole(copy) for copy in done]
        reached = max(copy.load_clock + copy.seconds for copy in done)
        with self._machine.ledger_file.changing() as change:
            seconds = max(0.0, reached - change.ledger.load_clock)  # copies at once, of two processes, count once
            change.ledger = change.ledger.after(transfers, seconds, now + BUSY_AFTER)
        self._beside.leave()

    def _seconds(self, operation: str, ends: tuple[str, ...], size: int) -> float:
        if len(set(ends)) != len(ends):
            return size / (WITHIN_DEVICE_GBS * 1e9)
        copy = self._open.get((operation, ends)) or self._begin(operation, ends)
        copy.beside |= self._beside.others()
        expected = size / (self._healthy(operation) * 1e9)
        window = self._machine.world.transfer(
            self._machine.name,
            operation,
            ends,
            copy.load_clock + copy.seconds,
            expected,
            1,
            copy.nonce * WINDOWS_PER_COPY + copy.windows + 1,
            at=copy.began + copy.seconds,
            warm_s=NO_WARM_UP,
            beside=sorted(copy.beside),
        )
        seconds = size / (window.gbps[0] * 1e9) if window.gbps else expected
        copy.seconds += seconds
        copy.windows += 1
        copy.longest = max(copy.longest, seconds)
        return seconds

    def _begin(self, operation: str, ends: tuple[str, ...]) -> OpenCopy:
        """Its GPUs show load from now on, to all processes of the node."""
        now = self._machine.true_time()
        with self._machine.ledger_file.changing() as change:
            change.ledger = change.ledger.after([Transfer(gpus=ends)], 0.0, now + BUSY_AFTER)
            nonce, load_clock = change.ledger.trials, change.ledger.load_clock
        self._beside.join(operation, ends)
        copy = OpenCopy(operation, ends, nonce, load_clock, now)
        self._open[operation, ends] = copy
        return copy

    def _whole(self, copy: OpenCopy) -> Transfer:
        """The copy as one transfer: what it did to counters and logs."""
        windows = max(1, round(copy.seconds / copy.longest))
        return self._machine.world.transfer(
            self._machine.name,
            copy.operation,
            copy.ends,
            copy.load_clock,
            copy.seconds / windows,
            windows,
            copy.nonce,
            at=copy.began,
            warm_s=NO_WARM_UP,
            beside=sorted(copy.beside),
        )

    def _healthy(self, operation: str) -> float:
        return self._machine.hardware.platform.expect[EXPECTED[operation]].value
