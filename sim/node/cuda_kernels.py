"""The CUDA driver library of a simulated node, kernels: known by their names, as the probes' own PTX names them.

`fill` and `check` walk over memory; `fma`, `integer` and `wmma` leave one result a lane. They take the time a healthy
GPU takes. No fault of the world corrupts memory or arithmetic, so none of these ever finds anything wrong that the
program did not write itself.
"""

# ruff: noqa: N802 - the names are those of the library's symbols

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .copies import Stream
from .cuda_call import INVALID_PTX, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED
from .cuda_contents import MOST_COMPARED, WORD, Repeated, Walked
from .cuda_devices import CudaDevices
from .library import Failed, call, give, number, text

TRANSLATION_SECONDS = 0.03
MEMORY_GBS = 2540.0
OPERATIONS_PER_SECOND = {"fma": 51e12, "integer": 26e12, "wmma": 480e12}
OPERATIONS_OF_TURN = {"fma": 256, "integer": 256, "wmma": 1024}
"""Of one thread."""
WARP, CHAINS, STEPS = 32, 8, 16
LISTED = 16
ENTRY = re.compile(rb"\.entry\s+(\w+)\s*\(")


@dataclass(frozen=True)
class Module:
    """A translated PTX text."""

    entries: frozenset[str]


@dataclass(frozen=True)
class Function:
    """One kernel."""

    name: str


class CudaKernels(CudaDevices):
    """Calls about modules and kernels."""

    @call
    def cuModuleLoadDataEx(self, out: Any, image: Any, _count: Any, _options: Any, _values: Any) -> None:
        self._here()
        written = image if isinstance(image, bytes) else ctypes.string_at(number(image))
        if not written.startswith(b".version"):
            raise Failed(INVALID_PTX)
        self._clock.sleep(TRANSLATION_SECONDS)
        give(out, self._add(Module(frozenset(name.decode() for name in ENTRY.findall(written)))))

    @call
    def cuModuleUnload(self, module: Any) -> None:
        self._get(module, Module)
        del self._handles[number(module)]

    @call
    def cuModuleGetFunction(self, out: Any, module: Any, name: Any) -> None:
        if text(name) not in self._get(module, Module).entries:
            raise Failed(NOT_FOUND)
        give(out, self._add(Function(text(name))))

    @call
    def cuLaunchKernel(self, function: Any, *given: Any) -> None:
        blocks, threads, stream, places = number(given[0]), number(given[3]), given[7], given[8]
        name = self._get(function, Function).name
        if name in OPERATIONS_PER_SECOND:
            seconds = self._compute(name, blocks * threads, _values(places, "ddddI"))
        elif name in ("fill", "check"):
            seconds = self._walk(name, _values(places, "ddIIII" + "d" * (name == "check")))
        else:
            raise Failed(NOT_SUPPORTED)
        self._copies.occupy(self._get(stream, Stream), self._here().gpu.name, seconds)

    def _walk(self, name: str, values: Sequence[int]) -> float:
        """Write or compare a pattern. -> seconds"""
        base, words = values[:2]
        pattern = Walked(*values[2:6])
        size = words * WORD
        self._owner(base)
        if name == "fill":
            self._contents.write(base, size, pattern)
        elif not self._contents.is_just(base, size, pattern):
            self._report(base, words, pattern, values[6])
        return size / (MEMORY_GBS * 1e9)

    def _report(self, base: int, words: int, pattern: Walked, report: int) -> None:
        """Compare word by word, and leave what differs as the kernel would: count, bits, the first places."""
        if words * WORD > MOST_COMPARED:
            raise Failed(NOT_SUPPORTED)
        held = self._contents.read(base, words * WORD) or bytes(words * WORD)
        got, expected = np.frombuffer(held, np.uint32), pattern.words(0, words)
        wrong = np.flatnonzero(got != expected)
        bits = int(np.bitwise_or.reduce(got ^ expected))
        rows = b"".join(
            int(at).to_bytes(8, "little") + expected[at].tobytes() + got[at].tobytes() for at in wrong[:LISTED]
        )
        told = len(wrong).to_bytes(8, "little") + bits.to_bytes(4, "little") + bytes(4) + rows
        self._contents.write(report, 16 + 16 * LISTED, Repeated(told.ljust(16 + 16 * LISTED, b"\0")))

    def _compute(self, name: str, threads: int, values: Sequence[int]) -> float:
        """Leave the results of all lanes, or compare them with what they ought to be. -> seconds"""
        out, reference, by_warp, _, turns = values
        if not turns or threads % WARP:
            raise Failed(INVALID_VALUE)
        results = _results(name, turns)
        if not reference:
            self._contents.write(out, threads * WORD, Repeated(results))
        elif self._contents.read(reference, WARP * WORD) != results:
            self._contents.write(by_warp, threads // WARP * WORD, Repeated(WARP.to_bytes(WORD, "little")))
        return threads * turns * OPERATIONS_OF_TURN[name] / OPERATIONS_PER_SECOND[name]


def _values(places: Any, kinds: str) -> list[int]:
    """The parameters of a kernel: `d` 64 bits, `I` 32 bits, each at the address that stands in an array."""
    kind_of = {"d": ctypes.c_uint64, "I": ctypes.c_uint32}
    return [int(kind_of[kind].from_address(number(places[at])).value) for at, kind in enumerate(kinds)]


@lru_cache(maxsize=16)
def _results(name: str, turns: int) -> bytes:
    """What the 32 lanes of a warp end with. Of `integer` it is what the kernel really computes, step by step."""
    lanes = np.arange(WARP, dtype=np.uint32)
    if name != "integer":
        return bytes((lanes * np.uint32(2654435761) + np.uint32(turns * len(name) & 0xFFFFFFFF)).tobytes())
    chains = np.arange(CHAINS, dtype=np.uint32)[:, None]
    factors = np.uint32(0x41C64E6D) + np.uint32(8 * 0x10325) * chains
    addends = np.uint32(0x3039) + np.uint32(2 * 0x7F4A7) * chains
    values = lanes[None, :] + chains + np.uint32(1)
    for _ in range(turns * STEPS):
        values = values * factors + addends
    return bytes(np.bitwise_xor.reduce(values, axis=0).tobytes())
