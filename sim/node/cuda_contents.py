"""What device memory of a simulated node holds: told by where it came from, so that gigabytes cost nothing.

What a copy brought from host memory is remembered as that place, which must not change until it has been read back.
What is written over a part of a stretch takes the stretch's other parts with it. Memory that nobody wrote leaves what
it is read into as it is.
"""

from __future__ import annotations

from ctypes import memmove, string_at
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

WORD = 4
MOST_COMPARED = 256 << 20
"""Bytes that are really made and compared, where telling is not enough."""


@dataclass(frozen=True, slots=True)
class FromHost:
    """What stands in host memory from an address on."""

    address: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """Some bytes again and again."""

    period: bytes


@dataclass(frozen=True, slots=True)
class Walked:
    """What the kernel `fill` leaves: words mixed from seed and place, or the seed itself (mode 0)."""

    seed: int
    mode: int
    start: int
    period: int

    def words(self, first: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
        """So many words from one on."""
        if not self.mode:
            return np.full(count, self.seed, np.uint32)
        place = (np.arange(first, first + count, dtype=np.uint64) + np.uint64(self.start)) & np.uint64(0xFFFFFFFF)
        if self.period:
            place %= np.uint64(self.period)
        value = place.astype(np.uint32) * np.uint32(0x9E3779B1) ^ np.uint32(self.seed)
        value ^= value >> np.uint32(16)
        value *= np.uint32(0x85EBCA6B)
        return value ^ value >> np.uint32(13)


What: TypeAlias = FromHost | Repeated | Walked


@dataclass(frozen=True, slots=True)
class Stretch:
    """One stretch of device memory."""

    start: int
    size: int
    what: What

    def holds(self, address: int, size: int) -> bool:
        """Whether a range lies within it."""
        return self.start <= address and address + size <= self.start + self.size


class Contents:
    """All device memory of this process."""

    def __init__(self) -> None:
        self._stretches: list[Stretch] = []

    def write(self, address: int, size: int, what: What) -> None:
        """A range now holds something else."""
        self.forget(address, size)
        self._stretches.append(Stretch(address, size, what))

    def forget(self, address: int, size: int) -> None:
        """A range holds nothing any more."""
        self._stretches = [
            each for each in self._stretches if each.start >= address + size or each.start + each.size <= address
        ]

    def forget_host(self, address: int, size: int) -> None:
        """Host memory is no more, nor what is told by it."""
        self._stretches = [
            each
            for each in self._stretches
            if not (isinstance(each.what, FromHost) and address <= each.what.address < address + size)
        ]

    def copy(self, target: int, source: int, size: int) -> None:
        """From device memory to device memory, whole stretches told anew."""
        stretch = self._at(source, size)
        if stretch is None:
            self.forget(target, size)
        elif isinstance(stretch.what, FromHost):
            self.write(target, size, FromHost(stretch.what.address + source - stretch.start))
        elif source == stretch.start:
            self.write(target, size, stretch.what)
        else:
            self.write(target, size, Repeated(self.read(source, size) or b"\0"))

    def read_into(self, host: int, address: int, size: int) -> None:
        """Put what a range holds into host memory."""
        stretch = self._at(address, size)
        if stretch is not None and isinstance(stretch.what, FromHost):
            memmove(host, stretch.what.address + address - stretch.start, size)
        elif (data := self.read(address, size)) is not None:
            memmove(host, data, size)

    def read(self, address: int, size: int) -> bytes | None:
        """What a range holds; None where nobody wrote it."""
        stretch = self._at(address, size)
        if stretch is None:
            return None
        offset = address - stretch.start
        match stretch.what:
            case FromHost(place):
                return string_at(place + offset, size)
            case Repeated(period):
                shifted = period[offset % len(period) :] + period[: offset % len(period)]
                return (shifted * (size // len(period) + 1))[:size]
            case Walked():
                return stretch.what.words(offset // WORD, size // WORD).tobytes()

    def is_just(self, address: int, size: int, what: What) -> bool:
        """Whether a range is told by just these words."""
        stretch = self._at(address, size)
        return stretch is not None and stretch.start == address and stretch.what == what

    def _at(self, address: int, size: int) -> Stretch | None:
        return next((each for each in self._stretches if each.holds(address, size)), None)
