"""From what log lines name (bus addresses, switch ports) to parts, by the facts of the node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..incident.ids import ComponentId, NodeId, bridge_id
from ..incident.snapshot import FactValue
from ..parsers.pci import bus_address
from .identity import cached_by_identity

Facts = Mapping[tuple[ComponentId, str], FactValue]


@dataclass(frozen=True, slots=True, eq=False)
class Bus:
    """The addresses of one node."""

    parts: Mapping[str, ComponentId]
    """GPU, NIC or NVSwitch at each bus address."""
    lanes: Mapping[tuple[str, int], ComponentId]
    """GPU lane that ends at (address of the NVSwitch, port)."""
    wired: frozenset[ComponentId]
    """Lanes that are known to be wired to something."""

    def part_at(self, node: NodeId, address: str) -> ComponentId:
        """The part at an address; the bare PCIe address where nothing known sits there."""
        return self.parts.get(address) or bridge_id(node, address)


@cached_by_identity(1024)
def bus_of(facts: Facts) -> Bus:
    """The addresses that a node's facts tell."""
    parts: dict[str, ComponentId] = {}
    ends: dict[ComponentId, tuple[str, int]] = {}
    wired: set[ComponentId] = set()
    for (component, key), value in facts.items():
        if key == "bus_address" and (address := bus_address(str(value))):
            parts[address] = component
        elif key == "remote_type" and value:
            wired.add(component)
        elif key == "remote_port" and isinstance(value, int):
            ends[component] = (bus_address(str(facts.get((component, "remote_address")))) or "", value)
    return Bus(parts, {end: lane for lane, end in ends.items()}, frozenset(wired))
