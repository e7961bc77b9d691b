"""Kernel log lines about GPUs, NVSwitches, PCIe links and NICs, as typed readings.

Most lines of a kernel log are about something else and are passed over; a line that opens as one of ours and then
breaks off is noted as unread. Source: captures kernel-log/*; xid.toml and sxid.toml `log_patterns`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from .log_stamp import Stamp, split_stamp
from .parsed import Parsed, numbered
from .pci import bus_address

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Xid:
    """`NVRM: Xid (PCI:0000:52:00): 48, pid=7, name=python, ...`: the driver reports a GPU error."""

    pci: str
    code: int
    text: str
    """What follows the code, without pid and name."""
    pid: int | None = None
    process: str = ""
    """The process that noticed, which is seldom the one to blame."""
    link: int | None = None
    """NVLink number, where the line names one."""
    cause: int | None = None
    """The earlier Xid this one is said to follow (driver 590 and later)."""
    mig_instance: int | None = None


@dataclass(frozen=True, slots=True)
class SXid:
    """`nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 ...`: an NVSwitch error."""

    switch: int
    pci: str
    code: int
    severity: str
    """`fatal`, `nonfatal`, or empty on the lines that only add data to the one before."""
    link: int | None
    """Port of the switch."""
    text: str

    @property
    def continues(self) -> bool:
        """True for a line that adds registers to an event already printed."""
        return not self.severity and self.text.startswith(("Data {", "Severity "))


@dataclass(frozen=True, slots=True)
class OffBus:
    """The driver says that a GPU has fallen off the bus, with no Xid on the line."""

    pci: str


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
class PcieContained:
    """Downstream port containment cut the link below a port, or hot-plug saw it go down."""

    pci: str
    text: str


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


@dataclass(frozen=True, slots=True)
class NicLink:
    """The mlx5 driver says that a port's link went up or down."""

    pci: str
    name: str
    """The interface or RDMA device the line names: `enp83s0f0np0`, `mlx5_3`, `ib0`."""
    up: bool


KernelReading: TypeAlias = Xid | SXid | OffBus | PcieError | PcieContained | PcieLimited | NicLink


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A reading with its place and time in the log."""

    number: int
    stamp: Stamp | None
    reading: KernelReading


_PCI = r"[0-9a-fA-F:.]{5,16}"
_XID = re.compile(rf"NVRM: Xid \((?:PCI:)?({_PCI})(?: GPU-I:(\d+))?\): (\d{{1,4}})(?:,\s*(.*))?$", re.DOTALL)
_PID = re.compile(r"pid=('?[^',]*'?)(?:,\s*|$)")
_NAME = re.compile(r"name=([^,]*)(?:,\s*|$)")
_XID_LINK = re.compile(r"\blink (-?\d{1,3})\b", re.IGNORECASE)
_XID_CAUSE = re.compile(r"caused by previous Xid (\d{1,4})\b")
_SXID = re.compile(rf"nvidia-nvswitch(\d{{1,3}}): SXid \((?:PCI:)?({_PCI})\): (\d{{1,6}})(?:,\s*(.*))?$", re.DOTALL)
_SXID_BODY = re.compile(r"(Non-fatal|Fatal)(?:,\s*(?:Link (\d{1,3})\b)?\s*(.*))?$", re.DOTALL | re.IGNORECASE)
_OFF_BUS = re.compile(rf"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?({_PCI})(?::|\b).*fallen off the bus", re.DOTALL)
_OFF_BUS_HEAD = re.compile(rf"NVRM: The NVIDIA GPU ({_PCI})\s*$")
_OFF_BUS_MIDDLE = re.compile(r"NVRM: \(PCI ID: [0-9a-fA-F:]{9}\) installed in this system has\s*$")
_OFF_BUS_TAIL = re.compile(r"NVRM: fallen off the bus")
_AER = re.compile(
    rf"\S{{1,32}} ({_PCI}): (?:AER: )?PCIe Bus Error: severity=(Corrected|Uncorrected \((?:Non-Fatal|Fatal)\))"
    r"(?:, type=([\w ]{1,32}))?"
)
_CONTAINED = re.compile(rf"pcieport ({_PCI}): (DPC: containment event.*|pciehp: Slot\(\S{{1,16}}\): Link Down)")
_NUMBER = r"([\d.]{1,12})"
_LINK = rf"{_NUMBER} GT/s PCIe x(\d{{1,2}}) link"
_LIMITED = re.compile(
    rf"\S{{1,32}} ({_PCI}): {_NUMBER} Gb/s available PCIe bandwidth, limited by {_LINK} at ({_PCI}) "
    rf"\(capable of {_NUMBER} Gb/s with {_LINK}\)"
)
_NIC_LINK = re.compile(
    rf"mlx5_core ({_PCI}) (\S{{1,32}}): (?:Port: \d{{1,2}} )?Link (up|down|active)\b",
    re.IGNORECASE,
)

_OPENINGS = ("NVRM: Xid", ": SXid (")


def read_kernel_log(text: str) -> Parsed[KernelLine]:
    """Read a whole kernel log in any of its time forms."""
    parsed = Parsed[KernelLine]()
    stamps: dict[int, Stamp | None] = {}

    def messages() -> Iterator[tuple[int, str]]:
        for number, line in numbered(text):
            stamps[number], message = split_stamp(line)
            if is_broken(message):
                parsed.cannot_read(number, line, "an Xid or SXid line that breaks off")
            yield number, message

    for number, reading in read_messages(messages()):
        parsed.add(KernelLine(number, stamps[number], reading))
    return parsed


def read_messages(messages: Iterable[tuple[K, str]]) -> Iterator[tuple[K, KernelReading]]:
    """Readings of messages in their order, each with the key of its line.

    A GPU that fell off the bus may be told in three lines, of which the first names the GPU; that line's key is given.
    """
    pending: tuple[K, str] | None = None
    for key, message in messages:
        if head := _OFF_BUS_HEAD.match(message):
            pending = (key, head[1])
        elif pending and _OFF_BUS_TAIL.match(message):
            if address := bus_address(pending[1]):
                yield pending[0], OffBus(address)
            pending = None
        elif not _OFF_BUS_MIDDLE.match(message) and (reading := read_message(message)):
            pending = None
            yield key, reading


def read_message(message: str) -> KernelReading | None:
    """The reading of one message without its time; None where it is about something else."""
    for mark, read in _READERS:
        if mark in message and (reading := read(message)):
            return reading
    return None


def is_broken(message: str) -> bool:
    """True for a message that opens as an Xid or SXid and can't be read as one."""
    return any(opening in message for opening in _OPENINGS) and read_message(message) is None


def _xid(message: str) -> Xid | None:
    found = _XID.search(message)
    address = bus_address(found[1]) if found else None
    if not found or not address:
        return None
    text = found[4] or ""
    pid = process = ""
    if named := _PID.match(text):
        pid, text = named[1], text[named.end() :]
    if named := _NAME.match(text):
        process, text = named[1], text[named.end() :]
    link, cause = _XID_LINK.search(text), _XID_CAUSE.search(text)
    return Xid(
        pci=address,
        code=int(found[3]),
        text=text.strip(),
        pid=int(pid) if pid.isdecimal() and len(pid) < 12 else None,
        process="" if process == "<unknown>" else process,
        link=int(link[1]) if link and int(link[1]) >= 0 else None,
        cause=int(cause[1]) if cause else None,
        mig_instance=int(found[2]) if found[2] else None,
    )


def _sxid(message: str) -> SXid | None:
    found = _SXID.search(message)
    address = bus_address(found[2]) if found else None
    if not found or not address:
        return None
    rest = (found[4] or "").strip()
    body = _SXID_BODY.match(rest)
    return SXid(
        switch=int(found[1]),
        pci=address,
        code=int(found[3]),
        severity=body[1].lower().replace("-", "") if body else "",
        link=int(body[2]) if body and body[2] else None,
        text=(body[3] or "").strip() if body else rest,
    )


def _off_bus(message: str) -> OffBus | None:
    found = _OFF_BUS.search(message)
    address = bus_address(found[1].rstrip(":")) if found else None
    return OffBus(address) if address else None


def _pcie_error(message: str) -> PcieError | None:
    found = _AER.search(message)
    address = bus_address(found[1]) if found else None
    if not found or not address:
        return None
    words = {"Corrected": "corrected", "Uncorrected (Fatal)": "fatal", "Uncorrected (Non-Fatal)": "nonfatal"}
    return PcieError(address, words[found[2]], (found[3] or "").strip())


def _contained(message: str) -> PcieContained | None:
    found = _CONTAINED.search(message)
    address = bus_address(found[1]) if found else None
    return PcieContained(address, found[2].strip()) if found and address else None


def _limited(message: str) -> PcieLimited | None:
    found = _LIMITED.search(message)
    if not found:
        return None
    device, port = bus_address(found[1]), bus_address(found[5])
    numbers = [_float(found[group]) for group in (2, 3, 6, 7)]
    if not device or not port or None in numbers:
        return None
    available, speed, capable, capable_speed = (number or 0.0 for number in numbers)
    return PcieLimited(device, available, speed, int(found[4]), port, capable, capable_speed, int(found[8]))


def _nic_link(message: str) -> NicLink | None:
    found = _NIC_LINK.search(message)
    address = bus_address(found[1]) if found else None
    return NicLink(address, found[2], found[3].lower() != "down") if found and address else None


def _float(text: str) -> float | None:
    return float(text) if text.count(".") <= 1 and text.strip(".") else None


_READERS: tuple[tuple[str, Callable[[str], KernelReading | None]], ...] = (
    ("NVRM: Xid", _xid),
    ("SXid", _sxid),
    ("fallen off the bus", _off_bus),
    ("PCIe Bus Error", _pcie_error),
    ("pcieport", _contained),
    ("available PCIe bandwidth", _limited),
    ("mlx5_core", _nic_link),
)
"""A word that is cheap to look for, and who reads the line when it is there."""
