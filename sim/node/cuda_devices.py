"""The CUDA driver library of a simulated node, first half: the library itself, devices, contexts."""

# ruff: noqa: N802, N815 - the names are those of the library's symbols

from __future__ import annotations

import os
import uuid
from ctypes import addressof, c_char
from typing import Any

from .copies import Stream
from .cuda_call import (
    INVALID_DEVICE,
    INVALID_VALUE,
    NAMES,
    NO_DEVICE,
    NOT_INITIALIZED,
    PEER_ALREADY_ENABLED,
    Context,
    CudaBase,
)
from .library import Failed, call, give, give_text, number, target, text

INIT_SECONDS, FIRST_CONTEXT_SECONDS, NEXT_CONTEXT_SECONDS, WARM_CONTEXT_SECONDS = 0.12, 0.33, 0.12, 0.005
ATTRIBUTES = {16: 132, 32: 1, 40: 3, 75: 9, 76: 0}
"""Streaming multiprocessors, ECC, copy engines, compute capability."""
P2P_ATTRIBUTES = {1: 0, 2: 1, 3: 1, 4: 1}


class CudaDevices(CudaBase):
    """Calls about the library, its devices and their contexts."""

    # The library.

    @call
    def cuInit(self, _flags: Any) -> None:
        if self._initialized_by and self._initialized_by != os.getpid():
            raise Failed(NOT_INITIALIZED)
        if not self._initialized_by:
            self._clock.sleep(INIT_SECONDS)
        self._initialized_by = os.getpid()
        if not self._gpus():
            raise Failed(NO_DEVICE)

    @call
    def cuDriverGetVersion(self, out: Any) -> None:
        give(out, self._machine.cuda_version)

    @call
    def cuGetErrorName(self, code: Any, out: Any) -> None:
        target(out).value = NAMES.get(number(code), ("CUDA_ERROR_UNKNOWN", ""))[0].encode()

    @call
    def cuGetErrorString(self, code: Any, out: Any) -> None:
        target(out).value = NAMES.get(number(code), ("", "unknown error"))[1].encode()

    # Devices.

    @call
    def cuDeviceGetCount(self, out: Any) -> None:
        give(out, len(self._gpus()))

    @call
    def cuDeviceGet(self, out: Any, ordinal: Any) -> None:
        self._gpu(ordinal)
        give(out, number(ordinal))

    @call
    def cuDeviceGetByPCIBusId(self, out: Any, address: Any) -> None:
        wanted = text(address).lower()
        for ordinal, gpu in enumerate(self._gpus()):
            if gpu.address == wanted or gpu.short_address == wanted:
                give(out, ordinal)
                return
        raise Failed(INVALID_DEVICE)

    @call
    def cuDeviceGetPCIBusId(self, buffer: Any, size: Any, device: Any) -> None:
        if not give_text(buffer, self._gpu(device).address.upper(), size):
            raise Failed(INVALID_VALUE)

    @call
    def cuDeviceGetName(self, buffer: Any, size: Any, device: Any) -> None:
        if not give_text(buffer, str(self._machine.facts[self._gpu(device).name]["name"]), size):
            raise Failed(INVALID_VALUE)

    @call
    def cuDeviceGetUuid_v2(self, out: Any, device: Any) -> None:
        written = str(self._machine.facts[self._gpu(device).name]["uuid"]).removeprefix("GPU-")
        (c_char * 16).from_address(addressof(target(out))).raw = uuid.UUID(written).bytes

    cuDeviceGetUuid = cuDeviceGetUuid_v2

    @call
    def cuDeviceTotalMem_v2(self, out: Any, device: Any) -> None:
        give(out, int(self._machine.facts[self._gpu(device).name]["memory_bytes"]))

    @call
    def cuDeviceGetAttribute(self, out: Any, attribute: Any, device: Any) -> None:
        gpu = self._gpu(device)
        known = {**ATTRIBUTES, 33: int(gpu.address[5:7], 16), 34: 0, 50: 0}
        give(out, known.get(number(attribute), 0))

    @call
    def cuDeviceCanAccessPeer(self, out: Any, device: Any, peer: Any) -> None:
        give(out, int(self._gpu(device) != self._gpu(peer)))

    @call
    def cuDeviceGetP2PAttribute(self, out: Any, attribute: Any, source: Any, destination: Any) -> None:
        if self._gpu(source) == self._gpu(destination):
            raise Failed(INVALID_DEVICE)
        give(out, P2P_ATTRIBUTES.get(number(attribute), 0))

    # Contexts.

    @call
    def cuDevicePrimaryCtxRetain(self, out: Any, device: Any) -> None:
        gpu = self._gpu(device)
        handle, context = next(
            ((handle, thing) for handle, thing in self._contexts.items() if thing.gpu == gpu), (0, None)
        )
        if context is None:
            first = not self._contexts
            context = Context(gpu)
            handle = self._add(context)
            self._contexts[handle] = context
            self._clock.sleep(FIRST_CONTEXT_SECONDS if first else NEXT_CONTEXT_SECONDS)
        elif not context.held:
            self._clock.sleep(WARM_CONTEXT_SECONDS)
        context.held += 1
        give(out, handle)

    @call
    def cuDevicePrimaryCtxRelease_v2(self, device: Any) -> None:
        gpu = self._gpu(device)
        for context in self._contexts.values():
            if context.gpu == gpu and context.held:
                context.held -= 1
                if not context.held:
                    self._copies.settle()

    cuDevicePrimaryCtxRelease = cuDevicePrimaryCtxRelease_v2

    @call
    def cuCtxSetCurrent(self, context: Any) -> None:
        self._current = self._get(context, Context) if number(context) else None

    @call
    def cuCtxGetCurrent(self, out: Any) -> None:
        give(out, next((handle for handle, thing in self._contexts.items() if thing is self._current), 0))

    @call
    def cuCtxEnablePeerAccess(self, peer: Any, _flags: Any) -> None:
        here = self._here()
        if number(peer) in here.peers:
            raise Failed(PEER_ALREADY_ENABLED)
        self._get(peer, Context)
        here.peers.add(number(peer))

    @call
    def cuCtxSynchronize(self) -> None:
        for thing in list(self._handles.values()):
            if isinstance(thing, Stream):
                self._wait_for(self._copies.flush(thing))

    def _wait_for(self, moment: float) -> None:
        self._clock.sleep(max(0.0, moment - self._clock.monotonic()))
