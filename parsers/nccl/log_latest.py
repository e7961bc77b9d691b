"""What each process called last: of lines that come by the million, only the last says where a job stands.

Source: capture nccl/nccl-info-by-subsystem-docs (COLL, CALL and TUNING); NVIDIA/nccl src/enqueue.cc.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from .log_line import FromProcess, LogLine

MOST_KEPT = 20_000
"""Processes and communicators that are told apart."""


@dataclass(frozen=True, slots=True)
class LastCollective(FromProcess):
    """The last collective that a process started on a communicator (NCCL_DEBUG_SUBSYS=COLL)."""

    operation: str
    """`AllReduce`, `Send`, ..."""
    op_count: int
    """Operations on the communicator before it: a rank that is behind its peers did not call."""
    count: int
    """Elements."""
    datatype: int
    """ncclDataType_t: 7 is float32."""
    root: int | None
    comm: str
    nranks: int | None


@dataclass(frozen=True, slots=True)
class LastCall(FromProcess):
    """The last call into NCCL of a process (NCCL_DEBUG_SUBSYS=CALL), group start and end aside."""

    function: str


@dataclass(frozen=True, slots=True)
class AlgorithmChoice(FromProcess):
    """What a process chose for an operation of a size (NCCL_DEBUG_SUBSYS=TUNING)."""

    operation: str
    bytes: int
    algorithm: str
    """`RING`, `TREE`, `NVLS`, or a number in older versions."""
    protocol: str
    """`SIMPLE`, `LL`, `LL128`, or a number."""
    first_channel: int | None
    last_channel: int | None


LatestReading: TypeAlias = LastCollective | LastCall | AlgorithmChoice

_COLLECTIVE = re.compile(
    r"(\w{1,24}): opCount ([0-9a-f]{1,16}) sendbuff \S{1,40} recvbuff \S{1,40} count (\d{1,20})"
    r" datatype (\d{1,3}) op \d{1,6} root (-?\d{1,7}) comm (\S{1,40})(?: \[nranks=(\d{1,7})\])?"
)
_CALL = re.compile(r"(nccl\w{1,60})\(")
_CHOICE = re.compile(
    r"(\w{1,24}): (\d{1,20}) Bytes -> Algo (\w{1,24}) proto (\w{1,12})"
    r"(?: channel\{Lo\.\.Hi\}=\{(\d{1,4})\.\.(\d{1,4})\})?"
)
_GROUPS = ("ncclGroupStart", "ncclGroupEnd")


@dataclass(slots=True)
class Latest:
    """Keeps the last reading of each process, communicator and kind."""

    _by_key: dict[Hashable, LatestReading] = field(default_factory=dict)

    def take(self, line: LogLine) -> bool:
        """True where the line was one of these."""
        read = self._call if line.level in ("CALL", "TRACE") else self._operation
        return read(line)

    def readings(self) -> Iterator[LatestReading]:
        """In the order in which they were first seen."""
        yield from self._by_key.values()

    def _call(self, line: LogLine) -> bool:
        found = _CALL.match(line.text)
        if found and found[1] not in _GROUPS:
            self._keep((line.host, line.pid), LastCall(*line.origin, found[1]))
        return found is not None

    def _operation(self, line: LogLine) -> bool:
        if found := _COLLECTIVE.match(line.text):
            operation, op_count, count, datatype, root, comm, nranks = found.groups()
            numbers = (int(op_count, 16), int(count), int(datatype), None if root.startswith("-") else int(root))
            reading = LastCollective(*line.origin, operation, *numbers, comm, int(nranks) if nranks else None)
            self._keep((line.host, line.pid, line.device, comm), reading)
        elif found := _CHOICE.match(line.text):
            operation, size, algorithm, protocol, first, last = found.groups()
            channels = (int(first), int(last)) if first and last else (None, None)
            choice = AlgorithmChoice(*line.origin, operation, int(size), algorithm, protocol, *channels)
            self._keep((line.host, line.pid, line.device, operation, size), choice)
        return found is not None

    def _keep(self, key: Hashable, reading: LatestReading) -> None:
        if key in self._by_key or len(self._by_key) < MOST_KEPT:
            self._by_key[key] = reading
