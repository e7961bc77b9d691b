"""The PCI functions of a node as printed outputs tell them: what stands above a device, and which part sits where.

What is above comes from the fabric where it knows the whole path, else from the bus numbers that lspci prints: the part
of a path that an excerpt shows is then all there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..incident.ids import ComponentId, NodeId, bridge_id
from ..parsers.pcie.device_places import DevicePlace
from ..parsers.pcie.lspci import PciDevice
from ..topology.fabric import Fabric
from ..topology.sources.names import Names, names_of
from .readings import Readings, Witness, in_order

DEEPEST = 16
"""Bridges above one device at most; more is a loop in what was printed."""


@dataclass(frozen=True)
class PciTree:
    """One node's functions, by bus address."""

    node: NodeId
    fabric: Fabric
    devices: Mapping[str, Witness[PciDevice]]
    """As last printed."""
    places: tuple[Witness[DevicePlace], ...]
    readings: Readings = field(repr=False)
    """All there are, by which parts are named."""

    @cached_property
    def names(self) -> Names:
        """How the node's tools call its parts."""
        told = [one for output in self.readings.outputs if output.node == self.node for one in output.readings]
        return names_of(self.node, told)

    def part_at(self, address: str) -> ComponentId:
        """The GPU, NIC or NVSwitch at an address, else the bridge that it is taken for."""
        known = self.fabric.component_at(self.node, address)
        return known or self.names.at(address) or bridge_id(self.node, address)

    @cached_property
    def peers(self) -> Mapping[str, ComponentId]:
        """The GPUs and NICs of which an address is known, by address: what talks to each other over PCIe."""
        known = {
            address: part
            for part in (*self.fabric.gpus(self.node), *self.fabric.nics(self.node))
            if (address := self.fabric.bus_address(part))
        }
        return {**self.names.gpus, **self.names.nics, **known}

    def above(self, address: str) -> tuple[str, ...]:
        """The bridges above a device, from the root port down as far as anybody tells."""
        told = self.fabric.facts(self.part_at(address)).get("bridges", ())
        if any(":" in bridge for bridge in told):
            return tuple(told)
        place = next((one.reading for one in self.places if one.reading.address == address), None)
        return place.bridges if place and place.bridges else tuple(self._printed_above(address))

    def below(self, bridge: str) -> tuple[ComponentId, ...]:
        """The GPUs and NICs below a bridge."""
        return tuple(part for address, part in self.peers.items() if bridge in self.above(address))

    def _printed_above(self, address: str) -> Iterable[str]:
        by_bus = {
            (device.address[:4], device.secondary): device.address
            for device in (one.reading for one in self.devices.values())
            if device.secondary is not None
        }
        chain: list[str] = []
        while len(chain) < DEEPEST:
            bridge = by_bus.get((address[:4], int(address[5:7], 16)))
            if bridge is None or bridge in chain:
                break
            chain.insert(0, bridge)
            address = bridge
        return chain


def pci_tree(readings: Readings, fabric: Fabric, node: NodeId) -> PciTree:
    """What was printed of one node; without devices where nothing was."""
    latest = {one.reading.address: one for one in in_order(readings.of(PciDevice, node))}
    return PciTree(node, fabric, latest, readings.of(DevicePlace, node), readings)


def pci_trees(readings: Readings, fabric: Fabric) -> Iterator[PciTree]:
    """The tree of each node of which functions or a list of addresses were printed."""
    for node in readings.nodes:
        tree = pci_tree(readings, fabric, node)
        if tree.devices or tree.places:
            yield tree


def short(address: str) -> str:
    """An address as people say it: without the domain where that is 0."""
    return address.removeprefix("0000:")
