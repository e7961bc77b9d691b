"""The bridges above each PCI device, from the bus numbers that lspci prints of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...parsers.pcie.lspci import PciDevice

DEEPEST = 16
"""Bridges above one device at most; more is a loop in what was printed."""


def chains_of(devices: Iterable[PciDevice]) -> Mapping[str, tuple[PciDevice, ...]]:
    """By address, root port first; empty where a bridge on the way was not printed."""
    known = list(devices)
    above = {_below(device): device for device in known if device.secondary is not None}
    return {device.address: _chain(device, above) for device in known}


def _below(bridge: PciDevice) -> tuple[str, int | None]:
    """Domain and number of the bus below a bridge."""
    return bridge.address[:4], bridge.secondary


def _chain(device: PciDevice, above: Mapping[tuple[str, int | None], PciDevice]) -> tuple[PciDevice, ...]:
    chain: list[PciDevice] = []
    below = device
    while len(chain) < DEEPEST:
        bridge = above.get((below.address[:4], int(below.address[5:7], 16)))
        if bridge is None or bridge is below:
            break
        chain.insert(0, bridge)
        below = bridge
    is_whole = bool(chain) and (chain[0].port_type == "Root Port" or chain[0].address[5:7] == "00")
    return tuple(chain) if is_whole else ()
