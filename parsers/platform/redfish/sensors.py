"""Measured values: Sensor, Thermal, Power, EnvironmentMetrics and ThermalMetrics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...parsed import Missing
from .readings import RedfishReading, RedfishRedundancy, RedfishSensor
from .supplies import power_controls, power_supplies
from .values import Resource, below, name_of, number, objects, path_of, text, whole

_THRESHOLDS = {
    "lower_fatal": ("LowerFatal", "LowerThresholdFatal"),
    "lower_critical": ("LowerCritical", "LowerThresholdCritical"),
    "lower_caution": ("LowerCaution", "LowerThresholdNonCritical"),
    "upper_caution": ("UpperCaution", "UpperThresholdNonCritical"),
    "upper_critical": ("UpperCritical", "UpperThresholdCritical"),
    "upper_fatal": ("UpperFatal", "UpperThresholdFatal"),
}
"""Below `Thresholds` of a Sensor, and beside the value of what Thermal and Power list."""
_METRICS = {
    "PowerWatts": ("Power", "W"),
    "EnergyJoules": ("Energy", "J"),
    "EnergykWh": ("Energy", "kWh"),
    "TemperatureCelsius": ("Temperature", "Cel"),
    "HumidityPercent": ("Humidity", "Percent"),
}
_NOT_THERE = frozenset({"Absent", "Disabled", "StandbyOffline", "UnavailableOffline"})
_POWER_GOOD = re.compile(r"\bPG\b|power good", re.IGNORECASE)


def sensor(resource: Resource) -> Iterator[RedfishReading]:
    """A Sensor: the value is its own `Reading`."""
    kind = text(resource, "ReadingType") or "Sensor"
    yield _measured(resource, kind, number(resource, "Reading"), text(resource, "ReadingUnits"))


def thermal(resource: Resource) -> Iterator[RedfishReading]:
    """Fans in turns a minute or per cent, temperatures, and how redundant the fans are."""
    for fan in objects(resource, "Fans"):
        unit = text(fan, "ReadingUnits", "Units")
        yield _measured(fan, "Fan", number(fan, "Reading", "CurrentReading"), unit)
    for one in objects(resource, "Temperatures"):
        yield _measured(one, "Temperature", number(one, "ReadingCelsius", "CurrentReading"), "Cel")
    yield from _redundancies(resource)


def power(resource: Resource) -> Iterator[RedfishReading]:
    """What the machine draws, its supplies, their redundancy, and voltages."""
    yield from power_controls(resource)
    yield from power_supplies(resource)
    yield from _redundancies(resource)
    for one in objects(resource, "Voltages"):
        value = number(one, "ReadingVolts")
        good = bool(_POWER_GOOD.search(name_of(one))) and value in (0, 1, None)
        yield _measured(one, "PowerGood" if good else "Voltage", value, None if good else "V")


def environment(resource: Resource) -> Iterator[RedfishReading]:
    """EnvironmentMetrics: power, energy and temperature of one part."""
    for name, (kind, unit) in _METRICS.items():
        if metric := below(resource, name):
            path = text(metric, "DataSourceUri") or f"{path_of(resource)}#{name}"
            yield RedfishSensor(path, name, kind, number(metric, "Reading"), unit)
    for fan in objects(resource, "FanSpeedsPercent"):
        yield _measured(fan, "Fan", number(fan, "Reading"), "Percent")


def thermal_metrics(resource: Resource) -> Iterator[RedfishReading]:
    """ThermalMetrics: the temperatures of a chassis, each by the sensor that it is taken from."""
    for one in objects(resource, "TemperatureReadingsCelsius"):
        yield _measured(one, "Temperature", number(one, "Reading"), "Cel")


def _measured(resource: Resource, kind: str, value: float | None, unit: str | None) -> RedfishSensor:
    status = below(resource, "Status")
    state = text(status, "State")
    why = Missing.NOT_APPLICABLE if state in _NOT_THERE else Missing.UNREADABLE
    return RedfishSensor(
        path=path_of(resource),
        name=name_of(resource),
        kind=kind,
        value=value,
        unit=unit,
        health=text(status, "Health"),
        state=state,
        context=text(resource, "PhysicalContext"),
        device=text(resource, "DeviceName"),
        most_allowed=number(resource, "MaxAllowableOperatingValue"),
        missing={} if value is not None else {"value": why},
        **{name: _threshold(resource, *names) for name, names in _THRESHOLDS.items()},
    )


def _threshold(resource: Resource, below_thresholds: str, beside: str) -> float | None:
    nested = number(below(resource, "Thresholds", below_thresholds), "Reading")
    return nested if nested is not None else number(resource, beside)


def _redundancies(resource: Resource) -> Iterator[RedfishReading]:
    for one in objects(resource, "Redundancy"):
        status = below(one, "Status")
        yield RedfishRedundancy(
            path=path_of(one),
            name=name_of(one),
            mode=text(one, "Mode"),
            needed=whole(one, "MinNumNeeded"),
            most=whole(one, "MaxNumSupported"),
            members=tuple(path_of(member) for member in objects(one, "RedundancySet")),
            health=text(status, "Health"),
            state=text(status, "State"),
        )
