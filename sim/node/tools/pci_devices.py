"""The PCIe devices of a node as lspci names them."""

from __future__ import annotations

from dataclasses import dataclass

from ..machine import Machine


@dataclass(frozen=True)
class PciDevice:
    """One device."""

    address: str
    """`0000:19:00.0`."""
    above: tuple[str, ...]
    """Bridges from the root port down to the one above it."""
    kind: tuple[str, str]
    """Class in words and as a number."""
    model: str
    ids: str
    """`vendor:device`."""
    revision: str
    port: str
    """Sort of PCIe port: Endpoint, Root Port, Upstream Port, Downstream Port."""
    driver: str
    numa: int
    link: str = ""
    """Part of the link above it; empty where nobody reads it."""
    part: str = ""
    """The GPU it is."""

    @property
    def short(self) -> str:
        """Without the domain, as lspci writes it where all domains are 0."""
        return self.address.removeprefix("0000:")

    @property
    def bus(self) -> int:
        """Number of the bus it is on."""
        return int(self.address[5:7], 16)


BRIDGE = ("PCI bridge", "0604")


def pci_devices(machine: Machine) -> list[PciDevice]:
    """All devices, by address."""
    hardware = machine.hardware
    found = [
        PciDevice(
            *(gpu.address, gpu.path, ("3D controller", "0302")),
            *("NVIDIA Corporation GH100 [H100 SXM5 80GB]", "10de:2330", "a1", "Endpoint", "nvidia", gpu.numa),
            *(f"{gpu.name}/pcie", gpu.name),
        )
        for gpu in hardware.gpus
    ]
    for nic in hardware.nics:
        kind = ("Ethernet controller", "0200") if nic.ethernet else ("Infiniband controller", "0207")
        model = "Mellanox Technologies MT2910 Family [ConnectX-7]"
        found.append(
            PciDevice(
                *(nic.address, nic.path, kind, model, "15b3:1021", "", "Endpoint", "mlx5_core", nic.numa),
                f"{nic.name}/pcie",
            )
        )
    for address in hardware.platform.nvswitches:
        model = "NVIDIA Corporation GH100 [H100 NVSwitch]"
        switch = (address, (), ("Bridge", "0680"), model, "10de:22a3", "a1", "Endpoint", "nvidia-nvswitch", 1)
        found.append(PciDevice(*switch))
    found += [_bridge(machine, bridge) for bridge in hardware.bridges]
    return sorted(found, key=lambda device: device.address)


def _bridge(machine: Machine, address: str) -> PciDevice:
    below = next(part for part in (*machine.hardware.gpus, *machine.hardware.nics) if address in part.path)
    depth = below.path.index(address)
    above = below.path[:depth]
    if not above:
        model, ids, revision, port = "Intel Corporation Device", "8086:352a", "30", "Root Port (Slot+)"
    else:
        model, ids, revision = "Broadcom / LSI PEX890xx PCIe Gen 5 Switch", "1000:c030", "b0"
        port = "Upstream Port" if depth == 1 else "Downstream Port (Slot+)"
    return PciDevice(address, above, BRIDGE, model, ids, revision, port, "pcieport", below.numa, f"pcie/{address}")


def buses_below(devices: list[PciDevice], bridge: str) -> tuple[int, int]:
    """First and last bus below a bridge."""
    buses = [device.bus for device in devices if bridge in device.above]
    return min(buses), max(buses)
