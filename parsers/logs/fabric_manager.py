"""The fabric manager's own log, and what its service says in the journal.

Each record of /var/log/fabricmanager.log opens `[Feb 25 2025 13:59:45] [INFO] [tid 1803] `; payloads follow in lines
without an opening. Information about multicast teams and the like is passed over; what speaks of the fabric's state,
and every warning or error, is a reading.

Source: captures kernel-log/fabricmanager-*; for GPU NVLink faults of NVL72 systems NVIDIA's rack service guide, for a
driver that does not match the message of the fabric manager itself (both quoted in public issue threads).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..parsed import Parsed, numbered
from ..pci import bus_address
from ..tool import NumberedLines
from .log_stamp import Head, Stamp, calendar_stamp


@dataclass(frozen=True, slots=True)
class SwitchError:
    """`detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id ... physical id 3 port 61`."""

    code: int
    """The SXid."""
    fatal: bool
    node: int
    """`fid` or `NodeId`."""
    pci: str
    physical_id: int
    port: int


@dataclass(frozen=True, slots=True)
class GpuLinkFault:
    """`Fabric Manager detected GPU NVL Fatal error on :` with its fields in the lines below."""

    fatal: bool
    fields: Mapping[str, str]
    """As printed: `moduleId`, `nodeId`, `gpuGuid`, `portNum`, `portDownReasonCode`, ..."""


@dataclass(frozen=True, slots=True)
class FabricConfigured:
    """All NVSwitches are set up to route the GPUs' traffic."""


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """The machine has no NVSwitch: the fabric manager ends, and that is no fault."""


@dataclass(frozen=True, slots=True)
class VersionMismatch:
    """The fabric manager refuses to work with this driver."""

    fabric_manager: str
    driver: str


@dataclass(frozen=True, slots=True)
class ServiceState:
    """systemd starts, stops or gives up the service."""

    state: str
    """`starting`, `started`, `stopping`, `stopped` or `failed`."""


@dataclass(frozen=True, slots=True)
class FabricMessage:
    """A warning or an error in words."""

    text: str


FabricReading: TypeAlias = (
    SwitchError | GpuLinkFault | FabricConfigured | NothingToDo | VersionMismatch | ServiceState | FabricMessage
)


@dataclass(frozen=True, slots=True)
class FabricManagerLine:
    """A reading with its place and time in the log."""

    number: int
    stamp: Stamp | None
    level: str
    """`INFO`, `WARNING`, `ERROR`, ...; empty in the journal, which has none."""
    reading: FabricReading
    host: str = ""

    @property
    def kind(self) -> str:
        """`SwitchError`, `ServiceState`, ...: what it is a reading of."""
        return type(self.reading).__name__


_RECORD = re.compile(
    r"\[([A-Z][a-z]{2}) (\d\d) (\d{4}) (\d\d:\d\d:\d\d)\] \[([A-Z]{3,12})\] \[tid (\d{1,10})\] {0,4}(.*)$"
)
_SWITCH = re.compile(
    r"detected NVSwitch (non-fatal|fatal) error (\d{1,6}) on (?:fid|NodeId) (\d{1,4}) on NVSwitch pci bus id "
    r"([0-9a-fA-F:.]{5,16}) physical id (\d{1,4}) port (\d{1,4})",
    re.IGNORECASE,
)
_GPU_LINK = re.compile(r"detected GPU NVL (Non-?fatal|Fatal) error on", re.IGNORECASE)
_FIELD = re.compile(r"\s{0,16}(\w{1,40})\s{0,4}:\s{0,4}(\S{1,80})\s*(?:#.{0,200})?$")
_VERSIONS = re.compile(r"interface version (\d[\d.]{1,24}) don't match with driver version (\d[\d.]{0,24}\d)")
_STATES = (
    (re.compile(r"(?:Starting .{0,80}fabric ?manager)", re.IGNORECASE), "starting"),
    (re.compile(r"(?:Started .{0,80}fabric ?manager)", re.IGNORECASE), "started"),
    (re.compile(r"(?:Stopping .{0,80}fabric ?manager)", re.IGNORECASE), "stopping"),
    (re.compile(r"(?:Stopped .{0,80}fabric ?manager|fabricmanager\.service: Deactivated)", re.IGNORECASE), "stopped"),
    (
        re.compile(r"fabricmanager\.service: (?:Control|Main) process exited, .{0,40}status=[1-9]|"
                   r"fabricmanager\.service: Failed with result|Failed to start .{0,80}fabric ?manager",
                   re.IGNORECASE),
        "failed",
    ),
)  # fmt: skip
_GRAVE = frozenset({"WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "ALERT", "EMERGENCY"})
MOST_FIELDS = 32
"""Fields kept of one GPU link fault."""


def parse_fabric_manager_log(text: str) -> Parsed[FabricManagerLine]:
    """Read /var/log/fabricmanager.log."""
    return parse_fabric_manager_lines(numbered(text))


def parse_fabric_manager_lines(lines: NumberedLines) -> Parsed[FabricManagerLine]:
    """Read /var/log/fabricmanager.log line by line."""
    parsed = Parsed[FabricManagerLine]()
    for found in _records(lines, parsed):
        parsed.add(found)
    return parsed


def _records(lines: NumberedLines, parsed: Parsed[FabricManagerLine]) -> Iterator[FabricManagerLine]:
    fields: dict[str, str] | None = None
    open_: FabricManagerLine | None = None
    for number, line in lines:
        if record := _RECORD.match(line.lstrip("\ufeff")):
            if open_:
                yield open_
            open_, fields = _of_record(number, record), None
            if open_ and isinstance(open_.reading, GpuLinkFault):
                fields = dict(open_.reading.fields)
                open_ = _with_fields(open_, fields)
        elif line.startswith("[") and "] [tid " in line[:200]:
            parsed.cannot_read(number, line, "a record whose opening breaks off")
        elif fields is not None and len(fields) < MOST_FIELDS and (field := _FIELD.match(line[:400])):
            fields[field[1]] = field[2]
    if open_:
        yield open_


def _with_fields(line: FabricManagerLine, fields: dict[str, str]) -> FabricManagerLine:
    fatal = isinstance(line.reading, GpuLinkFault) and line.reading.fatal
    return FabricManagerLine(line.number, line.stamp, line.level, GpuLinkFault(fatal, fields), line.host)


def _of_record(number: int, record: re.Match[str]) -> FabricManagerLine | None:
    month, day, year, time, level, _, text = record.groups()
    reading = read_fabric_message(text) or (FabricMessage(text[:300].strip()) if level in _GRAVE else None)
    return FabricManagerLine(number, calendar_stamp(month, day, year, time), level, reading) if reading else None


def take_journal_line(number: int, head: Head) -> FabricManagerLine | None:
    """A line of the journal or syslog that the fabric manager, its start script or systemd wrote about it."""
    if not is_of_fabric_manager(head):
        return None
    reading: FabricReading | None = _service_state(head.message)
    if reading is None and head.program != "systemd":
        reading = read_fabric_message(head.message) or _complaint(head)
    return FabricManagerLine(number, head.stamp, "", reading, head.host) if reading else None


def is_of_fabric_manager(head: Head) -> bool:
    """True for a line of the fabric manager's programs, or of systemd about its service."""
    if head.program == "systemd":
        return "fabricmanager" in head.message or "fabric manager" in head.message.lower()
    return head.program.startswith(("nv-fabricmanager", "nvidia-fabricmanager"))


def may_tell_of_fabric(line: str) -> bool:
    """False for a line that is for certain not about the fabric manager."""
    return "fabricmanager" in line or "abric manager" in line or "abric Manager" in line


def read_fabric_message(text: str) -> FabricReading | None:
    """The reading of one message without its opening; None where it tells of nothing that matters."""
    return next((reading for read in _READERS if (reading := read(text))), None)


def _switch(text: str) -> SwitchError | None:
    found = _SWITCH.search(text)
    address = bus_address(found[4]) if found else None
    if not found or not address:
        return None
    fatal = found[1].lower() == "fatal"
    return SwitchError(int(found[2]), fatal, int(found[3]), address, int(found[5]), int(found[6]))


def _gpu_link(text: str) -> GpuLinkFault | None:
    found = _GPU_LINK.search(text)
    return GpuLinkFault(found[1].lower() == "fatal", {}) if found else None


def _versions(text: str) -> VersionMismatch | None:
    found = _VERSIONS.search(text)
    return VersionMismatch(found[1], found[2]) if found else None


def _configured(text: str) -> FabricConfigured | None:
    return FabricConfigured() if "Successfully configured all the available NVSwitches" in text else None


def _nothing_to_do(text: str) -> NothingToDo | None:
    return NothingToDo() if "NV_WARN_NOTHING_TO_DO" in text else None


def _service_state(text: str) -> ServiceState | None:
    return next((ServiceState(state) for form, state in _STATES if form.search(text)), None)


def _complaint(head: Head) -> FabricMessage | None:
    """The journal has no levels: what the programs say of a failure stands in their own words."""
    words = head.message.lower()
    return FabricMessage(head.message[:300]) if "failed" in words or "error" in words else None


_READERS: tuple[Callable[[str], FabricReading | None], ...] = (
    _switch,
    _gpu_link,
    _versions,
    _configured,
    _nothing_to_do,
)
