"""The NCCL of a simulated node: two ranks that send to each other by the NICs beside their GPUs, or by NVLink.

Communicators never block unless they are asked to: what is to be waited for gets on whenever their state is asked for.
What the world knows nothing of (more than two ranks, collectives, host memory, sockets) is refused as invalid usage,
with a sentence in `ncclGetLastError`. Signatures as in nccl.h.
"""

# ruff: noqa: N802, N815 - the names are those of the library's symbols

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from ..nccl_program import VERSION
from .copies import Stream
from .cuda import Cuda
from .library import SUCCESS, Failed, call, give, number, target
from .machine import Machine
from .nccl_communicator import (
    IN_PROGRESS,
    INVALID_ARGUMENT,
    INVALID_USAGE,
    REMOTE_ERROR,
    SYSTEM_ERROR,
    Communicator,
    Trouble,
)
from .nccl_meeting import ID_BYTES, MAGIC_BYTES, Door

STRINGS = {
    SUCCESS: "no error",
    1: "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    SYSTEM_ERROR: "unhandled system error (run with NCCL_DEBUG=INFO for details)",
    3: "internal error - please report this issue to the NCCL developers",
    INVALID_ARGUMENT: "invalid argument (run with NCCL_DEBUG=WARN for details)",
    INVALID_USAGE: "invalid usage (run with NCCL_DEBUG=WARN for details)",
    REMOTE_ERROR: "remote process exited or there was a network error",
    IN_PROGRESS: "NCCL operation in progress",
}
SIZES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2)
"""Bytes of the elements of each ncclDataType_t."""
BLOCKED_AT_MOST = 12000
"""Looks at a communicator that blocks: a minute."""
BLOCKING_UNDEFINED = -(2**31)

Sent = tuple[Communicator, Stream, bool, int]
"""Communicator, stream, whether this rank sends, bytes."""


def ours(body: Callable[..., None]) -> Callable[..., int]:
    """A library function that keeps the sentence of what went wrong."""

    @call
    @wraps(body)
    def told(self: Nccl, *arguments: Any) -> None:
        try:
            body(self, *arguments)
        except Trouble as trouble:
            self._last = trouble.text
            raise

    return told


@dataclass
class Group:
    """Calls between ncclGroupStart and ncclGroupEnd."""

    depth: int = 0
    calls: list[Sent] = field(default_factory=list)


class Nccl:
    """The library. Attributes named `nccl…` are its symbols."""

    def __init__(self, machine: Machine, cuda: Cuda) -> None:
        self._machine = machine
        self._cuda = cuda
        self._doors: dict[bytes, Door] = {}
        self._communicators: dict[int, Communicator] = {}
        self._next = 0x1000
        self._group = Group()
        self._last = ""
        copied = machine.before_counters

        def before_counters() -> None:
            copied()
            for communicator in self._communicators.values():
                communicator.settle()

        machine.before_counters = before_counters

    # The library.

    @ours
    def ncclGetVersion(self, out: Any) -> None:
        major, minor, patch = (int(part) for part in VERSION.split("."))
        give(out, major * 10000 + minor * 100 + patch)

    def ncclGetErrorString(self, code: Any) -> bytes:
        return STRINGS.get(number(code), "unknown result code").encode()

    def ncclGetLastError(self, _communicator: Any = None) -> bytes:
        return self._last.encode()

    @ours
    def ncclGetUniqueId(self, out: Any) -> None:
        door = Door(os.urandom(MAGIC_BYTES))
        self._doors[door.magic] = door
        ctypes.memmove(ctypes.addressof(target(out)), door.id, ID_BYTES)

    # Communicators.

    @ours
    def ncclCommInitRankConfig(self, out: Any, ranks: Any, unique: Any, rank: Any, config: Any) -> None:
        blocking = getattr(target(config), "blocking", 1) if config is not None else 1
        self._join(out, number(ranks), bytes(unique), number(rank))
        if blocking not in (0, BLOCKING_UNDEFINED):
            self._wait(self._of(target(out)))
            return
        raise Failed(IN_PROGRESS)

    @ours
    def ncclCommInitRank(self, out: Any, ranks: Any, unique: Any, rank: Any) -> None:
        self._join(out, number(ranks), bytes(unique), number(rank))
        self._wait(self._of(target(out)))

    @ours
    def ncclCommGetAsyncError(self, communicator: Any, out: Any) -> None:
        asked = self._of(communicator)
        asked.look()
        if asked.state not in (SUCCESS, IN_PROGRESS):
            self._last = asked.text
        give(out, asked.state)

    @ours
    def ncclCommCount(self, communicator: Any, out: Any) -> None:
        self._of(communicator)
        give(out, 2)

    @ours
    def ncclCommUserRank(self, communicator: Any, out: Any) -> None:
        give(out, self._of(communicator).rank)

    @ours
    def ncclCommFinalize(self, communicator: Any) -> None:
        self._of(communicator).settle()

    @ours
    def ncclCommDestroy(self, communicator: Any) -> None:
        self._of(communicator).close()
        del self._communicators[number(communicator)]

    ncclCommAbort = ncclCommDestroy

    # Operations.

    @ours
    def ncclGroupStart(self) -> None:
        self._group.depth += 1

    @ours
    def ncclGroupEnd(self) -> None:
        if not self._group.depth:
            raise Trouble(INVALID_USAGE, "ncclGroupEnd: not in a group call")
        self._group.depth -= 1
        if not self._group.depth:
            calls, self._group = self._group.calls, Group()
            self._launch(calls)

    @ours
    def ncclSend(self, _from: Any, count: Any, kind: Any, peer: Any, communicator: Any, stream: Any) -> None:
        self._add(True, number(count) * _size(kind), number(peer), communicator, stream)

    @ours
    def ncclRecv(self, _to: Any, count: Any, kind: Any, peer: Any, communicator: Any, stream: Any) -> None:
        self._add(False, number(count) * _size(kind), number(peer), communicator, stream)

    @ours
    def ncclAllReduce(self, *_arguments: Any) -> None:
        raise Trouble(INVALID_USAGE, "the simulated world has no all-reduce")

    # What the symbols stand on.

    def _of(self, handle: Any) -> Communicator:
        found = self._communicators.get(number(handle))
        if found is None:
            raise Trouble(INVALID_ARGUMENT, "comm argument is not a communicator")
        return found

    def _join(self, out: Any, ranks: int, unique: bytes, rank: int) -> None:
        if len(unique) != ID_BYTES or not 0 <= rank < ranks:
            raise Trouble(INVALID_ARGUMENT, f"Invalid rank requested : {rank}/{ranks}")
        if ranks != 2:
            raise Trouble(INVALID_USAGE, f"the simulated world has communicators of 2 ranks, not of {ranks}")
        door = self._doors.pop(unique[:MAGIC_BYTES], None)
        made = Communicator(self._machine, self._cuda, rank, door if rank == 0 else unique)
        self._next += 0x10
        self._communicators[self._next] = made
        give(out, self._next)

    def _wait(self, communicator: Communicator) -> None:
        for _ in range(BLOCKED_AT_MOST):
            communicator.look()
            if communicator.state != IN_PROGRESS:
                break
        if communicator.state != SUCCESS:
            raise Trouble(communicator.state, communicator.text)

    def _add(self, sends: bool, size: int, peer: int, communicator: Any, stream: Any) -> None:
        of = self._of(communicator)
        if of.state == IN_PROGRESS:
            raise Trouble(INVALID_ARGUMENT, "the communicator is not ready yet")
        if peer != 1 - of.rank:
            raise Trouble(INVALID_ARGUMENT, f"a rank of the simulated world sends to the other, not to {peer}")
        made = (of, self._cuda.stream(stream), sends, size)
        if self._group.depth:
            self._group.calls.append(made)
        else:
            self._launch([made])

    def _launch(self, calls: list[Sent]) -> None:
        """Put what a group holds on its streams: what goes both ways goes on at the same time."""
        for communicator, stream in dict.fromkeys((each[0], each[1]) for each in calls):
            sent, received = (
                sum(size for of, on, sends, size in calls if of is communicator and on is stream and sends is way)
                for way in (True, False)
            )
            communicator.check()
            flow = communicator.flow(bool(sent), bool(received))
            stream.joint[flow] = stream.joint.get(flow, 0) + max(sent, received)


def _size(kind: Any) -> int:
    if not 0 <= number(kind) < len(SIZES):
        raise Trouble(INVALID_ARGUMENT, f"invalid type {number(kind)}")
    return SIZES[number(kind)]
