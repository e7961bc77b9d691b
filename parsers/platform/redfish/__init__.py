"""Redfish: resources of a BMC as it serves them, one or several in a text.

What a resource is, its `@odata.type` says; of a type that is not known here its health is read where it states one.
Source: captures platform/redfish-* (Dell, HPE, NVIDIA GH200), and the DMTF schemas that their types name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...json_document import read_document
from ...parsed import Parsed
from ...plain import without_escapes
from ...tool import Tool
from .logs import log, log_entry, log_service
from .parts import endpoint, part, pcie_device, supply
from .readings import RedfishReading
from .sensors import environment, power, sensor, thermal, thermal_metrics
from .values import Resource, objects, path_of, type_of

DEEPEST = 4
"""Lists of resources within lists that are followed."""

_READERS: dict[str, Callable[[Resource], Iterator[RedfishReading]]] = {
    "Chassis": part,
    "Endpoint": endpoint,
    "EnvironmentMetrics": environment,
    "LogEntry": log_entry,
    "LogEntryCollection": log,
    "LogService": log_service,
    "PCIeDevice": pcie_device,
    "Power": power,
    "PowerSupply": supply,
    "Sensor": sensor,
    "Thermal": thermal,
    "ThermalMetrics": thermal_metrics,
}


def parse_redfish(text: str) -> Parsed[RedfishReading]:
    """Read a resource, a collection with its members, or a list of resources."""
    parsed = Parsed[RedfishReading]()
    for document in read_document(without_escapes(text), parsed):
        for resource in _resources(document, DEEPEST):
            _read(resource, parsed)
    return parsed


def _resources(document: Any, depth: int) -> Iterator[Resource]:
    """The resources of a document: itself, its members, or what it holds by path."""
    if depth == 0:
        return
    if isinstance(document, list):
        for one in document:
            yield from _resources(one, depth - 1)
    elif isinstance(document, dict) and (type_of(document) or path_of(document)):
        members = objects(document, "Members")
        if type_of(document) in _READERS or not members:
            yield document
        for member in members if type_of(document) not in _READERS else ():
            yield from _resources(member, depth - 1)
    elif isinstance(document, dict):
        for one in document.values():
            yield from _resources(one, depth - 1)


def _read(resource: Resource, parsed: Parsed[RedfishReading]) -> None:
    kind = type_of(resource)
    reader = _READERS.get(kind) or (part if isinstance(resource.get("Status"), dict) else None)
    if reader is None:
        parsed.cannot_read(1, f"{path_of(resource)} {kind}", "no kind of resource that is known, and states no health")
        return
    for reading in reader(resource):
        parsed.add(reading)


def _recognizes(head: str) -> bool:
    begins = without_escapes(head).lstrip("\ufeff \t\r\n")[:1] in ("{", "[")
    return begins and ('"@odata.' in head or '"/redfish/v1' in head)


TOOL = Tool("Redfish", _recognizes, parse_redfish, file_names=("*redfish*", "*bmc*.json"))
