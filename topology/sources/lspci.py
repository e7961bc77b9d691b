"""From `lspci -vv` to claims: GPUs, NICs and NVSwitches, their links, and the bridges above them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...incident.ids import ComponentId, bridge_id
from ...parsers.pcie.lspci import PciDevice
from ..claims import ChainClaim, Claim, PartClaim, PcieClaim, Source, Value
from .names import Names

DEEPEST = 16
"""Bridges above one device at most; more is a loop in what was printed."""
LEADS_UP = "Upstream Port"


def claims(readings: Iterable[object], names: Names) -> Iterator[Claim]:
    """What one list says."""
    devices = {reading.address: reading for reading in readings if isinstance(reading, PciDevice)}
    above = {bus(device): device for device in devices.values() if device.secondary is not None}
    bridges: dict[str, PciDevice] = {}
    for device in devices.values():
        part = names.at(device.address)
        if part is None:
            continue
        yield PartClaim(part, part.kind if part.kind in ("gpu", "nvswitch") else "nic", Source.LSPCI, _facts(device))
        if part.kind != "nvswitch":
            chain = _chain(device, above)
            bridges |= {bridge.address: bridge for bridge in chain}
            yield from _links(part, device, chain)
    for bridge in bridges.values():
        if bridge.port_type == LEADS_UP and (link := _link(bridge)):
            yield PcieClaim(bridge_id(names.node, bridge.address), Source.LSPCI, link)


def bus(bridge: PciDevice) -> tuple[str, int | None]:
    """Domain and number of the bus below a bridge."""
    return bridge.address[:4], bridge.secondary


def _chain(device: PciDevice, above: Mapping[tuple[str, int | None], PciDevice]) -> list[PciDevice]:
    """Bridges from the root port down; empty where one of them was not printed."""
    chain: list[PciDevice] = []
    below = device
    while len(chain) < DEEPEST:
        bridge = above.get((below.address[:4], int(below.address[5:7], 16)))
        if bridge is None or bridge is below:
            break
        chain.insert(0, bridge)
        below = bridge
    is_whole = bool(chain) and (chain[0].port_type == "Root Port" or chain[0].address[5:7] == "00")
    return chain if is_whole else []


def _links(part: ComponentId, device: PciDevice, chain: list[PciDevice]) -> Iterator[Claim]:
    if chain or device.numa is not None:
        yield ChainClaim(part, Source.LSPCI, tuple(bridge.address for bridge in chain), device.numa)
    if link := _link(device):
        yield PcieClaim(part / "pcie", Source.LSPCI, link)


def _facts(device: PciDevice) -> Mapping[str, Value]:
    return {"bus_address": device.address}


def _link(device: PciDevice) -> dict[str, Value]:
    told = {
        "speed_gts": device.speed_gts, "width": device.width,
        "max_speed_gts": device.max_speed_gts, "max_width": device.max_width,
    }  # fmt: skip
    return {key: value for key, value in told.items() if value is not None}
