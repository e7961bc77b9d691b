"""The NVML of a simulated node, first half: the library itself, handles, and what is written on a board."""

# ruff: noqa: N802, N815 - the names are those of the library's symbols

from __future__ import annotations

from typing import Any

from ..hardware import Gpu
from .library import SUCCESS, Failed, call, give, give_text, number, target, text
from .nvml_call import ERRORS, NOT_FOUND, NvmlBase, device_call, fill_pci_info

FABRIC_COMPLETED, FABRIC_IN_PROGRESS = 3, 2
DEVICE_ID, SUBSYSTEM_ID = 0x233010DE, 0x16C110DE


class NvmlIdentity(NvmlBase):
    """Calls whose answers don't change by the second."""

    # The library and the system.

    @call
    def nvmlInitWithFlags(self, _flags: Any = 0) -> None:
        pass

    nvmlInit_v2 = nvmlInit = nvmlInitWithFlags

    @call
    def nvmlShutdown(self) -> None:
        pass

    def nvmlErrorString(self, code: Any) -> bytes:
        return ERRORS.get(number(code), b"Unknown Error")

    @call
    def nvmlSystemGetDriverVersion(self, buffer: Any, size: Any) -> None:
        give_text(buffer, self._machine.driver_version, size)

    @call
    def nvmlSystemGetNVMLVersion(self, buffer: Any, size: Any) -> None:
        give_text(buffer, self._machine.nvml_version, size)

    @call
    def nvmlSystemGetCudaDriverVersion(self, out: Any) -> None:
        give(out, self._machine.cuda_version)

    nvmlSystemGetCudaDriverVersion_v2 = nvmlSystemGetCudaDriverVersion

    # Handles.

    @call
    def nvmlDeviceGetCount_v2(self, out: Any) -> None:
        give(out, len(self._machine.hardware.gpus))

    nvmlDeviceGetCount = nvmlDeviceGetCount_v2

    @call
    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, out: Any) -> None:
        give(out, self.gpu(number(index)).index + 1)

    nvmlDeviceGetHandleByIndex = nvmlDeviceGetHandleByIndex_v2

    @call
    def nvmlDeviceGetHandleByPciBusId_v2(self, address: Any, out: Any) -> None:
        wanted = text(address).lower()
        wanted = wanted[4:] if len(wanted) > len("0000:19:00.0") else wanted
        gpu = self._machine.hardware.gpu_at(wanted)
        if gpu is None:
            raise Failed(NOT_FOUND)
        give(out, self.gpu(gpu.index).index + 1)

    @call
    def nvmlDeviceGetHandleByUUID(self, uuid: Any, out: Any) -> None:
        for gpu in self._machine.hardware.gpus:
            if self._machine.facts[gpu.name]["uuid"] == text(uuid):
                give(out, self.gpu(gpu.index).index + 1)
                return
        raise Failed(NOT_FOUND)

    # What a board is.

    @device_call
    def nvmlDeviceGetIndex(self, gpu: Gpu, out: Any) -> None:
        give(out, gpu.index)

    nvmlDeviceGetMinorNumber = nvmlDeviceGetIndex

    @device_call
    def nvmlDeviceGetName(self, gpu: Gpu, buffer: Any, size: Any) -> None:
        self._fact(gpu, "name", buffer, size)

    @device_call
    def nvmlDeviceGetUUID(self, gpu: Gpu, buffer: Any, size: Any) -> None:
        self._fact(gpu, "uuid", buffer, size)

    @device_call
    def nvmlDeviceGetSerial(self, gpu: Gpu, buffer: Any, size: Any) -> None:
        self._fact(gpu, "serial", buffer, size)

    @device_call
    def nvmlDeviceGetBoardPartNumber(self, gpu: Gpu, buffer: Any, size: Any) -> None:
        self._fact(gpu, "part_number", buffer, size)

    @device_call
    def nvmlDeviceGetVbiosVersion(self, gpu: Gpu, buffer: Any, size: Any) -> None:
        self._fact(gpu, "vbios", buffer, size)

    @device_call
    def nvmlDeviceGetPciInfo_v3(self, gpu: Gpu, out: Any) -> None:
        fill_pci_info(target(out), gpu.address, DEVICE_ID, SUBSYSTEM_ID)

    nvmlDeviceGetPciInfo_v2 = nvmlDeviceGetPciInfo = nvmlDeviceGetPciInfo_v3

    @device_call
    def nvmlDeviceGetNumaNodeId(self, gpu: Gpu, out: Any) -> None:
        give(out, gpu.numa)

    @device_call
    def nvmlDeviceGetMigMode(self, gpu: Gpu, current: Any, pending: Any) -> None:
        mode = int(bool(self._machine.facts[gpu.name]["mig"]))
        give(current, mode)
        give(pending, mode)

    @device_call
    def nvmlDeviceGetGpuFabricInfoV(self, gpu: Gpu, out: Any) -> None:
        info = target(out)
        done = self._machine.facts[gpu.name]["fabric_state"] == "completed"
        info.state, info.status, info.cliqueId = (FABRIC_COMPLETED if done else FABRIC_IN_PROGRESS), SUCCESS, 0
        if hasattr(info, "healthMask"):
            info.healthMask = 0
        if hasattr(info, "healthSummary"):
            info.healthSummary = 0

    nvmlDeviceGetGpuFabricInfo = nvmlDeviceGetGpuFabricInfoV
