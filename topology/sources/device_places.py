"""From lists of PCI addresses to claims: which NIC or GPU sits where, and the bridges above it where a path says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...parsers.pcie.device_places import DevicePlace
from ..claims import ChainClaim, Claim, PartClaim, Source
from .names import Names


def claims(readings: Iterable[object], names: Names) -> Iterator[Claim]:
    """What such lists say. A path of which no name is known belongs to whatever part is known to sit there."""
    for reading in readings:
        if not isinstance(reading, DevicePlace):
            continue
        part = names.at(reading.address)
        if part is None:
            continue
        kind = part.kind if part.kind in ("gpu", "nvswitch") else "nic"
        yield PartClaim(part, kind, Source.SYSFS, {"bus_address": reading.address})
        if reading.bridges and kind != "nvswitch":
            yield ChainClaim(part, Source.SYSFS, reading.bridges)
