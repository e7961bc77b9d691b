"""From `lspci -vv` to claims: GPUs, NICs and NVSwitches, their links, and the bridges above them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...incident.ids import ComponentId, bridge_id
from ...parsers.pcie.lspci import PciDevice
from ..claims import ChainClaim, Claim, PartClaim, PcieClaim, Source, Value
from .names import Names
from .pci_chains import chains_of

LEADS_UP = "Upstream Port"


def claims(readings: Iterable[object], names: Names) -> Iterator[Claim]:
    """What one list says."""
    devices = {reading.address: reading for reading in readings if isinstance(reading, PciDevice)}
    chains = chains_of(devices.values())
    bridges: dict[str, PciDevice] = {}
    for device in devices.values():
        part = names.at(device.address)
        if part is None:
            continue
        yield PartClaim(part, part.kind if part.kind in ("gpu", "nvswitch") else "nic", Source.LSPCI, _facts(device))
        if part.kind != "nvswitch":
            chain = chains[device.address]
            bridges |= {bridge.address: bridge for bridge in chain}
            yield from _links(part, device, chain)
    for bridge in bridges.values():
        if bridge.port_type == LEADS_UP and (link := _link(bridge)):
            yield PcieClaim(bridge_id(names.node, bridge.address), Source.LSPCI, link)


def _links(part: ComponentId, device: PciDevice, chain: tuple[PciDevice, ...]) -> Iterator[Claim]:
    if chain or device.numa is not None:
        yield ChainClaim(part, Source.LSPCI, tuple(bridge.address for bridge in chain), device.numa)
    if link := _link(device):
        yield PcieClaim(part / "pcie", Source.LSPCI, link)


def _facts(device: PciDevice) -> Mapping[str, Value]:
    told: dict[str, Value] = {"bus_address": device.address}
    if model := _model(device.name):
        told["model"] = model
    if not device.answers:
        told["answers"] = False
    return told


def _model(name: str) -> str:
    """`H100 SXM5 80GB` of `NVIDIA Corporation GH100 [H100 SXM5 80GB]`, `ConnectX-7` of `MT2910 Family [ConnectX-7]`."""
    return name.rpartition("[")[2].partition("]")[0].strip() if name.endswith("]") else ""


def _link(device: PciDevice) -> dict[str, Value]:
    told = {
        "speed_gts": device.speed_gts, "width": device.width,
        "max_speed_gts": device.max_speed_gts, "max_width": device.max_width,
    }  # fmt: skip
    return {key: value for key, value in told.items() if value is not None}
