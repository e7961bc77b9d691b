"""What else a kernel log says that explains an incident: the driver, crashes of programs, disks.

Source: captures kernel-log/*.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..pci import bus_address
from .xid import PCI


@dataclass(frozen=True, slots=True)
class GpuUuid:
    """`NVRM: GPU at PCI:0000:9b:00: GPU-93ca625d-...`: which GPU sits at an address."""

    pci: str
    uuid: str


@dataclass(frozen=True, slots=True)
class GpuBoard:
    """`NVRM: GPU Board Serial Number: ...`, told of the GPU named in the line above."""

    pci: str
    serial: str


@dataclass(frozen=True, slots=True)
class GpuNeedsReset:
    """The driver stops printing a GPU's failed calls and says that it likely has to be reset."""

    pci: str


@dataclass(frozen=True, slots=True)
class DriverLoaded:
    """`NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.58.03`."""

    version: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class ProbeFailed:
    """`NVRM: The NVIDIA probe routine failed for 1 device(s).`"""

    devices: int


@dataclass(frozen=True, slots=True)
class PeermemError:
    """nvidia-peermem complains; after a program's crash that is ordinary."""

    function: str
    text: str


@dataclass(frozen=True, slots=True)
class Segfault:
    """A program crashed in a library."""

    process: str
    pid: int
    library: str
    """`libnccl.so.2`; empty where the line names none."""


@dataclass(frozen=True, slots=True)
class DiskError:
    """A read or write of a disk that failed."""

    device: str
    sector: int
    operation: str
    """`READ`, `WRITE`, or empty in the lines of older kernels."""


@dataclass(frozen=True, slots=True)
class FilesystemError:
    """A file system that could not write or had to shut down: mostly the consequence of a disk."""

    filesystem: str
    device: str
    text: str


@dataclass(frozen=True, slots=True)
class DriverError:
    """The driver names one of its own error codes: `NV_ERR_FABRIC_MANAGER_NOT_PRESENT`."""

    code: str
    text: str


HostEvent: TypeAlias = (
    DriverError
    | GpuUuid
    | GpuNeedsReset
    | DriverLoaded
    | ProbeFailed
    | PeermemError
    | Segfault
    | DiskError
    | FilesystemError
)

_UUID = re.compile(rf"NVRM: GPU at (?:PCI:)?({PCI}): (GPU-[0-9a-fA-F-]{{8,40}})")
_SERIAL = re.compile(r"NVRM: GPU Board Serial Number: (\w{1,32})")
_NEEDS_RESET = re.compile(rf"NVRM: Rate limiting GSP RPC error prints for GPU at (?:PCI:)?({PCI}) .{{1,80}}be reset")
_LOADED = re.compile(r"NVRM: loading NVIDIA UNIX (Open )?.{1,48}? {1,4}(\d{2,4}(?:\.\d{1,4}){1,3}) ")
_PROBE = re.compile(r"NVRM: The NVIDIA probe routine failed for (\d{1,4}) device")
_ERROR_CODE = re.compile(r"\b(NV_ERR_FABRIC_[A-Z_]{3,60})\b")
_PEERMEM = re.compile(r"nvidia-peermem (\w{1,64}):\d{1,6} ERROR (.{1,200})")
_SEGFAULT = re.compile(
    r"([^\s\[]{1,64})\[(\d{1,10})\]: segfault at [0-9a-f]{1,16} ip [0-9a-f]{1,16} sp [0-9a-f]{1,16} error \d{1,4}"
    r"(?: in ([^\s\[]{1,128}))?"
)
_DISK = re.compile(r"I/O error, dev (\S{1,32}), sector (\d{1,20})(?: op 0x[0-9a-f]{1,4}:\((\w{1,24})\))?")
_XFS = re.compile(r"(XFS) \((\S{1,64})\): (.{0,120}(?:error|[Ss]hutdown|[Ss]hutting down|[Cc]orruption).{0,120})")
_EXT4 = re.compile(r"(EXT4-fs) error \(device (\S{1,64})\): (.{1,240})")


def read_serial(message: str) -> str | None:
    """The serial number that belongs to the GPU named in the line above."""
    found = _SERIAL.match(message)
    return found[1] if found else None


def _uuid(message: str) -> GpuUuid | None:
    found = _UUID.search(message)
    address = bus_address(found[1]) if found else None
    return GpuUuid(address, found[2]) if found and address else None


def _needs_reset(message: str) -> GpuNeedsReset | None:
    found = _NEEDS_RESET.search(message)
    address = bus_address(found[1]) if found else None
    return GpuNeedsReset(address) if address else None


def _loaded(message: str) -> DriverLoaded | None:
    found = _LOADED.search(f"{message} ")
    return DriverLoaded(found[2], bool(found[1])) if found else None


def _probe_failed(message: str) -> ProbeFailed | None:
    found = _PROBE.search(message)
    return ProbeFailed(int(found[1])) if found else None


def _peermem(message: str) -> PeermemError | None:
    found = _PEERMEM.search(message)
    return PeermemError(found[1], found[2].strip()) if found else None


def _segfault(message: str) -> Segfault | None:
    found = _SEGFAULT.search(message)
    return Segfault(found[1], int(found[2]), found[3] or "") if found else None


def _disk(message: str) -> DiskError | None:
    found = _DISK.search(message)
    return DiskError(found[1], int(found[2]), found[3] or "") if found else None


def _filesystem(message: str) -> FilesystemError | None:
    found = _XFS.match(message) or _EXT4.match(message)
    return FilesystemError(found[1], found[2], found[3].strip()) if found else None


def _driver_error(message: str) -> DriverError | None:
    found = _ERROR_CODE.search(message) if "NVRM:" in message else None
    return DriverError(found[1], message[:300]) if found else None


READERS: tuple[tuple[str, Callable[[str], HostEvent | None]], ...] = (
    ("NVRM: GPU at", _uuid),
    ("Rate limiting GSP RPC", _needs_reset),
    ("NVRM: loading NVIDIA UNIX", _loaded),
    ("probe routine failed", _probe_failed),
    ("nvidia-peermem", _peermem),
    ("NV_ERR_FABRIC", _driver_error),
    ("segfault at", _segfault),
    ("I/O error, dev", _disk),
    ("XFS (", _filesystem),
    ("EXT4-fs error", _filesystem),
)
"""A word that is cheap to look for, and who reads the line when it is there."""
