"""What the columns of a table that somebody made are likely to hold, told by their names alone.

Names differ from site to site, so they are taken apart into words: `src_node`, `Node 2`, `busbw_GBps`, `crc (t1)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

_NODES = frozenset({"node", "host", "hostname", "nodename", "server", "machine"})
_GPUS = frozenset({"gpu", "gpuid", "device", "dev"})
_LINKS = frozenset({"link", "nvlink", "lane"})
_ENDS = (
    frozenset({"src", "source", "from", "sender", "client"}),
    frozenset({"dst", "dest", "destination", "to", "target", "receiver", "peer"}),
)
_NAMING = frozenset(
    {"id", "idx", "index", "name", "no", "nr", "a", "b", "x", "y", "compute", "worker", "cuda", "remote", "local"}
)
"""Words that may stand beside `node` or `gpu` where the column says which one it is."""
_RATES = frozenset({"busbw", "algbw", "bw", "bandwidth", "throughput", "gbps", "gb", "gbs", "gbit", "gflops", "tflops"})
_TIMES = frozenset({"latency", "lat", "us", "usec", "ms", "msec", "duration"})
_AMOUNTS = frozenset({"memory", "mem", "size", "used", "total", "free", "limit", "capacity", "speed"})
"""What is no measurement though its unit is one's: `memory GB`, and a link's speed, which is set."""
_NOT_MEASURED = frozenset(
    {"expected", "nominal", "reference", "ref", "spec", "min", "minimum", "threshold", "required"}
)
_CONDITIONS = frozenset(
    {"size", "bytes", "op", "operation", "test", "algo", "algorithm", "proto", "protocol", "type", "dtype", "redop"}
    | {"collective", "direction", "ranks", "nranks", "gpus", "nodes", "pattern", "mode", "qps"}
)
_BEFORE, _AFTER = frozenset({"before", "start", "old", "begin"}), frozenset({"after", "end", "new", "now"})
_BEST_FIRST = ("busbw", "bw", "bandwidth", "algbw", "throughput")
_IDENTITY = _NODES | _GPUS | _LINKS | _NAMING | _ENDS[0] | _ENDS[1]


class Role(StrEnum):
    """What a column holds."""

    NODE = "node"
    GPU = "gpu"
    LINK = "link"
    END = "end"
    """One end of a pair of which the name does not say whether it is a node or a GPU: `src`, `to`."""
    RATE = "rate"
    """A measurement of which more is better."""
    TIME = "time"
    """A measurement of which less is better."""
    CONDITION = "condition"
    """How it was measured: only rows that are equal here can be compared."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class AtMoment:
    """The name of a column that holds one of several points in time."""

    stem: str
    """Its words without the moment's."""
    order: int
    """`t0` and `before`: 0; `t1` and `after`: 1."""


def words_of(name: str) -> tuple[str, ...]:
    """`src_node` -> src, node; `Node 2` and `node2` -> node, 2; `t1` stays whole."""
    parts = "".join(letter if letter.isalnum() else " " for letter in name.lower()[:200]).split()
    return tuple(word for part in parts for word in _without_number(part))


def role_of(name: str) -> Role:
    """What a column of that name holds."""
    words = frozenset(words_of(name))
    if words & _NOT_MEASURED:
        return Role.OTHER
    if all(word.isdecimal() or word in _IDENTITY for word in words):
        for role, told in ((Role.LINK, _LINKS), (Role.GPU, _GPUS), (Role.NODE, _NODES)):
            if words & told:
                return role
    if words & _RATES and not words & _AMOUNTS:
        return Role.RATE
    if words & _TIMES:
        return Role.TIME
    if words & _CONDITIONS:
        return Role.CONDITION
    return Role.END if words and words <= _ENDS[0] | _ENDS[1] else Role.OTHER


def measured_column(columns: Iterable[str]) -> tuple[int, Role] | None:
    """Which column holds the measurement to compare by; None where none does. Bus bandwidth goes first."""
    found = [(at, role_of(name), words_of(name)) for at, name in enumerate(columns)]
    measured = [one for one in found if one[1] in (Role.RATE, Role.TIME)]
    if not measured:
        return None
    at, role, _ = min(measured, key=lambda one: (one[1] is Role.TIME, _preference(one[2])))
    return at, role


def moment_of(name: str) -> AtMoment | None:
    """Whether a column holds one of several points in time, as `crc_t0` and `crc after` do."""
    words = list(words_of(name))
    for at in (len(words) - 1, 0):
        if len(words) > 1 and (order := _order(words[at])) is not None:
            return AtMoment("_".join(words[:at] + words[at + 1 :]), order)
    return None


def _order(word: str) -> int | None:
    if word in _BEFORE:
        return 0
    if word in _AFTER:
        return 1
    return int(word[1:]) if word[:1] == "t" and word[1:].isdecimal() and len(word) <= 4 else None


def _preference(words: tuple[str, ...]) -> int:
    return next((at for at, word in enumerate(_BEST_FIRST) if word in words), len(_BEST_FIRST))


def _without_number(word: str) -> tuple[str, ...]:
    """`node2` in two; `t1` stays whole, as it is a moment."""
    bare = word.rstrip("0123456789")
    return (bare, word[len(bare) :]) if bare not in ("", "t", word) else (word,)
