"""The NVML of a simulated node: every call answers from the world's readings, so that the real pynvml runs over it.

Signatures and structures as in NVML 12 (nvml.h). A handle is the GPU's index + 1. A GPU that is off the bus answers
GPU_IS_LOST to everything, by handle or by index.
"""

# ruff: noqa: N802, N815 - the names are those of the library's symbols

from __future__ import annotations

from typing import Any

from ..hardware import Gpu
from .library import Failed, give, number, target
from .nvml_call import INSUFFICIENT_SIZE, INVALID_ARGUMENT, NOT_SUPPORTED, device_call, fill_pci_info
from .nvml_fields import fill_field_values
from .nvml_identity import NvmlIdentity

CLOCKS = {0: "sm_clock_mhz", 1: "sm_clock_mhz", 2: "memory_clock_mhz", 3: "sm_clock_mhz"}
MAX_CLOCKS = {0: 1980, 1: 1980, 2: 2619, 3: 1545}
LINK_COUNTERS = {0: "replay_errors", 1: "recovery_errors", 2: "crc_errors", 3: "crc_errors"}
SWITCH_DEVICE, GPU_DEVICE = 2, 0


class Nvml(NvmlIdentity):
    """The library. Attributes named `nvml…` are its symbols."""

    # PCIe.

    @device_call
    def nvmlDeviceGetMaxPcieLinkGeneration(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self._machine.facts[f"{gpu.name}/pcie"]["max_generation"]))

    nvmlDeviceGetGpuMaxPcieLinkGeneration = nvmlDeviceGetMaxPcieLinkGeneration

    @device_call
    def nvmlDeviceGetMaxPcieLinkWidth(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self._machine.facts[f"{gpu.name}/pcie"]["max_width"]))

    @device_call
    def nvmlDeviceGetCurrPcieLinkGeneration(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self.value(f"{gpu.name}/pcie", "generation")))

    @device_call
    def nvmlDeviceGetCurrPcieLinkWidth(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self.value(f"{gpu.name}/pcie", "width")))

    @device_call
    def nvmlDeviceGetPcieReplayCounter(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self.value(f"{gpu.name}/pcie", "replays")))

    # What a board does.

    @device_call
    def nvmlDeviceGetTemperature(self, gpu: Gpu, sensor: Any, out: Any) -> None:
        if number(sensor):
            raise Failed(INVALID_ARGUMENT)
        give(out, int(self.value(gpu.name, "temperature_c")))

    @device_call
    def nvmlDeviceGetTemperatureV(self, gpu: Gpu, out: Any) -> None:
        target(out).temperature = int(self.value(gpu.name, "temperature_c"))

    @device_call
    def nvmlDeviceGetPowerUsage(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self.value(gpu.name, "power_w") * 1000))

    @device_call
    def nvmlDeviceGetPowerManagementLimit(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self.value(gpu.name, "power_limit_w") * 1000))

    nvmlDeviceGetEnforcedPowerLimit = nvmlDeviceGetPowerManagementLimit
    nvmlDeviceGetPowerManagementDefaultLimit = nvmlDeviceGetPowerManagementLimit

    @device_call
    def nvmlDeviceGetTotalEnergyConsumption(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self.value(gpu.name, "energy_j") * 1000))

    @device_call
    def nvmlDeviceGetClockInfo(self, gpu: Gpu, clock: Any, out: Any) -> None:
        if number(clock) not in CLOCKS:
            raise Failed(INVALID_ARGUMENT)
        give(out, int(self.value(gpu.name, CLOCKS[number(clock)])))

    @device_call
    def nvmlDeviceGetMaxClockInfo(self, _gpu: Gpu, clock: Any, out: Any) -> None:
        if number(clock) not in MAX_CLOCKS:
            raise Failed(INVALID_ARGUMENT)
        give(out, MAX_CLOCKS[number(clock)])

    @device_call
    def nvmlDeviceGetCurrentClocksEventReasons(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self.value(gpu.name, "clocks_event_reasons")))

    nvmlDeviceGetCurrentClocksThrottleReasons = nvmlDeviceGetCurrentClocksEventReasons

    @device_call
    def nvmlDeviceGetPerformanceState(self, gpu: Gpu, out: Any) -> None:
        give(out, int(self.value(gpu.name, "performance_state")))

    @device_call
    def nvmlDeviceGetUtilizationRates(self, gpu: Gpu, out: Any) -> None:
        utilization = target(out)
        utilization.gpu = int(self.value(gpu.name, "utilization_pct"))
        utilization.memory = utilization.gpu // 2

    @device_call
    def nvmlDeviceGetMemoryInfo(self, gpu: Gpu, out: Any) -> None:
        memory = target(out)
        memory.total = int(self._machine.facts[gpu.name]["memory_bytes"])
        memory.used = int(self.value(gpu.name, "memory_used_bytes"))
        memory.free = memory.total - memory.used

    @device_call
    def nvmlDeviceGetMemoryInfo_v2(self, gpu: Gpu, out: Any) -> None:
        memory = target(out)
        memory.total = int(self._machine.facts[gpu.name]["memory_bytes"])
        memory.reserved = 502 << 20
        memory.used = int(self.value(gpu.name, "memory_used_bytes"))
        memory.free = memory.total - memory.used - memory.reserved

    @device_call
    def nvmlDeviceGetEccMode(self, _gpu: Gpu, current: Any, pending: Any) -> None:
        give(current, 1)
        give(pending, 1)

    @device_call
    def nvmlDeviceGetTotalEccErrors(self, gpu: Gpu, kind: Any, _counter: Any, out: Any) -> None:
        field = "ecc_uncorrected" if number(kind) else "ecc_corrected"
        give(out, int(self.value(f"{gpu.name}/hbm", field)))

    @device_call
    def nvmlDeviceGetRemappedRows(self, gpu: Gpu, *outs: Any) -> None:
        fields = ("remapped_correctable", "remapped_uncorrectable", "remap_pending", "remap_failure")
        for field, out in zip(fields, outs, strict=True):
            give(out, int(self.value(f"{gpu.name}/hbm", field)))

    @device_call
    def nvmlDeviceGetComputeRunningProcesses_v3(self, gpu: Gpu, count: Any, processes: Any) -> None:
        running = self._machine.compute_processes(gpu)
        room = number(target(count))
        give(count, len(running))
        if room < len(running):
            raise Failed(INSUFFICIENT_SIZE)
        for at, (pid, used) in enumerate(running):
            process = target(processes)[at]
            process.pid, process.usedGpuMemory = pid, used
            process.gpuInstanceId = process.computeInstanceId = 0xFFFFFFFF

    nvmlDeviceGetComputeRunningProcesses_v2 = nvmlDeviceGetComputeRunningProcesses_v3

    # NVLink.

    @device_call
    def nvmlDeviceGetNvLinkState(self, gpu: Gpu, link: Any, out: Any) -> None:
        give(out, int(self.value(self._lane(gpu, link), "state")))

    @device_call
    def nvmlDeviceGetNvLinkVersion(self, gpu: Gpu, link: Any, out: Any) -> None:
        self._lane(gpu, link)
        give(out, 4)

    @device_call
    def nvmlDeviceGetNvLinkErrorCounter(self, gpu: Gpu, link: Any, counter: Any, out: Any) -> None:
        field = LINK_COUNTERS.get(number(counter))
        if field is None:
            raise Failed(NOT_SUPPORTED)
        give(out, int(self.value(self._lane(gpu, link), field)))

    @device_call
    def nvmlDeviceGetNvLinkRemotePciInfo_v2(self, gpu: Gpu, link: Any, out: Any) -> None:
        facts = self._machine.facts[self._lane(gpu, link)]
        fill_pci_info(target(out), str(facts["remote_address"]), 0x22A310DE, 0)

    @device_call
    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: Gpu, link: Any, out: Any) -> None:
        facts = self._machine.facts[self._lane(gpu, link)]
        give(out, SWITCH_DEVICE if facts["remote_type"] == "switch" else GPU_DEVICE)

    @device_call
    def nvmlDeviceGetFieldValues(self, gpu: Gpu, count: Any, values: Any) -> None:
        fill_field_values(self._machine, gpu, number(count), target(values))
