"""Caching by identity: facts and schemas are shared between snapshots until they change, and are costly to hash."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _Same:
    """Equal to itself only; holds its value, so that the identity is not given to another one meanwhile."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


def cached_by_identity(size: int) -> Callable[[Callable[[T], R]], Callable[[T], R]]:
    """Remember what a function of one immutable value made of the last `size` values it was given."""

    def decorate(function: Callable[[T], R]) -> Callable[[T], R]:
        @lru_cache(maxsize=size)
        def remembered(key: _Same) -> R:
            return function(key.value)  # type: ignore[arg-type]

        @wraps(function)
        def call(value: T) -> R:
            return remembered(_Same(value))

        return call

    return decorate
