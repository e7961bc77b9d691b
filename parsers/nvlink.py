"""`nvidia-smi nvlink`: state (-s), error counters (-e) and far ends (-R) of every NVLink.

Each GPU heads a block, each link is a line. A GPU may answer in a sentence instead ("does not have or support Nvlink",
"not supported for Devices in MIG mode"): that is not applicable, not a fault.
Source: captures nvidia-smi/nvlink-*, drivers 450 to 595; the form of -R from NVSentinel's lsnvlink test data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..incident.ids import ComponentId, gpu_id, lane_id
from .parsed import Parsed, numbered
from .pci import bus_address

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LinkState:
    """Whether a link is up, and its speed in one direction."""

    link: ComponentId
    up: bool
    gbs: float
    """GB/s; 0 while it is down."""


@dataclass(frozen=True, slots=True)
class LinkErrors:
    """One error counter of a link; names differ between drivers and are kept as printed."""

    link: ComponentId
    name: str
    """Lower case with underscores: `replay_errors`, `recovery_errors`, `crc_errors`, `crc_flit_errors`, ..."""
    count: int


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """What a link is wired to."""

    link: ComponentId
    remote_address: str
    """`0000:83:00.0`: an NVSwitch or another GPU."""
    remote_port: int


@dataclass(frozen=True, slots=True)
class AllInactive:
    """The GPU says that all its links are down (on a board where it has some, that is a fault)."""

    gpu: ComponentId


_GPU = re.compile(r"GPU (\d{1,3}): .{0,200}\(UUID: [\w-]{1,64}\)\s*$")
_SENTENCE = re.compile(r"not (?:have or )?support", re.IGNORECASE)
_ALL_INACTIVE = re.compile(r"all links are in-?active", re.IGNORECASE)
_STATE = re.compile(
    r"\s*Link (\d{1,3}): (?:(\d{1,5}(?:\.\d{1,4})?) GB/s|<?(inactive|disabled|off)>?)\s*$", re.IGNORECASE
)
_ERRORS = re.compile(r"\s*Link (\d{1,3}): ([A-Za-z][A-Za-z ]{1,40}): (\d{1,20})\s*$")
_REMOTE = re.compile(r"\s*Link (\d{1,3}): Remote Device ([0-9a-fA-F:.]{7,16}): Link (\d{1,3})\s*$")


def parse_nvlink_status(text: str, node: str) -> Parsed[LinkState | AllInactive]:
    """Read `nvidia-smi nvlink -s`: `Link 3: 26.562 GB/s` or `Link 3: <inactive>`."""

    def read(gpu: ComponentId, line: str) -> LinkState | AllInactive | None:
        if _ALL_INACTIVE.search(line):
            return AllInactive(gpu)
        found = _STATE.match(line)
        if not found:
            return None
        return LinkState(lane_id(gpu, int(found[1])), up=bool(found[2]), gbs=float(found[2] or 0))

    return _by_gpu(text, node, read)


def parse_nvlink_errors(text: str, node: str) -> Parsed[LinkErrors]:
    """Read `nvidia-smi nvlink -e`: `Link 0: Replay Errors: 0`."""

    def read(gpu: ComponentId, line: str) -> LinkErrors | None:
        found = _ERRORS.match(line)
        if not found:
            return None
        return LinkErrors(lane_id(gpu, int(found[1])), "_".join(found[2].lower().split()), int(found[3]))

    return _by_gpu(text, node, read)


def parse_nvlink_remotes(text: str, node: str) -> Parsed[LinkEnd]:
    """Read `nvidia-smi nvlink -R`: `Link 0: Remote Device 00000008:00:00.0: Link 29`."""

    def read(gpu: ComponentId, line: str) -> LinkEnd | None:
        found = _REMOTE.match(line)
        address = bus_address(found[2]) if found else None
        return LinkEnd(lane_id(gpu, int(found[1])), address, int(found[3])) if found and address else None

    return _by_gpu(text, node, read)


def _by_gpu(text: str, node: str, read: Callable[[ComponentId, str], T | None]) -> Parsed[T]:
    """Read the lines below each GPU's heading with `read`."""
    parsed = Parsed[T]()
    gpu: ComponentId | None = None
    for number, line in numbered(text):
        if heading := _GPU.match(line):
            gpu = gpu_id(node, int(heading[1]))
        elif gpu is not None and (reading := read(gpu, line)) is not None:
            parsed.add(reading)
        elif gpu is not None and _SENTENCE.search(line[:400]):
            parsed.not_applicable(gpu, line.strip())
        elif line.strip():
            parsed.cannot_read(number, line, "fits no known form" if gpu else "stands above the first GPU")
    return parsed
