"""Random draws that are pure functions of their keys, so that every process of a simulated node sees the same world."""

from __future__ import annotations

import math
import struct
from hashlib import blake2b
from typing import Any

import numpy as np

_TWO_WORDS = struct.Struct("<QQ")


def uniform(*keys: object) -> float:
    """A number in [0, 1) for these keys, always the same one."""
    return _digest(keys) / 2.0**64


def generator(*keys: object) -> np.random.Generator:
    """A stream of draws for these keys, always the same one."""
    return np.random.Generator(np.random.SFC64(_digest(keys)))


def normal(*keys: object) -> float:
    """A draw from the standard normal distribution for these keys, always the same one."""
    first, second = _TWO_WORDS.unpack(blake2b(_text(keys), digest_size=16).digest())
    return math.sqrt(-2.0 * math.log((first + 1) / (2.0**64 + 1))) * math.cos(math.tau * second / 2.0**64)


class Stream:
    """One generator, put at the beginning of one stream of draws after the other: making a generator takes longer than
    all draws of a transfer. Not for several threads.
    """

    def __init__(self) -> None:
        self._bits = np.random.SFC64(0)
        self._generator = np.random.Generator(self._bits)
        self._words = np.ones(4, dtype="<u8")
        """Three of the stream's own and the counter, which starts at 1."""
        self._own = self._words.data.cast("B")[:24]
        self._state: Any = {
            "bit_generator": "SFC64",
            "state": {"state": self._words},
            "has_uint32": 0,
            "uinteger": 0,
        }

    def at(self, *keys: object) -> np.random.Generator:
        """The generator, at the beginning of the stream of these keys."""
        self._own[:] = blake2b(_text(keys), digest_size=24).digest()
        self._bits.state = self._state
        return self._generator


def hexadecimal(length: int, *keys: object) -> str:
    """Hexadecimal digits for these keys, at most 32."""
    return blake2b(_text(keys), digest_size=16).hexdigest()[:length]


def poisson(mean: float, *keys: object) -> int:
    """A Poisson draw of that mean for these keys, always the same one."""
    return int(generator(*keys).poisson(mean)) if mean > 0 else 0


def _digest(keys: tuple[object, ...]) -> int:
    return int.from_bytes(blake2b(_text(keys), digest_size=8).digest(), "little")


def _text(keys: tuple[object, ...]) -> bytes:
    return "\x1f".join(map(str, keys)).encode()
