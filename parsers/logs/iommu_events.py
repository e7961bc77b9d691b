"""The IOMMU and the firmware's hold on PCIe in the kernel log: whether addresses are translated, which were refused.

Source: Linux drivers/iommu/iommu.c, intel/dmar.c and amd/iommu.c for the wording, before and after 5.11; drivers/acpi
/pci_root.c for `_OSC`; capture kernel-log/dmesg-boot-rtxpro6000-595.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..kernel_command_line import KernelCommandLine, command_line_of
from ..pci import bus_address


@dataclass(frozen=True, slots=True)
class IommuOn:
    """The kernel found an IOMMU and switched it on: `DMAR: IOMMU enabled`, `AMD-Vi: Found IOMMU ...`."""

    maker: str
    """`Intel` or `AMD`."""


@dataclass(frozen=True, slots=True)
class IommuDomains:
    """`iommu: Default domain type: Translated`: what devices get that nothing else is said of."""

    translated: bool
    """False of `Passthrough`: devices reach memory at its own addresses."""


@dataclass(frozen=True, slots=True)
class IommuFault:
    """The IOMMU refused what a device asked for."""

    pci: str
    write: bool | None
    """None where the line does not say."""


@dataclass(frozen=True, slots=True)
class FirmwareKeeps:
    """`_OSC: platform does not support [AER LTR DPC]`: what the firmware does not hand to the kernel."""

    features: tuple[str, ...]


IommuEvent: TypeAlias = IommuOn | IommuDomains | IommuFault | FirmwareKeeps | KernelCommandLine

_BDF = r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_ON = re.compile(
    r"DMAR: (?:IOMMU enabled|Intel\(R\) Virtualization Technology for Directed I/O)"
    r"|(?:pci \S{1,16}: )?AMD-Vi: Found IOMMU"
)
_DOMAINS = re.compile(r"iommu: Default domain type: (Translated|Passthrough)")
_INTEL_FAULT = re.compile(rf"DMAR: ?\[DMA (Write|Read)[^\]]{{0,40}}\] Request device \[({_BDF})\]")
_AMD_FAULT = re.compile(rf"(?:\S{{1,32}} ({_BDF}): )?AMD-Vi: Event logged \[IO_PAGE_FAULT (?:device=({_BDF}) )?")
_FIRMWARE = re.compile(r"_OSC: platform does not support \[([A-Za-z ]{1,120})\]")
_COMMAND_LINE = re.compile(r"(?:Kernel c|C)ommand line: (\S.{0,4000})")


def _on(message: str) -> IommuOn | None:
    found = _ON.match(message)
    return IommuOn("AMD" if "AMD-Vi" in found[0] else "Intel") if found else None


def _domains(message: str) -> IommuDomains | None:
    found = _DOMAINS.match(message)
    return IommuDomains(found[1] == "Translated") if found else None


def _fault(message: str) -> IommuFault | None:
    if found := _INTEL_FAULT.search(message):
        address = bus_address(found[2])
        return IommuFault(address, found[1] == "Write") if address else None
    found = _AMD_FAULT.search(message)
    address = bus_address(found[1] or found[2] or "") if found else None
    return IommuFault(address, None) if address else None


def _firmware(message: str) -> FirmwareKeeps | None:
    found = _FIRMWARE.search(message)
    return FirmwareKeeps(tuple(found[1].split())) if found else None


def _command_line(message: str) -> KernelCommandLine | None:
    found = _COMMAND_LINE.match(message)
    return command_line_of(found[1]) if found else None


READERS: tuple[tuple[str, Callable[[str], IommuEvent | None]], ...] = (
    ("DMAR: IOMMU enabled", _on),
    ("DMAR: Intel(R) Virt", _on),
    ("AMD-Vi: Found IOMMU", _on),
    ("Default domain type", _domains),
    ("Request device [", _fault),
    ("IO_PAGE_FAULT", _fault),
    ("_OSC: platform does not support", _firmware),
    ("ommand line: ", _command_line),
)
"""A word that is cheap to look for, and who reads the line when it is there."""
