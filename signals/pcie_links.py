"""PCIe links from a device up to its root port, each with the two ends that decide what it can do.

`pcie_path` names bridges from the root port down. A switch is two of them (upstream port, downstream port) with no link
between, so the links above a device are: device and last bridge, then every second pair above.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..incident.ids import ComponentId, bridge_id
from ..incident.snapshot import FactValue
from .identity import cached_by_identity


@dataclass(frozen=True, slots=True)
class PcieLink:
    """One link, named after its lower end."""

    id: ComponentId
    """`node/gpu3/pcie`, or `node/pcie/BDF` of an upstream port."""
    device: ComponentId | None
    """The GPU or NIC at its lower end; None between a switch and what is above it."""
    upper: ComponentId | None
    """The port at its upper end; None where the path is not known."""
    max_width: float
    """What both ends could do, lanes; 0 where not known."""
    own_width: float
    """What the lower end alone could do."""
    max_speed: float
    """GT/s, likewise."""


@cached_by_identity(1024)
def pcie_links(facts: Mapping[tuple[ComponentId, str], FactValue]) -> tuple[PcieLink, ...]:
    """The links above the GPUs and NICs of a node, each once."""
    found: dict[ComponentId, PcieLink] = {}
    devices = {part for part, key in facts if key in ("pcie_path", "bus_address") and part.kind in ("gpu", "nic")}
    for device in sorted(devices):
        path = str(facts.get((device, "pcie_path")) or "")
        bridges = [bridge_id(device.node, address) for address in path.split("/") if address]
        lower: list[ComponentId] = [device / "pcie", *bridges[-2::-2]]
        upper: list[ComponentId] = bridges[-1::-2]
        for at, link in enumerate(lower):
            above = upper[at] if at < len(upper) else None
            if above is None and at:
                continue
            found[link] = _link(facts, link, device if at == 0 else None, above)
    return tuple(found.values())


def _link(
    facts: Mapping[tuple[ComponentId, str], FactValue],
    link: ComponentId,
    device: ComponentId | None,
    upper: ComponentId | None,
) -> PcieLink:
    own, above = _most(facts, link, "max_width"), _most(facts, upper, "max_width")
    speed, speed_above = _most(facts, link, "max_speed_gts"), _most(facts, upper, "max_speed_gts")
    return PcieLink(link, device, upper, _both(own, above), own, _both(speed, speed_above))


def _most(facts: Mapping[tuple[ComponentId, str], FactValue], part: ComponentId | None, key: str) -> float:
    value = None if part is None else facts.get((part, key))
    return float(value) if isinstance(value, int | float) else 0.0


def _both(one: float, other: float) -> float:
    """The lesser of two limits of which either may be unknown."""
    return min(one, other) if one and other else one or other
