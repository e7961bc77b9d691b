"""What Redfish resources say, flattened.

Paths are the resources' own `@odata.id`; None stands for what is null or absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...parsed import Missing


@dataclass(frozen=True, slots=True)
class RedfishSensor:
    """One measured value; its thresholds stand beside it and are never the value."""

    path: str
    name: str
    kind: str
    """`Temperature`, `Fan`, `Power`, `Voltage`, `Energy`, ..., or `PowerGood` for a flag listed among voltages."""
    value: float | None
    unit: str | None
    """`Cel`, `W`, `V`, `J`, `kWh`, `RPM` or `Percent` (fans come in either); None for a flag."""
    health: str | None = None
    state: str | None = None
    context: str | None = None
    """What it measures: `GPU`, `Intake`, `PowerSupply`, ..."""
    device: str | None = None
    lower_fatal: float | None = None
    lower_critical: float | None = None
    lower_caution: float | None = None
    upper_caution: float | None = None
    upper_critical: float | None = None
    upper_fatal: float | None = None
    most_allowed: float | None = None
    """Above it the part must not be run."""
    missing: Mapping[str, Missing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RedfishPart:
    """A chassis, a GPU, a card, a power supply, or any other resource that states its health."""

    path: str
    kind: str
    """The resource type: `Chassis`, `PCIeDevice`, `PowerSupply`, `Endpoint`, ..."""
    name: str
    health: str | None
    """`OK`, `Warning`, `Critical`."""
    health_rollup: str | None
    """The worst of it and of what it contains."""
    state: str | None
    """`Enabled`, `Absent`, `Disabled`, ..."""
    manufacturer: str | None = None
    model: str | None = None
    serial_number: str | None = None
    part_number: str | None = None
    uuid: str | None = None
    firmware: str | None = None
    chassis_type: str | None = None
    power_state: str | None = None
    min_power_watts: float | None = None
    max_power_watts: float | None = None
    contained_by: str | None = None


@dataclass(frozen=True, slots=True)
class RedfishPcieLink:
    """The PCIe link above a device. A GPU that talks over C2C may be made for a single lane."""

    path: str
    generation: int | None
    max_generation: int | None
    lanes: int | None
    max_lanes: int | None


@dataclass(frozen=True, slots=True)
class RedfishPowerSupply:
    """What a power supply gives, takes and could give; an idle one of a redundant pair gives 0 W."""

    path: str
    name: str
    output_watts: float | None
    input_watts: float | None
    capacity_watts: float | None
    line_volts: float | None
    health: str | None
    state: str | None
    serial_number: str | None


@dataclass(frozen=True, slots=True)
class RedfishPowerControl:
    """What the whole machine draws, and what it may."""

    path: str
    name: str | None
    consumed_watts: float | None
    capacity_watts: float | None
    limit_watts: float | None
    average_watts: float | None
    min_watts: float | None
    max_watts: float | None
    interval_minutes: float | None


@dataclass(frozen=True, slots=True)
class RedfishRedundancy:
    """A group of parts of which some may fail."""

    path: str
    name: str
    mode: str | None
    needed: int | None
    most: int | None
    members: tuple[str, ...]
    health: str | None
    state: str | None


@dataclass(frozen=True, slots=True)
class RedfishEndpoint:
    """An end of a fabric's link, NVLink for one, and the part that it is."""

    path: str
    name: str
    entity: str | None
    entity_type: str | None
    vendor_id: str | None
    device_id: str | None


@dataclass(frozen=True, slots=True)
class RedfishLogService:
    """A log that exists; its entries are another resource."""

    path: str
    name: str
    latest_entry: str | None
    latest_moment: str | None
    when_full: str | None


@dataclass(frozen=True, slots=True)
class RedfishLog:
    """A list of entries that was read, empty or not."""

    path: str
    name: str
    entries: int


@dataclass(frozen=True, slots=True)
class RedfishLogEntry:
    """One entry. The same event may stand in several logs of one machine: `event` tells."""

    path: str
    number: str
    """The entry's Id."""
    moment: str | None
    severity: str | None
    """As stated, which some BMCs leave at `OK` whatever happened."""
    entry_type: str | None
    message: str
    message_id: str | None
    arguments: tuple[str, ...]
    resolved: bool | None
    sensor: str | None = None
    """Of an entry about a threshold, with what was read and the threshold crossed."""
    value: float | None = None
    threshold: float | None = None

    @property
    def event(self) -> tuple[str, str | None, str]:
        """Equal for entries of two logs that tell the same event: number, moment and message."""
        return self.number, self.moment, self.message


RedfishReading = (
    RedfishSensor
    | RedfishPart
    | RedfishPcieLink
    | RedfishPowerSupply
    | RedfishPowerControl
    | RedfishRedundancy
    | RedfishEndpoint
    | RedfishLogService
    | RedfishLog
    | RedfishLogEntry
)
