"""What probing has done to a simulated node: its load clock, counter steps, log lines, busy GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

Key = tuple[str, str]
"""Path within the node and name of a reading."""

LINES_KEPT = 400


class LogLine(msgspec.Struct, frozen=True, order=True):
    """A kernel log line."""

    at: float
    """True time it was written, seconds since the epoch."""
    text: str


@dataclass(frozen=True, slots=True)
class CudaError:
    """A call of CUDA or NCCL that failed, as a node program reports it."""

    call: str
    name: str
    code: int
    text: str


class Transfer(msgspec.Struct, frozen=True, gc=False):
    """What one timed copy shows and does."""

    gbps: tuple[float, ...] = ()
    """GB/s of each window."""
    steps: Mapping[Key, int] = msgspec.field(default_factory=dict)
    """By how much counters moved under it; those that stood still are not listed."""
    lines: tuple[LogLine, ...] = ()
    seconds: float = 0.0
    """Simulated seconds it took, warm-up included, launch not."""
    gpus: tuple[str, ...] = ()
    error: CudaError | None = None
    """Why it could not run; all else is empty then."""


class NetTransfer(msgspec.Struct, frozen=True, gc=False):
    """What one timed transfer between NICs shows, and does at either end."""

    ends: tuple[Transfer, Transfer]
    """Source first; both have the same windows. Each end's steps, lines and error are its own node's."""

    @property
    def gbps(self) -> tuple[float, ...]:
        """GB/s of each window."""
        return self.ends[0].gbps

    @property
    def seconds(self) -> float:
        """Simulated seconds it took, warm-up included, launch not."""
        return self.ends[0].seconds

    @property
    def error(self) -> CudaError | None:
        """Why it could not run, as the first end that knows says."""
        return self.ends[0].error or self.ends[1].error


class _Stored(msgspec.Struct, frozen=True):
    load_clock: float
    steps: dict[str, int]
    lines: tuple[LogLine, ...]
    busy: dict[str, float]
    trials: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """A node's record of what probing did to it."""

    load_clock: float = 0.0
    """Simulated seconds of probing so far: the time in which faults under load run."""
    steps: Mapping[Key, int] = field(default_factory=dict)
    """By how much probing moved counters."""
    lines: tuple[LogLine, ...] = ()
    """The last kernel log lines that probing caused."""
    busy: Mapping[str, float] = field(default_factory=dict)
    """GPU -> true time until which it looks loaded."""
    trials: int = 0
    """Copies so far: makes nonces of the next ones."""

    def after(self, transfers: Iterable[Transfer], seconds: float, until: float) -> Ledger:
        """The ledger after copies that ran at once.

        `seconds`: simulated time they took, launch included. `until`: true time until which their GPUs look loaded.
        """
        transfers = tuple(transfers)
        steps = Counter(dict(self.steps))
        for transfer in transfers:
            steps.update(transfer.steps)
        lines = sorted(line for transfer in transfers for line in transfer.lines)
        loaded = {gpu: until for transfer in transfers for gpu in transfer.gpus}
        return Ledger(
            self.load_clock + seconds,
            dict(steps),
            (*self.lines, *lines)[-LINES_KEPT:],
            {**self.busy, **loaded},
            self.trials + len(transfers),
        )

    def to_json(self) -> bytes:
        """One line of JSON."""
        steps = {" ".join(key): count for key, count in self.steps.items()}
        return msgspec.json.encode(_Stored(self.load_clock, steps, self.lines, dict(self.busy), self.trials))

    @classmethod
    def from_json(cls, data: bytes) -> Ledger:
        """The ledger of such a line; raises msgspec.DecodeError on anything else."""
        stored = msgspec.json.decode(data, type=_Stored)
        steps = {_key(joined): count for joined, count in stored.steps.items()}
        return cls(stored.load_clock, steps, stored.lines, stored.busy, stored.trials)


def _key(joined: str) -> Key:
    within, _, name = joined.rpartition(" ")
    return within, name
