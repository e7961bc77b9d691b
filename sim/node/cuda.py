"""The CUDA driver library of a simulated node: contexts, memory, streams, events, copies.

Copies take the time the world says, window by window (see `copies.py`), on the process's simulated clock. Device memory
holds what `cuda_contents.py` says. Signatures as in cuda.h.
"""

# ruff: noqa: N802, N815 - the names are those of the library's symbols

from __future__ import annotations

import mmap
from ctypes import addressof, c_char
from typing import Any

from .copies import Stream
from .cuda_call import INVALID_HANDLE, INVALID_VALUE, NOT_READY, OUT_OF_MEMORY, Context, Event
from .cuda_contents import FromHost, Repeated
from .cuda_kernels import CudaKernels
from .library import Failed, call, give, number


class Cuda(CudaKernels):
    """The library. Attributes named `cu…` are its symbols."""

    # Memory.

    @call
    def cuMemGetInfo_v2(self, free: Any, total: Any) -> None:
        here = self._here()
        size = int(self._machine.facts[here.gpu.name]["memory_bytes"])
        used = sum(taken for taken, owner in self._memory.values() if owner is here)
        give(free, size - used - (600 << 20))
        give(total, size)

    @call
    def cuMemAlloc_v2(self, out: Any, size: Any) -> None:
        here = self._here()
        wanted = number(size)
        used = sum(taken for taken, owner in self._memory.values() if owner is here)
        if not wanted:
            raise Failed(INVALID_VALUE)
        if used + wanted > int(self._machine.facts[here.gpu.name]["memory_bytes"]) - (600 << 20):
            raise Failed(OUT_OF_MEMORY)
        self._memory[self._next_address] = (wanted, here)
        give(out, self._next_address)
        self._next_address += (wanted + 0x1FFFFF) & ~0x1FFFFF

    @call
    def cuMemFree_v2(self, address: Any) -> None:
        taken = self._memory.pop(number(address), None)
        if taken is None:
            raise Failed(INVALID_VALUE)
        self._contents.forget(number(address), taken[0])

    @call
    def cuMemHostAlloc(self, out: Any, size: Any, _flags: Any = 0) -> None:
        memory = mmap.mmap(-1, number(size))
        address = addressof(c_char.from_buffer(memory))
        self._pinned[address] = memory
        give(out, address)

    cuMemAllocHost_v2 = cuMemHostAlloc

    @call
    def cuMemFreeHost(self, address: Any) -> None:
        memory = self._pinned.pop(number(address), None)
        if memory is None:
            raise Failed(INVALID_VALUE)
        self._contents.forget_host(number(address), len(memory))

    # Streams and events.

    @call
    def cuStreamCreate(self, out: Any, _flags: Any) -> None:
        self._here()
        give(out, self._add(Stream()))

    @call
    def cuStreamDestroy_v2(self, stream: Any) -> None:
        self._copies.flush(self._get(stream, Stream))
        self._copies.settle()
        del self._handles[number(stream)]

    @call
    def cuStreamSynchronize(self, stream: Any) -> None:
        self._wait_for(self._copies.flush(self._get(stream, Stream)))

    @call
    def cuStreamQuery(self, stream: Any) -> None:
        if self._copies.flush(self._get(stream, Stream)) > self._clock.monotonic():
            raise Failed(NOT_READY)

    @call
    def cuStreamWaitEvent(self, stream: Any, event: Any, _flags: Any) -> None:
        self._copies.wait_for(self._get(stream, Stream), self._get(event, Event).at)

    @call
    def cuEventCreate(self, out: Any, _flags: Any) -> None:
        give(out, self._add(Event()))

    @call
    def cuEventDestroy_v2(self, event: Any) -> None:
        self._get(event, Event)
        del self._handles[number(event)]

    @call
    def cuEventRecord(self, event: Any, stream: Any) -> None:
        self._get(event, Event).at = self._copies.flush(self._get(stream, Stream))

    @call
    def cuEventQuery(self, event: Any) -> None:
        if self._get(event, Event).at > self._clock.monotonic():
            raise Failed(NOT_READY)

    @call
    def cuEventSynchronize(self, event: Any) -> None:
        self._wait_for(self._get(event, Event).at)

    @call
    def cuEventElapsedTime(self, out: Any, start: Any, end: Any) -> None:
        first, last = self._get(start, Event).at, self._get(end, Event).at
        if first < 0 or last < 0:
            raise Failed(INVALID_HANDLE)
        if max(first, last) > self._clock.monotonic():
            raise Failed(NOT_READY)
        give(out, (last - first) * 1000)

    cuEventElapsedTime_v2 = cuEventElapsedTime

    # Copies.

    @call
    def cuMemcpyHtoDAsync_v2(self, device: Any, host: Any, size: Any, stream: Any) -> None:
        self._contents.write(number(device), number(size), FromHost(number(host)))
        self._copies.enqueue(self._get(stream, Stream), "h2d", (self._owner(device).gpu.name,), number(size))

    @call
    def cuMemcpyDtoHAsync_v2(self, host: Any, device: Any, size: Any, stream: Any) -> None:
        self._contents.read_into(number(host), number(device), number(size))
        self._copies.enqueue(self._get(stream, Stream), "d2h", (self._owner(device).gpu.name,), number(size))

    @call
    def cuMemcpyPeerAsync(
        self, target: Any, target_context: Any, source: Any, source_context: Any, size: Any, stream: Any
    ) -> None:
        ends = tuple(self._get(context, Context).gpu.name for context in (source_context, target_context))
        self._contents.copy(number(target), number(source), number(size))
        self._copies.enqueue(self._get(stream, Stream), "p2p", ends, number(size))

    @call
    def cuMemsetD32Async(self, device: Any, value: Any, count: Any, stream: Any) -> None:
        gpu = self._owner(device).gpu.name
        word = number(value).to_bytes(4, "little")
        self._contents.write(number(device), 4 * number(count), Repeated(word))
        self._copies.enqueue(self._get(stream, Stream), "p2p", (gpu, gpu), 4 * number(count))
