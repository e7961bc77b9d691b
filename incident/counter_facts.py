"""What the field knows of counters: meaning, what is normal, limits, NVML field ids, and how wide they are.

Typed from `facts/counters.toml` and `facts/widths.toml`; a row that lacks a field or has one too many makes loading
fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from .facts import table

Blamed: TypeAlias = Literal[
    "application",
    "gpu-memory",
    "gpu-core",
    "nvlink",
    "nvswitch",
    "pcie-link",
    "gsp-firmware",
    "driver",
    "power",
    "thermal",
    "fabric-manager",
    "nic",
    "cable",
    "network-switch",
    "unknown",
]


Word: TypeAlias = Literal["suspicious", "bad"]
Per: TypeAlias = Literal["", "second", "minute", "hour"]


class Limit(msgspec.Struct, frozen=True):
    """From which value, or rate, a counter is worth what."""

    word: Word
    value: float
    per: Per
    """Empty for a standing value."""


class CounterFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One counter, or several of one meaning."""

    id: str
    layer: Literal["nvml", "log", "aer", "sysfs-ib", "sysfs-ib-hw", "sysfs-net", "ethtool-mlx5"]
    component: tuple[Blamed, ...]
    """Kinds of parts it speaks about."""
    field_id: int | None = None
    """NVML's number."""
    field_ids: tuple[int, ...] = ()
    """NVML's numbers where the row stands for several."""
    path: str = ""
    key: str = ""
    unit: str
    cumulative: bool
    meaning: str
    normal: str
    suspicious: str = ""
    bad: str = ""
    suspicious_at: float | None = None
    suspicious_per_second: float | None = None
    suspicious_per_hour: float | None = None
    bad_at: float | None = None
    bad_at_text: str = ""
    bad_per_second: float | None = None
    bad_per_minute: float | None = None
    bad_per_hour: float | None = None
    action: str = ""
    note: str = ""
    sources: tuple[str, ...] = msgspec.field(name="source")

    @property
    def nvml_fields(self) -> tuple[int, ...]:
        """NVML's numbers, all of them."""
        return ((self.field_id,) if self.field_id is not None else ()) + self.field_ids

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Limits that are numbers; others stand in words in `suspicious` and `bad`."""
        bad_at = self.bad_at if self.bad_at is not None else _number(self.bad_at_text)
        limits = (
            _limit("suspicious", self.suspicious_at, ""),
            _limit("suspicious", self.suspicious_per_second, "second"),
            _limit("suspicious", self.suspicious_per_hour, "hour"),
            _limit("bad", bad_at, ""),
            _limit("bad", self.bad_per_second, "second"),
            _limit("bad", self.bad_per_minute, "minute"),
            _limit("bad", self.bad_per_hour, "hour"),
        )
        return tuple(limit for limit in limits if limit)

    @property
    def width(self) -> CounterWidth | None:
        """How wide it is; None where that is not known."""
        return widths().get(self.id)


class CounterWidth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How wide a counter is and what it does at its ceiling."""

    counter: str
    bits: int
    at_ceiling: Literal["stays", "wraps"]
    source: str

    @property
    def ceiling(self) -> int:
        """The largest value it can show, which then reads `at least`."""
        return (1 << self.bits) - 1


class LogSignature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of log line that is neither Xid nor SXid, and what it means."""

    match: str
    component: tuple[Blamed, ...]
    severity: Literal["info", "warning", "error", "fatal"]
    meaning: str
    sources: tuple[str, ...] = msgspec.field(name="source")


@cache
def counters() -> Mapping[str, CounterFacts]:
    """All counters by id."""
    rows = msgspec.convert(table("counters")["counter"], list[CounterFacts])
    return MappingProxyType({row.id: row for row in rows})


@cache
def widths() -> Mapping[str, CounterWidth]:
    """Widths by the counter's id."""
    rows = msgspec.convert(table("widths")["width"], list[CounterWidth])
    return MappingProxyType({row.counter: row for row in rows})


@cache
def log_signatures() -> Mapping[str, LogSignature]:
    """Kinds of log lines by their description."""
    rows = msgspec.convert(table("counters")["log_signature"], list[LogSignature])
    return MappingProxyType({row.match: row for row in rows})


def _limit(word: Word, value: float | None, per: Per) -> Limit | None:
    return Limit(word, value, per) if value is not None else None


def _number(text: str) -> float | None:
    return float(text) if text else None
