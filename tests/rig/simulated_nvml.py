"""An NVML in place of the loaded library: put this text and a call of `install` before that of a program.

`install(state)`: `lanes` is how many NVLinks a GPU has, `moving` [bus, lane, field] the counter that moves at each
look, `computing` {bus: [pid, ...]} where "self" is the process that asks.
"""
# ruff: noqa: N802

import ctypes
import os

SUCCESS, NOT_SUPPORTED, INSUFFICIENT_SIZE = 0, 3, 7


class SimulatedNvml:
    """The entry points a trial uses; a handle is the number of a bus address."""

    def __init__(self, state):
        self.state = state
        self.buses = []
        self.looks = 0

    def nvmlInit_v2(self):
        return SUCCESS

    def nvmlDeviceGetHandleByPciBusId_v2(self, bus, handle):
        self.buses.append(bus.value.decode())
        handle._obj.value = len(self.buses)
        return SUCCESS

    def nvmlDeviceGetFieldValues(self, handle, count, values):
        self.looks += 1
        for value in values._obj[: count.value]:
            value.nvmlReturn = SUCCESS if value.scopeId < self.state.get("lanes", 0) else NOT_SUPPORTED
            value.valueType = 3
            moves = self.state.get("moving") == [self.buses[handle.value - 1], value.scopeId, value.fieldId]
            value.value.unsigned_long_long = 40 + (self.looks if moves else 0)
        return SUCCESS

    def nvmlDeviceGetPcieReplayCounter(self, handle, count):
        count._obj.value = 3
        return SUCCESS

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle, count, found):
        pids = self.state.get("computing", {}).get(self.buses[handle.value - 1], [])
        if not pids:
            return SUCCESS
        if found is None:
            count._obj.value = len(pids)
            return INSUFFICIENT_SIZE
        for slot, pid in zip(found, pids, strict=False):
            slot.pid = os.getpid() if pid == "self" else pid
        count._obj.value = len(pids)
        return SUCCESS


def install(state):
    """Give every program of this process the simulated library."""
    load, simulated = ctypes.CDLL, SimulatedNvml(state)
    ctypes.CDLL = lambda name, *rest, **more: simulated if name == "libnvidia-ml.so.1" else load(name, *rest, **more)
