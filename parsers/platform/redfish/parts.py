"""Parts of a machine: chassis, PCIe devices, power supplies, endpoints, and whatever else states its health."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .readings import RedfishEndpoint, RedfishPart, RedfishPcieLink, RedfishReading
from .supplies import power_supply
from .values import Resource, below, name_of, number, objects, path_of, text, type_of, whole

_GENERATION = re.compile(r"Gen(\d)")


def part(resource: Resource) -> Iterator[RedfishReading]:
    """Identity and health."""
    status = below(resource, "Status")
    yield RedfishPart(
        path=path_of(resource),
        kind=type_of(resource),
        name=name_of(resource),
        health=text(status, "Health"),
        health_rollup=text(status, "HealthRollup"),
        state=text(status, "State"),
        manufacturer=text(resource, "Manufacturer"),
        model=text(resource, "Model"),
        serial_number=text(resource, "SerialNumber"),
        part_number=text(resource, "PartNumber"),
        uuid=text(resource, "UUID"),
        firmware=text(resource, "FirmwareVersion"),
        chassis_type=text(resource, "ChassisType"),
        power_state=text(resource, "PowerState"),
        min_power_watts=number(resource, "MinPowerWatts"),
        max_power_watts=number(resource, "MaxPowerWatts"),
        contained_by=text(below(resource, "Links", "ContainedBy"), "@odata.id"),
    )


def pcie_device(resource: Resource) -> Iterator[RedfishReading]:
    """A device with the link above it."""
    yield from part(resource)
    if link := below(resource, "PCIeInterface"):
        yield RedfishPcieLink(
            path=path_of(resource),
            generation=_generation(text(link, "PCIeType")),
            max_generation=_generation(text(link, "MaxPCIeType")),
            lanes=whole(link, "LanesInUse"),
            max_lanes=whole(link, "MaxLanes"),
        )


def supply(resource: Resource) -> Iterator[RedfishReading]:
    """A power supply that is a resource of its own."""
    yield from part(resource)
    yield power_supply(resource)


def endpoint(resource: Resource) -> Iterator[RedfishReading]:
    """An end of a fabric's links with each part that it connects."""
    yield from part(resource)
    for entity in objects(resource, "ConnectedEntities"):
        ids = below(entity, "EntityPciId")
        yield RedfishEndpoint(
            path=path_of(resource),
            name=name_of(resource),
            entity=text(below(entity, "EntityLink"), "@odata.id"),
            entity_type=text(entity, "EntityType"),
            vendor_id=_id(text(ids, "VendorId")),
            device_id=_id(text(ids, "DeviceId")),
        )


def _generation(words: str | None) -> int | None:
    found = _GENERATION.fullmatch(words or "")
    return int(found[1]) if found else None


def _id(words: str | None) -> str | None:
    """`0x2342` -> `2342`, as lspci writes it."""
    return words.lower().removeprefix("0x") if words else None
