"""What tools and logs say of a node's fabric manager and of the GPUs' registration with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..incident.ids import NodeId
from ..parsers.host.processes import Process
from ..parsers.host.services import ServiceStatus
from ..parsers.logs.fabric_manager import FabricManagerLine, NothingToDo, ServiceState, VersionMismatch
from ..parsers.logs.host_events import DriverError
from ..parsers.logs.kernel_log import KernelLine
from ..parsers.nccl.log_warnings import NcclWarning
from ..parsers.nvidia_smi.gpu_report import GpuReport
from .readings import Readings, in_order

NOT_PRESENT = "NV_ERR_FABRIC_MANAGER_NOT_PRESENT"
OUT_OF_SYNC = "NV_ERR_FABRIC_STATE_OUT_OF_SYNC"
NOT_INITIALIZED = 802
"""CUDA_ERROR_SYSTEM_NOT_READY: the NVLink fabric is not set up."""
UP, DOWN = "active", ("failed", "inactive")


@dataclass(slots=True)
class FabricService:
    """One node's fabric manager; ids are those of the events that say so."""

    mismatch: tuple[VersionMismatch, str] | None = None
    status: tuple[str, str] | None = None
    """The last state that was told, in words, and its event."""
    is_up: bool | None = None
    """After that state; None where nobody tells."""
    died: tuple[str, str] | None = None
    """How it once ended, in words."""
    errors: dict[str, str] = field(default_factory=dict)
    """Driver error code to event."""
    states: dict[str, str] = field(default_factory=dict)
    """Fabric states that GPUs report, each with an event: `Completed/Success`."""
    unwell: dict[str, str] = field(default_factory=dict)
    """What GPUs report of their fabric's health, where it is not well, each with an event."""
    refused: dict[str, str] = field(default_factory=dict)
    """What programs were refused for want of a fabric, with its event."""
    holders: tuple[str, ...] = ()
    """Programs that hold the GPUs."""

    @property
    def waits(self) -> bool:
        """Whether GPUs say that their registration did not end."""
        return any(not state.startswith("Completed") for state in self.states)


def fabric_services(readings: Readings) -> Mapping[NodeId, FabricService]:
    """Of every node of which anything is told."""
    found = {node: FabricService() for node in readings.nodes}
    for node, service in found.items():
        _logs(readings, node, service)
        _statuses(readings, node, service)
        _reports(readings, node, service)
    _refusals(readings, found)
    return found


def _logs(readings: Readings, node: NodeId, service: FabricService) -> None:
    """A machine without NVSwitches has a service that ends at once, and that is no fault."""
    lines = tuple(in_order(readings.of(FabricManagerLine, node)))
    if any(isinstance(line.reading.reading, NothingToDo) for line in lines):
        lines = ()
    for line in lines:
        match line.reading.reading:
            case VersionMismatch() as mismatch:
                service.mismatch = (mismatch, line.id)
            case ServiceState(state="failed" | "stopped" as state):
                service.status, service.is_up = (f"its service {state}", line.id), False
            case ServiceState(state="started"):
                service.status, service.is_up = ("its service started", line.id), True
            case _:
                pass
    for kernel in readings.of(KernelLine, node):
        if isinstance(kernel.reading.reading, DriverError):
            service.errors.setdefault(kernel.reading.reading.code, kernel.id)


def _statuses(readings: Readings, node: NodeId, service: FabricService) -> None:
    for told in in_order(readings.of(ServiceStatus, node)):
        status = told.reading
        if not _is_fabric_manager(status.unit or told.output.where):
            continue
        ended = ", ".join(filter(None, (status.detail, status.main_process)))
        said = f"its service is {status.active}" + (f" ({ended})" if ended else "")
        service.status, service.is_up = (said, told.id), status.active == UP
        if status.active in DOWN:
            service.died = (said, told.id)


def _is_fabric_manager(name: str) -> bool:
    lowered = name.lower()
    return "fabricmanager" in lowered or "fabric-manager" in lowered or "fm-status" in lowered


def _reports(readings: Readings, node: NodeId, service: FabricService) -> None:
    for told in in_order(readings.of(GpuReport, node)):
        gpu = told.reading
        if gpu.fabric_state:
            service.states["/".join(filter(None, (gpu.fabric_state, gpu.fabric_status)))] = told.id
        for said in _unwell(gpu):
            service.unwell.setdefault(said, told.id)
    service.holders = tuple(dict.fromkeys(told.reading.program for told in readings.of(Process, node)))


def _unwell(gpu: GpuReport) -> Iterator[str]:
    health = gpu.fabric_health
    if health.summary and health.summary not in ("Healthy", "Not Supported"):
        yield health.summary
    if health.bandwidth == "Degraded":
        yield "bandwidth degraded"
    if health.route_unhealthy:
        yield "route unhealthy"
    if health.route_recovery_in_progress:
        yield "route recovery in progress"
    if health.incorrect_configuration and health.incorrect_configuration not in ("None", "Not Supported"):
        yield f"incorrect configuration: {health.incorrect_configuration}"


def _refusals(readings: Readings, services: Mapping[NodeId, FabricService]) -> None:
    """A program in a container calls its machine by another name: with one node it can only be that one."""
    only: Sequence[FabricService] = [one for one in services.values() if one.states or one.errors or one.status]
    for told in readings.of(NcclWarning):
        warning = told.reading
        if warning.cuda_error != NOT_INITIALIZED and "NVLS" not in warning.text:
            continue
        service = services.get(told.node)
        for one in _either(service, only):
            one.refused.setdefault("NVLS" if "NVLS" in warning.text else "CUDA", told.id)


def _either(service: FabricService | None, only: Sequence[FabricService]) -> Iterator[FabricService]:
    if service is not None and (service.states or service.errors or service.status):
        yield service
    elif len(only) == 1:
        yield only[0]
