"""Power supplies, and what the machine draws of them."""

from __future__ import annotations

from collections.abc import Iterator

from .readings import RedfishPowerControl, RedfishPowerSupply
from .values import Resource, below, name_of, number, objects, path_of, text


def power_supplies(resource: Resource) -> Iterator[RedfishPowerSupply]:
    """The supplies that Power lists."""
    for one in objects(resource, "PowerSupplies"):
        yield power_supply(one)


def power_supply(resource: Resource) -> RedfishPowerSupply:
    """One supply, of Power or of its own resource."""
    status = below(resource, "Status")
    return RedfishPowerSupply(
        path=path_of(resource),
        name=name_of(resource),
        output_watts=number(resource, "PowerOutputWatts", "LastPowerOutputWatts"),
        input_watts=number(resource, "PowerInputWatts"),
        capacity_watts=number(resource, "PowerCapacityWatts"),
        line_volts=number(resource, "LineInputVoltage"),
        health=text(status, "Health"),
        state=text(status, "State"),
        serial_number=text(resource, "SerialNumber"),
    )


def power_controls(resource: Resource) -> Iterator[RedfishPowerControl]:
    """What the machine draws, now and over an interval."""
    for one in objects(resource, "PowerControl"):
        metrics = below(one, "PowerMetrics")
        yield RedfishPowerControl(
            path=path_of(one),
            name=text(one, "Name"),
            consumed_watts=number(one, "PowerConsumedWatts"),
            capacity_watts=number(one, "PowerCapacityWatts"),
            limit_watts=number(below(one, "PowerLimit"), "LimitInWatts"),
            average_watts=number(metrics, "AverageConsumedWatts"),
            min_watts=number(metrics, "MinConsumedWatts"),
            max_watts=number(metrics, "MaxConsumedWatts"),
            interval_minutes=number(metrics, "IntervalInMin"),
        )
