"""What nvidia-smi reports: the driver, GPUs, their MIG devices and processes; one form for text, XML, CSV and table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..parsed import Missing
from .gpu_values import (
    Clocks,
    Ecc,
    EventReasons,
    EventReasonTimes,
    FabricHealth,
    MemoryUsage,
    Placement,
    Power,
    RemappedRows,
    RetiredPages,
    Temperatures,
    Utilization,
)


@dataclass(frozen=True, slots=True)
class Driver:
    """The head of a report: what the driver knows of, against what the report shows."""

    version: str | None = None
    cuda_version: str | None = None
    attached: int | None = None
    """GPUs that the driver counts."""
    reported: int = 0
    """GPUs that the report has a block or a row of: fewer than `attached` in an excerpt, or where GPUs don't answer."""
    time: str | None = None
    """As printed, in the node's local time."""
    other: Mapping[str, str] = field(default_factory=dict)
    """Values of the head with no field of their own, as printed."""


@dataclass(frozen=True, slots=True)
class GpuReport:
    """One GPU. A field is None where nothing was printed, or where `missing` says why there is no value."""

    index: int | None = None
    """The driver's index. `-q` does not print it: known there when the report has every GPU, in the driver's order."""
    bus_address: str | None = None
    name: str | None = None
    """As printed: tables of older drivers cut it (`Tesla V100-PCIE...`)."""
    uuid: str | None = None
    serial: str | None = None
    """GPUs of one module share it (GB200)."""
    minor: int | None = None
    """Number of its /dev/nvidia<N>."""
    brand: str | None = None
    architecture: str | None = None
    vbios: str | None = None
    board_part_number: str | None = None
    gpu_part_number: str | None = None
    gsp_firmware: str | None = None
    module_id: int | None = None
    numa: int | None = None
    """NUMA node; only where a driver prints it."""
    persistence_mode: str | None = None
    addressing_mode: str | None = None
    compute_mode: str | None = None
    virtualization: str | None = None
    c2c_mode: str | None = None
    performance_state: str | None = None
    mig_mode: str | None = None
    mig_mode_pending: str | None = None
    recovery_action: str | None = None
    """`None`, `Reset`, `Reboot`, `Drain P2P`, `Drain and Reset`: what the driver wants done."""
    reset_required: bool | None = None
    drain_and_reset_recommended: bool | None = None

    pcie_generation: int | None = None
    """At the moment of reading: idle links go down to 1 to save power."""
    pcie_generation_max: int | None = None
    """What GPU and slot can do together."""
    pcie_gpu_generation_max: int | None = None
    pcie_host_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    pcie_replays: int | None = None
    pcie_replay_rollovers: int | None = None

    fabric_state: str | None = None
    """`Not Started`, `In Progress`, `Completed`: registration with the fabric manager."""
    fabric_status: str | None = None
    """How the registration ended: `Success`, or an NVML error."""
    cluster_uuid: str | None = None
    clique_id: int | None = None
    fabric_health: FabricHealth = field(default_factory=FabricHealth)
    placement: Placement = field(default_factory=Placement)

    event_reasons: EventReasons = field(default_factory=EventReasons)
    event_reason_times: EventReasonTimes = field(default_factory=EventReasonTimes)
    memory: MemoryUsage = field(default_factory=MemoryUsage)
    bar1: MemoryUsage = field(default_factory=MemoryUsage)
    utilization: Utilization = field(default_factory=Utilization)
    ecc: Ecc = field(default_factory=Ecc)
    remapped: RemappedRows = field(default_factory=RemappedRows)
    retired: RetiredPages = field(default_factory=RetiredPages)
    temperature: Temperatures = field(default_factory=Temperatures)
    fan_percent: int | None = None
    power: Power = field(default_factory=Power)
    clocks: Clocks = field(default_factory=Clocks)
    max_clocks: Clocks = field(default_factory=Clocks)

    missing: Mapping[str, Missing] = field(default_factory=dict)
    """By field (`power.draw`): why a value that was printed is none."""
    other: Mapping[str, str] = field(default_factory=dict)
    """Values with no field of their own, as printed, by the path or name the tool gives them."""

    @property
    def lost(self) -> bool:
        """Whether the driver says of any of its values that the GPU is lost."""
        return Missing.LOST in self.missing.values()


@dataclass(frozen=True, slots=True)
class MigDevice:
    """A slice of a GPU: a device to CUDA, never a GPU to us."""

    gpu_index: int | None = None
    gpu_address: str | None = None
    index: int | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    profile: str | None = None
    """`3g.40gb`."""
    uuid: str | None = None
    multiprocessors: int | None = None
    copy_engines: int | None = None
    encoders: int | None = None
    decoders: int | None = None
    ofa_engines: int | None = None
    jpeg_engines: int | None = None
    sram_uncorrectable: int | None = None
    memory: MemoryUsage = field(default_factory=MemoryUsage)
    bar1: MemoryUsage = field(default_factory=MemoryUsage)
    missing: Mapping[str, Missing] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that uses a GPU."""

    gpu_index: int | None = None
    gpu_address: str | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    pid: int | None = None
    kind: str | None = None
    """`C` compute, `G` graphics, `C+G` both, `M+C` by way of MPS."""
    name: str | None = None
    memory_mib: int | None = None
    missing: Mapping[str, Missing] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)
