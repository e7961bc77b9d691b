"""nvidia-smi's complaints: one line instead of a report, or between its lines.

A node whose driver does not answer has not zero GPUs: how many it has is not known.
Source: captures nvidia-smi/err-*; the other wordings from reports of users (drivers 352 to 595) in public repositories.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ..parsed import SHOWN, Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes


class Silence(StrEnum):
    """Why the driver does not answer."""

    NO_CONTACT = "no contact"
    """nvidia-smi can't communicate with the driver: not loaded, or it does not respond."""
    NOT_LOADED = "not loaded"
    MISMATCH = "version mismatch"
    """The library's version is not the kernel module's: a driver was updated without a reboot."""
    NO_LIBRARY = "no library"
    NOT_PERMITTED = "not permitted"
    LOST = "gpu lost"
    UNKNOWN = "unknown error"
    """The driver fails to start for a reason it does not tell."""


@dataclass(frozen=True, slots=True)
class DriverSilent:
    """The driver gave no report: nothing is known of its GPUs, not even how many there are."""

    why: Silence
    said: str


@dataclass(frozen=True, slots=True)
class NoDevices:
    """The driver answers, and can use none of the GPUs, which may be in the machine all the same."""

    said: str


@dataclass(frozen=True, slots=True)
class GpuLost:
    """The driver knows this GPU and gets no answer from it."""

    index: int | None
    bus_address: str | None
    said: str
    """`GPU is lost`, `Unknown Error`, `Not Found`."""


@dataclass(frozen=True, slots=True)
class InforomCorrupted:
    """The checksum of the board's InfoROM is wrong."""

    bus_address: str | None


Complaint: TypeAlias = DriverSilent | NoDevices | GpuLost | InforomCorrupted

_HANDLE = re.compile(
    r"Unable to determine the device handle for (?:GPU|gpu) ?(?:(\d{1,3})(?=: ))?(?:: )?"
    r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)?: ?(.{1,300})"
)
_INFOROM = re.compile(r"WARNING: infoROM is corrupted at gpu ([0-9A-Fa-f:.]{7,16})", re.IGNORECASE)
_NO_CONTACT = re.compile(r"NVIDIA-SMI has failed because it could(?:n't| not) communicate with the (?:NVIDIA )?driver")
_NO_LIBRARY = re.compile(r"NVIDIA-SMI couldn't find \S{1,60} library in your system|nvidia-smi: (?:command )?not found")
_NOT_STARTED = re.compile(r"Failed to initialize NVML: (.{1,300})", re.IGNORECASE)
_NO_DEVICES = re.compile(r"No devices were found|No devices found\.?")
_REMARK = re.compile(
    r"(?:NVML library version: [\d.]{1,20}|Please also try adding directory that contains .{1,200}"
    r"|Reboot the system to recover this GPU.{0,20})",
    re.IGNORECASE,
)
"""Lines that go on with a complaint and add nothing to it."""
_STARTS = (
    (re.compile(r"driver/library version mismatch", re.IGNORECASE), Silence.MISMATCH),
    (re.compile(r"driver not loaded", re.IGNORECASE), Silence.NOT_LOADED),
    (re.compile(r"insufficient permissions?", re.IGNORECASE), Silence.NOT_PERMITTED),
    (re.compile(r"library not found", re.IGNORECASE), Silence.NO_LIBRARY),
    (re.compile(r"gpu is lost", re.IGNORECASE), Silence.LOST),
)
_MARKS = (
    "nable to determine",
    "nfoROM",
    "NVIDIA-SMI ",
    "ailed to init",
    "o devices ",
    "nvidia-smi:",
    "to initialize NVML",
)
LONGEST_COMPLAINT = 40
"""Lines of an output that is nothing but complaints."""


def complaint_of(line: str) -> Complaint | None:
    """What a line of any of nvidia-smi's outputs complains of."""
    if not any(mark in line[:400] for mark in _MARKS):
        return None
    said = line.strip()[:SHOWN]
    if found := _HANDLE.match(said):
        address = bus_address(found[2]) if found[2] else None
        return GpuLost(int(found[1]) if found[1] else None, address, found[3].strip())
    if found := _INFOROM.match(said):
        return InforomCorrupted(bus_address(found[1]))
    if _NO_DEVICES.fullmatch(said):
        return NoDevices(said)
    why = _silence(said)
    return DriverSilent(why, said) if why else None


def _silence(said: str) -> Silence | None:
    if _NO_CONTACT.match(said):
        return Silence.NO_CONTACT
    if _NO_LIBRARY.search(said):
        return Silence.NO_LIBRARY
    found = _NOT_STARTED.match(said)
    if not found:
        return None
    return next((why for words, why in _STARTS if words.search(found[1])), Silence.UNKNOWN)


def is_complaints(head: str) -> bool:
    """Whether the output is complaints and nothing else."""
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)]
    said = [line for line in lines if not _REMARK.fullmatch(line.strip())]
    return 0 < len(said) <= LONGEST_COMPLAINT and all(complaint_of(line) for line in said)


def parse_complaints(text: str) -> Parsed[Complaint]:
    """Read the lines that nvidia-smi prints when it can't report."""
    parsed = Parsed[Complaint]()
    for number, line in numbered(without_escapes(text)):
        if complaint := complaint_of(line):
            parsed.add(complaint)
        elif line.strip() and not _REMARK.fullmatch(line.strip()) and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed
