"""Kernel log lines about GPUs, NVSwitches, PCIe links, NICs and disks, as typed readings.

Most lines of a kernel log are about something else and are passed over; a line that opens as one of ours and then
breaks off is noted as unread. Source: captures kernel-log/*; xid.toml and sxid.toml `log_patterns`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from ..pci import bus_address
from . import host_events, iommu_events, nic_events, pcie_events, storage_events
from .host_events import GpuBoard, GpuUuid, HostEvent, read_serial
from .iommu_events import IommuEvent
from .log_stamp import Head, Stamp
from .nic_events import NicEvent, read_carrier
from .pcie_events import PcieEvent
from .storage_events import StorageServer
from .sxid import SXid, read_sxid
from .xid import PCI, Xid, read_xid

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class OffBus:
    """The driver says that a GPU has fallen off the bus, with no Xid on the line."""

    pci: str


KernelReading: TypeAlias = (
    Xid | SXid | OffBus | PcieEvent | IommuEvent | NicEvent | HostEvent | GpuBoard | StorageServer
)


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A reading with its place and time in the log."""

    number: int
    stamp: Stamp | None
    reading: KernelReading
    host: str = ""
    """The machine, where the line names it."""
    text: str = ""
    """The line's message, without its time."""

    @property
    def kind(self) -> str:
        """`Xid`, `NicLink`, ...: what it is a reading of."""
        return type(self.reading).__name__


_OFF_BUS = re.compile(
    rf"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?({PCI})(?::|\b).{{0,200}}fallen off the bus", re.DOTALL
)
_OFF_BUS_HEAD = re.compile(rf"NVRM: The NVIDIA GPU ({PCI})\s{{0,40}}$")
_OFF_BUS_MIDDLE = re.compile(r"NVRM: \(PCI ID: [0-9a-fA-F:]{9}\) installed in this system has\s{0,40}$")
_OFF_BUS_TAIL = re.compile(r"NVRM: fallen off the bus")

_OPENINGS = ("NVRM: Xid", ": SXid (")


class MessageReader(Generic[K]):
    """Readings of one machine's messages in their order, each with the key of its line.

    A GPU that fell off the bus may be told in three lines, of which the first names the GPU; that line's key is given.
    A board's serial number is told in the line after the one that names its GPU.
    """

    def __init__(self) -> None:
        self._off_bus: tuple[K, str] | None = None
        self._named: str | None = None

    def take(self, key: K, message: str) -> tuple[K, KernelReading] | None:
        """The reading that this message completes; None where it has none, or is the beginning of one."""
        if head := _OFF_BUS_HEAD.match(message):
            self._off_bus = (key, head[1])
            return None
        if self._off_bus and _OFF_BUS_TAIL.match(message):
            first, self._off_bus = self._off_bus, None
            address = bus_address(first[1])
            return (first[0], OffBus(address)) if address else None
        if _OFF_BUS_MIDDLE.match(message):
            return None
        reading = self._board(message) or read_message(message)
        if reading is None:
            return None
        self._off_bus = None
        self._named = reading.pci if isinstance(reading, GpuUuid) else None
        return key, reading

    def _board(self, message: str) -> GpuBoard | None:
        serial = read_serial(message) if self._named else None
        return GpuBoard(self._named, serial) if self._named and serial else None


class KernelLines:
    """Reads the lines of a log one by one, in which several machines may speak in turn."""

    MOST_HOSTS = 4096
    """Machines whose unfinished readings are remembered."""

    def __init__(self) -> None:
        self._readers: dict[str, MessageReader[tuple[int, Stamp | None, str]]] = {}

    def take(self, number: int, head: Head) -> KernelLine | None:
        """The reading that this line completes, under the line it began with."""
        if head.program == "systemd-networkd":
            carrier = read_carrier(head.message)
            return KernelLine(number, head.stamp, carrier, head.host, head.message) if carrier else None
        if not head.is_of_the_kernel:
            return None
        found = self._of(head.host).take((number, head.stamp, head.message), head.message)
        if found is None:
            return None
        (first, stamp, begun), reading = found
        return KernelLine(first, stamp, reading, head.host, begun if first == number else f"{begun} {head.message}")

    def _of(self, host: str) -> MessageReader[tuple[int, Stamp | None, str]]:
        reader = self._readers.get(host)
        if reader is None:
            if len(self._readers) >= self.MOST_HOSTS:
                self._readers.clear()
            reader = self._readers[host] = MessageReader()
        return reader


def read_messages(messages: Iterable[tuple[K, str]]) -> Iterator[tuple[K, KernelReading]]:
    """Readings of one machine's messages in their order, each with the key of its line."""
    reader = MessageReader[K]()
    for key, message in messages:
        if found := reader.take(key, message):
            yield found


def read_message(message: str) -> KernelReading | None:
    """The reading of one message without its time; None where it is about something else."""
    for mark, read in _READERS:
        if mark in message and (reading := read(message)):
            return reading
    return None


def is_broken(message: str) -> bool:
    """True for a message that opens as an Xid or SXid and can't be read as one."""
    return any(opening in message for opening in _OPENINGS) and read_message(message) is None


def may_tell(line: str) -> bool:
    """False for a line that has no reading for certain: what keeps large logs cheap."""
    for mark in _MARKS:  # noqa: SIM110 (a generator costs twice as much, and this runs on every line of a log)
        if mark in line:
            return True
    return False


def _off_bus(message: str) -> OffBus | None:
    found = _OFF_BUS.search(message)
    address = bus_address(found[1]) if found else None
    return OffBus(address) if address else None


_READERS: tuple[tuple[str, Callable[[str], KernelReading | None]], ...] = (
    ("NVRM: Xid", read_xid),
    ("SXid", read_sxid),
    ("fallen off the bus", _off_bus),
    *pcie_events.READERS,
    *iommu_events.READERS,
    *nic_events.READERS,
    *host_events.READERS,
    *storage_events.READERS,
)
"""A word that is cheap to look for, and who reads the line when it is there."""
_MARKS = (
    "NVRM: ",
    "carrier",
    *dict.fromkeys(mark for mark, _ in _READERS if mark not in ("NVRM: Xid", "fallen off the bus")),
)
"""Words of which a line that has a reading holds at least one."""
