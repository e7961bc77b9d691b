"""Random draws that are pure functions of their keys, so that every process of a simulated node sees the same world."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np


def uniform(*keys: object) -> float:
    """A number in [0, 1) for these keys, always the same one."""
    return _digest(keys) / 2.0**64


def generator(*keys: object) -> np.random.Generator:
    """A stream of draws for these keys, always the same one."""
    return np.random.Generator(np.random.SFC64(_digest(keys)))


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
