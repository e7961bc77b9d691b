"""PCIe in the kernel log: errors that AER reports, links that were cut, devices behind a narrow link.

Source: captures kernel-log/dmesg-aer-*, dmesg-pcie-limited-*; Linux drivers/pci/pcie/aer.c, dpc.c and
drivers/pci/hotplug/pciehp_ctrl.c for the wording of kernels before and after 6.8 ("Corrected error received: A",
"Correctable error message received from A").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..pci import bus_address
from .xid import PCI


@dataclass(frozen=True, slots=True)
class PcieError:
    """An error that PCIe Advanced Error Reporting logged."""

    pci: str
    """The device that had the error."""
    severity: str
    """`corrected`, `nonfatal` or `fatal`."""
    layer: str
    """`Physical Layer`, `Data Link Layer`, `Transaction Layer`, or empty."""


@dataclass(frozen=True, slots=True)
class PcieReported:
    """A port passes on that a device below it had an error: `AER: Corrected error received: 0000:02:00.0`."""

    reporter: str
    """The port that reports, which is not at fault by that."""
    pci: str
    """The device that had the error."""
    severity: str
    several: bool
    """`Multiple ...`: more than one since the last report."""


@dataclass(frozen=True, slots=True)
class PcieErrorBit:
    """One bit of a device's AER status: `[ 0] RxErr (First)`."""

    pci: str
    bit: int
    name: str
    first: bool


@dataclass(frozen=True, slots=True)
class PcieContained:
    """Downstream port containment cut the link below a port, or hot-plug saw it go down."""

    pci: str
    text: str


@dataclass(frozen=True, slots=True)
class PcieRecovery:
    """How the kernel's attempt to recover the devices below a port ended."""

    pci: str
    succeeded: bool


@dataclass(frozen=True, slots=True)
class PcieRemoved:
    """The kernel let a device go: after a link was cut, or because somebody asked for it."""

    pci: str


@dataclass(frozen=True, slots=True)
class PcieLimited:
    """`252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at ...`."""

    pci: str
    available_gbps: float
    speed_gts: float
    width: int
    at: str
    """The port above which the link is the narrow one."""
    capable_gbps: float
    capable_speed_gts: float
    capable_width: int
    driver: str = ""
    """What speaks for the device: `mlx5_core`; `pci` where none is bound yet."""


PcieEvent: TypeAlias = (
    PcieError | PcieReported | PcieErrorBit | PcieContained | PcieRecovery | PcieRemoved | PcieLimited
)

_DEVICE = rf"\S{{1,32}} ({PCI}): (?:AER: )?"
_WORDS = r"(Correct(?:ed|able)|Uncorrect(?:ed|able) \((?:Non-Fatal|Fatal)\))"
_ERROR = re.compile(rf"{_DEVICE}PCIe Bus Error: severity={_WORDS}(?:, type=([\w ]{{1,32}}))?")
_REPORTED = re.compile(rf"{_DEVICE}(Multiple )?{_WORDS} error (?:message )?received(?:: | from )({PCI})")
_BIT = re.compile(rf"{_DEVICE}\s{{1,8}}\[\s?(\d{{1,2}})\] (\w{{1,32}})(\s{{1,40}}\(First\))?")
_CONTAINED = re.compile(rf"pcieport ({PCI}): (DPC: containment event.*|pciehp: Slot\(\S{{1,16}}\): Link Down)")
_RECOVERY = re.compile(rf"{_DEVICE}[Dd]evice recovery (failed|successful)")
_REMOVED = re.compile(rf"pci ({PCI}): Removing from iommu group")
_NUMBER = r"([\d.]{1,12})"
_LINK = rf"{_NUMBER} GT/s PCIe x(\d{{1,2}}) link"
_LIMITED = re.compile(
    rf"(\S{{1,32}}) ({PCI}): {_NUMBER} Gb/s available PCIe bandwidth, limited by {_LINK} at ({PCI}) "
    rf"\(capable of {_NUMBER} Gb/s with {_LINK}\)"
)


def _severity(words: str) -> str:
    if words.startswith("Correct"):
        return "corrected"
    return "nonfatal" if "Non-Fatal" in words else "fatal"


def _error(message: str) -> PcieError | None:
    found = _ERROR.search(message)
    address = bus_address(found[1]) if found else None
    return PcieError(address, _severity(found[2]), (found[3] or "").strip()) if found and address else None


def _reported(message: str) -> PcieReported | None:
    found = _REPORTED.search(message)
    if not found:
        return None
    reporter, device = bus_address(found[1]), bus_address(found[4])
    return PcieReported(reporter, device, _severity(found[3]), bool(found[2])) if reporter and device else None


def _bit(message: str) -> PcieErrorBit | None:
    found = _BIT.search(message)
    address = bus_address(found[1]) if found else None
    return PcieErrorBit(address, int(found[2]), found[3], bool(found[4])) if found and address else None


def _contained(message: str) -> PcieContained | None:
    found = _CONTAINED.search(message)
    address = bus_address(found[1]) if found else None
    return PcieContained(address, found[2].strip()) if found and address else None


def _recovery(message: str) -> PcieRecovery | None:
    found = _RECOVERY.search(message)
    address = bus_address(found[1]) if found else None
    return PcieRecovery(address, found[2] == "successful") if found and address else None


def _removed(message: str) -> PcieRemoved | None:
    found = _REMOVED.match(message)
    address = bus_address(found[1]) if found else None
    return PcieRemoved(address) if address else None


def _limited(message: str) -> PcieLimited | None:
    found = _LIMITED.search(message)
    if not found:
        return None
    device, port = bus_address(found[2]), bus_address(found[6])
    numbers = [_float(found[group]) for group in (3, 4, 7, 8)]
    if not device or not port or None in numbers:
        return None
    available, speed, capable, capable_speed = (number or 0.0 for number in numbers)
    width, capable_width = int(found[5]), int(found[9])
    return PcieLimited(device, available, speed, width, port, capable, capable_speed, capable_width, found[1])


def _float(text: str) -> float | None:
    return float(text) if text.count(".") <= 1 and text.strip(".") else None


READERS: tuple[tuple[str, Callable[[str], PcieEvent | None]], ...] = (
    ("PCIe Bus Error", _error),
    ("error received: ", _reported),
    ("error message received from ", _reported),
    (":    [", _bit),
    ("pcieport", _contained),
    ("evice recovery", _recovery),
    ("Removing from iommu group", _removed),
    ("available PCIe bandwidth", _limited),
)
"""A word that is cheap to look for, and who reads the line when it is there."""
