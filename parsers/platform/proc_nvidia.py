"""`/proc/driver/nvidia`: `gpus/*/information` of each GPU, and `version` of the driver.

Several files in one text are told apart where a field comes again; question marks stand where the driver could not
read.
Source: captures platform/proc-driver-nvidia-*; `version` as quoted in nixGL's test files and issue reports, no capture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..parsed import Missing, Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import integer_of, missing_of


@dataclass(frozen=True, slots=True)
class GpuInformation:
    """What the kernel module knows of one GPU, also where nvidia-smi no longer answers."""

    model: str | None
    bus_address: str | None
    minor: int | None
    """N of `/dev/nvidiaN`."""
    uuid: str | None
    video_bios: str | None
    irq: int | None
    bus_type: str | None
    dma_bits: int | None
    firmware: str | None
    """Version of the GSP firmware; not printed by older drivers."""
    excluded: bool | None
    """Kept from use by the administrator."""
    missing: Mapping[str, Missing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DriverVersion:
    """The kernel module that is loaded."""

    version: str
    open_module: bool
    """True of the open kernel module, false of the closed one."""
    compiler: str | None


LONGEST = 200
"""Characters of a value that are kept."""

_FIELDS = {
    "Model": "model",
    "IRQ": "irq",
    "GPU UUID": "uuid",
    "Video BIOS": "video_bios",
    "Bus Type": "bus_type",
    "DMA Size": "dma_bits",
    "DMA Mask": "dma_mask",
    "Bus Location": "bus_address",
    "Device Minor": "minor",
    "GPU Firmware": "firmware",
    "GPU Excluded": "excluded",
    "GPU Blacklisted": "excluded",
}
_FILE_NAME = re.compile(r"==> .{1,200} <==\s*")
_UNREADABLE = re.compile(r"(?:GPU-)?[?.:-]{4,80}")
_VERSION = re.compile(
    r"\s{0,8}NVRM version: (NVIDIA UNIX .{0,60}?)\s{1,8}(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)(?:\s.{0,200})?"
)
_COMPILER = re.compile(r"\s{0,8}GCC version:\s{1,8}(\S.{0,200})")


def parse_gpu_information(text: str) -> Parsed[GpuInformation]:
    """Read one or more files `information`."""
    parsed = Parsed[GpuInformation]()
    values: dict[str, str] = {}
    for number, line in numbered(without_escapes(text)):
        title, _, value = line.partition(":")
        if name := _FIELDS.get(title.strip()):
            if name in values:
                parsed.add(_information(values))
                values = {}
            values[name] = value.strip()[:LONGEST]
        elif line.strip() and not prompt_of(line) and not _FILE_NAME.fullmatch(line):
            parsed.cannot_read(number, line)
    if values:
        parsed.add(_information(values))
    return parsed


def parse_driver_version(text: str) -> Parsed[DriverVersion]:
    """Read `version`."""
    parsed = Parsed[DriverVersion]()
    module: tuple[str, str] | None = None
    for number, line in numbered(without_escapes(text)):
        line = line.rstrip()
        if found := _VERSION.fullmatch(line):
            if module:
                parsed.add(DriverVersion(module[1], "Open" in module[0], None))
            module = (found[1], found[2])
        elif module and (compiler := _COMPILER.fullmatch(line)):
            parsed.add(DriverVersion(module[1], "Open" in module[0], compiler[1]))
            module = None
        elif line.strip() and not prompt_of(line) and not _FILE_NAME.fullmatch(line):
            parsed.cannot_read(number, line)
    if module:
        parsed.add(DriverVersion(module[1], "Open" in module[0], None))
    return parsed


def _information(values: Mapping[str, str]) -> GpuInformation:
    missing = {name: why for name, value in values.items() if (why := _why_missing(value))}
    said = {name: value for name, value in values.items() if name not in missing}
    excluded = said.get("excluded", "").lower()
    return GpuInformation(
        model=said.get("model"),
        bus_address=bus_address(said.get("bus_address", "")),
        minor=integer_of(said.get("minor", "")),
        uuid=said.get("uuid"),
        video_bios=said.get("video_bios"),
        irq=integer_of(said.get("irq", "")),
        bus_type=said.get("bus_type"),
        dma_bits=integer_of(said.get("dma_bits", "")),
        firmware=said.get("firmware"),
        excluded={"yes": True, "no": False}.get(excluded),
        missing=missing,
    )


def _why_missing(value: str) -> Missing | None:
    return Missing.UNREADABLE if _UNREADABLE.fullmatch(value) else missing_of(value)


def _describes_gpus(head: str) -> bool:
    found = {line.partition(":")[0].strip() for _, line in numbered(without_escapes(head))}
    return "Bus Location" in found and "Device Minor" in found


def _tells_version(head: str) -> bool:
    return any(_VERSION.fullmatch(line.rstrip()) for _, line in numbered(without_escapes(head)))


GPU_INFORMATION = Tool(
    "/proc/driver/nvidia/gpus/*/information",
    _describes_gpus,
    parse_gpu_information,
    file_names=("information", "*gpu*information*"),
)
DRIVER_VERSION = Tool(
    "/proc/driver/nvidia/version",
    _tells_version,
    parse_driver_version,
    file_names=("version", "*nvidia*version*"),
    unconfirmed="quoted in nixGL's test files and in issue reports",
)
