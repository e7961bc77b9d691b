"""What all CUDA calls of a simulated node stand on: result codes, handles, contexts, the current one."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field
from typing import Any

from ..hardware import Gpu
from .copies import Copies, Stream
from .cuda_contents import Contents
from .library import SUCCESS, Failed, number
from .machine import Machine
from .virtual_clock import VirtualClock

INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 1, 2, 3
NO_DEVICE, INVALID_DEVICE, INVALID_CONTEXT, INVALID_HANDLE = 100, 101, 201, 400
PEER_ALREADY_ENABLED, NOT_READY, NOT_SUPPORTED = 704, 600, 801
INVALID_PTX, NOT_FOUND = 218, 500
NAMES = {
    SUCCESS: ("CUDA_SUCCESS", "no error"),
    INVALID_VALUE: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    OUT_OF_MEMORY: ("CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    NOT_INITIALIZED: ("CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
    NO_DEVICE: ("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
    INVALID_DEVICE: ("CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"),
    INVALID_CONTEXT: ("CUDA_ERROR_INVALID_CONTEXT", "invalid device context"),
    INVALID_HANDLE: ("CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"),
    PEER_ALREADY_ENABLED: ("CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"),
    NOT_READY: ("CUDA_ERROR_NOT_READY", "device not ready"),
    INVALID_PTX: ("CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
    NOT_FOUND: ("CUDA_ERROR_NOT_FOUND", "named symbol not found"),
    NOT_SUPPORTED: ("CUDA_ERROR_NOT_SUPPORTED", "operation not supported"),
}

FIRST_ADDRESS = 0x7F0000000000


@dataclass
class Context:
    """The primary context of one device."""

    gpu: Gpu
    held: int = 0
    peers: set[int] = field(default_factory=set)


@dataclass
class Event:
    """When it happens on the simulated clock; -1 before it is recorded."""

    at: float = -1.0


class CudaBase:
    """The library's state in this process."""

    def __init__(self, machine: Machine, clock: VirtualClock) -> None:
        self._machine = machine
        self._clock = clock
        self._copies = Copies(machine, clock)
        self._initialized_by = 0
        self._contexts: dict[int, Context] = {}
        self._current: Context | None = None
        self._handles: dict[int, Any] = {}
        self._next_handle = 0x10
        self._memory: dict[int, tuple[int, Context]] = {}
        self._contents = Contents()
        self._pinned: dict[int, mmap.mmap] = {}
        self._next_address = FIRST_ADDRESS
        machine.before_counters = self._copies.settle

    def current_gpu(self) -> Gpu:
        """The GPU whose context is current; raises Failed where none is."""
        return self._here().gpu

    def stream(self, handle: Any) -> Stream:
        """The stream of a handle; raises Failed for one that is none."""
        found: Stream = self._get(handle, Stream)
        return found

    def pass_time(self, seconds: float) -> None:
        """Let the process's simulated clock go on."""
        self._clock.sleep(seconds)

    def _gpus(self) -> list[Gpu]:
        """The devices as CUDA numbers them: in bus order, without what is off the bus."""
        if self._initialized_by != os.getpid():  # a fork's copy of an initialized library is useless, as on hardware
            raise Failed(NOT_INITIALIZED)
        gone = {gpu.name for gpu in self._machine.hardware.gpus if self._machine.reading(gpu.name, "nvml_error") > 0}
        here = [gpu for gpu in self._machine.hardware.gpus if gpu.name not in gone]
        return sorted(here, key=lambda gpu: gpu.address)

    def _gpu(self, device: Any) -> Gpu:
        gpus = self._gpus()
        if not 0 <= number(device) < len(gpus):
            raise Failed(INVALID_DEVICE)
        return gpus[number(device)]

    def _add(self, thing: object) -> int:
        self._next_handle += 0x10
        self._handles[self._next_handle] = thing
        return self._next_handle

    def _get(self, handle: Any, kind: type) -> Any:
        thing = self._handles.get(number(handle))
        if not isinstance(thing, kind):
            raise Failed(INVALID_HANDLE)
        return thing

    def _here(self) -> Context:
        if self._current is None:
            raise Failed(INVALID_CONTEXT)
        return self._current

    def _owner(self, address: Any) -> Context:
        at = number(address)
        for start, (size, context) in self._memory.items():
            if start <= at < start + size:
                return context
        raise Failed(INVALID_VALUE)
