"""`nvmlDeviceGetFieldValues`: many readings in one call, in an array of 40-byte nvmlFieldValue_t."""

from __future__ import annotations

import ctypes
import math
import struct
import time
from typing import Any

from ..hardware import Gpu
from .machine import Machine

LANE_FIELDS = {
    138: "tx_kib",
    139: "rx_kib",
    140: "tx_kib",
    141: "rx_kib",
    161: "replay_errors",
    162: "recovery_errors",
    163: "crc_errors",
    164: "speed_mbps",
    165: "state",
}
"""Field ids of one NVLink (its number in `scopeId`) of Hopper and earlier; those of NVLink 5 are not supported."""

NVLINK_COUNT, NVLINK_COMMON_SPEED = 91, 90
NOT_SUPPORTED, INVALID_ARGUMENT = 3, 2
UNSIGNED_LONG_LONG = 3
LAYOUT = struct.Struct("=IIqqIiQ")
"""fieldId, scopeId, timestamp (us), latencyUsec, valueType, nvmlReturn, value: nvml.h."""
RAW_OVERHEAD = 1.0625
"""Raw throughput carries the protocol's overhead."""


def fill_field_values(machine: Machine, gpu: Gpu, count: int, values: Any) -> None:
    """Answer `count` fields in place. `values` is the array, its first element, or anything else laid out so."""
    memory = (ctypes.c_char * (LAYOUT.size * count)).from_address(ctypes.addressof(values))
    now = int(time.time() * 1e6)
    for at in range(0, LAYOUT.size * count, LAYOUT.size):
        field, scope = struct.unpack_from("=II", memory, at)
        code, value = _answer(machine, gpu, field, scope)
        LAYOUT.pack_into(memory, at, field, scope, now, 1, UNSIGNED_LONG_LONG, code, value)


def _answer(machine: Machine, gpu: Gpu, field: int, scope: int) -> tuple[int, int]:
    if field == NVLINK_COUNT:
        return 0, len(machine.hardware.lanes())
    name = LANE_FIELDS.get(field)
    if field == NVLINK_COMMON_SPEED:
        name, scope = "speed_mbps", 0
    if name is None:
        return NOT_SUPPORTED, 0
    if scope not in machine.hardware.lanes():
        return INVALID_ARGUMENT, 0
    value = machine.reading(f"{gpu.name}/nvlink{scope}", name)
    if math.isnan(value):
        return NOT_SUPPORTED, 0
    if field in (140, 141):
        value *= RAW_OVERHEAD
    return 0, int(value)
