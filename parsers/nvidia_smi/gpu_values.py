"""The parts of a GPU's report. A value that was not printed is None; why is told by the report's `missing`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """A memory's use, in MiB."""

    total: int | None = None
    reserved: int | None = None
    used: int | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True)
class Utilization:
    """Percent of the last sampling period."""

    gpu: int | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class EccCounts:
    """Memory errors; drivers print either totals by location (Turing and older) or SRAM and DRAM apart."""

    sram_correctable: int | None = None
    sram_uncorrectable: int | None = None
    sram_uncorrectable_parity: int | None = None
    sram_uncorrectable_secded: int | None = None
    dram_correctable: int | None = None
    """Device memory, with older drivers."""
    dram_uncorrectable: int | None = None
    correctable_total: int | None = None
    uncorrectable_total: int | None = None


@dataclass(frozen=True, slots=True)
class SramSources:
    """Where uncorrectable SRAM errors came from, over the GPU's life."""

    l2: int | None = None
    sm: int | None = None
    microcontroller: int | None = None
    pcie: int | None = None
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Ecc:
    """Error correction: whether it is on, and what it has seen."""

    mode: str | None = None
    """`Enabled` or `Disabled`; the table writes `On` or `Off`."""
    mode_pending: str | None = None
    volatile: EccCounts = field(default_factory=EccCounts)
    """Since the driver was loaded or the GPU reset."""
    aggregate: EccCounts = field(default_factory=EccCounts)
    """Over the GPU's life."""
    sram_sources: SramSources = field(default_factory=SramSources)
    sram_threshold_exceeded: bool | None = None
    channel_repair_pending: bool | None = None
    tpc_repair_pending: bool | None = None
    unrepairable_memory: bool | None = None


@dataclass(frozen=True, slots=True)
class BankHistogram:
    """How many memory banks have how many spare rows left."""

    max: int | None = None
    high: int | None = None
    partial: int | None = None
    low: int | None = None
    none: int | None = None


@dataclass(frozen=True, slots=True)
class RemappedRows:
    """Rows replaced by spares (Ampere and later)."""

    correctable: int | None = None
    uncorrectable: int | None = None
    correctable_inactive: int | None = None
    uncorrectable_inactive: int | None = None
    pending: bool | None = None
    """A remapping waits for a reset."""
    failure: bool | None = None
    """A row could not be remapped."""
    histogram: BankHistogram = field(default_factory=BankHistogram)


@dataclass(frozen=True, slots=True)
class RetiredPages:
    """Pages taken out of use (Turing and older)."""

    single_bit: int | None = None
    double_bit: int | None = None
    pending: bool | None = None
    """A retirement waits for a reset."""


@dataclass(frozen=True, slots=True)
class FabricHealth:
    """What the fabric manager says of the GPU's NVLink fabric, beside its registration."""

    summary: str | None = None
    """`Healthy`, `Unhealthy`, `Limited Capacity`."""
    bandwidth: str | None = None
    """`Full` or `Degraded`."""
    route_recovery_in_progress: bool | None = None
    route_unhealthy: bool | None = None
    access_timeout_recovery: bool | None = None
    incorrect_configuration: str | None = None
    """`None` where the configuration is right."""
    partition_assigned: str | None = None


@dataclass(frozen=True, slots=True)
class EventReasons:
    """Why clocks are lower than they could be."""

    idle: bool | None = None
    applications_clocks_setting: bool | None = None
    sw_power_cap: bool | None = None
    hw_slowdown: bool | None = None
    hw_thermal_slowdown: bool | None = None
    hw_power_brake_slowdown: bool | None = None
    sync_boost: bool | None = None
    sw_thermal_slowdown: bool | None = None
    display_clock_setting: bool | None = None


@dataclass(frozen=True, slots=True)
class EventReasonTimes:
    """Microseconds for which each reason has lowered the clocks since the driver was loaded."""

    sw_power_cap: int | None = None
    sync_boost: int | None = None
    sw_thermal_slowdown: int | None = None
    hw_thermal_slowdown: int | None = None
    hw_power_brake: int | None = None


@dataclass(frozen=True, slots=True)
class Clocks:
    """MHz."""

    graphics: int | None = None
    sm: int | None = None
    memory: int | None = None
    video: int | None = None


@dataclass(frozen=True, slots=True)
class Power:
    """Watts, of the GPU where nothing else is said."""

    draw: float | None = None
    """What drivers up to 550 print without saying over which time, and the table."""
    average: float | None = None
    instant: float | None = None
    limit: float | None = None
    """The one in force."""
    requested_limit: float | None = None
    default_limit: float | None = None
    min_limit: float | None = None
    max_limit: float | None = None
    memory_average: float | None = None
    module_average: float | None = None
    """Of the module of GPU and CPU (GH200, GB200)."""
    module_instant: float | None = None
    module_limit: float | None = None


@dataclass(frozen=True, slots=True)
class Temperatures:
    """Degrees Celsius; thresholds are absolute on older boards and margins below the limit on newer ones."""

    gpu: int | None = None
    gpu_margin: int | None = None
    """T.Limit: degrees left until the GPU slows down."""
    memory: int | None = None
    shutdown: int | None = None
    slowdown: int | None = None
    max_operating: int | None = None
    memory_max_operating: int | None = None
    shutdown_margin: int | None = None
    slowdown_margin: int | None = None
    max_operating_margin: int | None = None
    memory_max_operating_margin: int | None = None
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the GPU sits in its rack (NVL72)."""

    chassis_serial: str | None = None
    slot: int | None = None
    tray: int | None = None
    host_id: int | None = None
    peer_type: str | None = None
    """`Switch Connected` or `Direct Connected`."""
    fabric_guid: str | None = None
