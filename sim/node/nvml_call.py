"""What all NVML calls of a simulated node stand on: return codes, handles, readings."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..hardware import Gpu
from .library import SUCCESS, Failed, call, give_text, number
from .machine import Machine

UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED = 1, 2, 3
NOT_FOUND, INSUFFICIENT_SIZE, GPU_IS_LOST, UNKNOWN = 6, 7, 15, 999
ERRORS = {
    SUCCESS: b"Success",
    UNINITIALIZED: b"Uninitialized",
    INVALID_ARGUMENT: b"Invalid Argument",
    NOT_SUPPORTED: b"Not Supported",
    NOT_FOUND: b"Not Found",
    INSUFFICIENT_SIZE: b"Insufficient Size",
    GPU_IS_LOST: b"GPU is lost",
}


def device_call(body: Callable[..., None]) -> Callable[..., int]:
    """A library function whose first argument is a device handle."""

    def with_gpu(self: NvmlBase, handle: Any, *arguments: Any) -> None:
        body(self, self.gpu(number(handle) - 1), *arguments)

    return call(wraps(body)(with_gpu))


class NvmlBase:
    """The library's state: there is none but the node's."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def gpu(self, index: int) -> Gpu:
        """The GPU of an index; fails as NVML does where there is none or it is lost."""
        gpus = self._machine.hardware.gpus
        if not 0 <= index < len(gpus):
            raise Failed(INVALID_ARGUMENT)
        error = self._machine.reading(gpus[index].name, "nvml_error")
        if error and not math.isnan(error):
            raise Failed(int(error))
        return gpus[index]

    def value(self, part: str, field: str) -> float:
        """A reading; NOT_SUPPORTED where the node has none."""
        value = self._machine.reading(part, field)
        if math.isnan(value):
            raise Failed(NOT_SUPPORTED)
        return value

    def _lane(self, gpu: Gpu, link: Any) -> str:
        lane = number(link)
        if lane not in self._machine.hardware.lanes():
            raise Failed(INVALID_ARGUMENT)
        return f"{gpu.name}/nvlink{lane}"

    def _fact(self, gpu: Gpu, key: str, buffer: Any, size: Any) -> None:
        if not give_text(buffer, str(self._machine.facts[gpu.name][key]), size):
            raise Failed(INSUFFICIENT_SIZE)


def fill_pci_info(info: ctypes.Structure, address: str, device: int, subsystem: int) -> None:
    """Fill an nvmlPciInfo_t for `0000:19:00.0`."""
    domain, bus, slot = address.split(":")
    info.domain, info.bus, info.device = int(domain, 16), int(bus, 16), int(slot.partition(".")[0], 16)
    info.busIdLegacy = f"{info.domain:04X}:{info.bus:02X}:{info.device:02X}.0".encode()
    info.busId = f"{info.domain:08X}:{info.bus:02X}:{info.device:02X}.0".encode()
    info.pciDeviceId, info.pciSubSystemId = device, subsystem
