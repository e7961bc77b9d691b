"""`nvidia-smi nvlink`: state (-s), error counters (-e) and far ends (-R) of every NVLink.

Each GPU heads a block, each link is a line. A GPU may answer in a sentence instead ("does not have or support Nvlink",
"not supported for Devices in MIG mode"): that is not applicable, not a fault.
Source: captures nvidia-smi/nvlink-*, drivers 450 to 595; the form of -R from NVSentinel's lsnvlink test data; the
counters of NVLink 5 (`FEC Errors - 0`, `Effective BER`, `Raw BER Lane 0`, `PLR Xmit Blocks`) from the change log in
nvidia-smi's manual of driver 610 and from fields noted down on a B300 with driver 595, no capture.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..parsed import Count, Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from ..value import missing_of

T = TypeVar("T")

CRC_CEILING = 65_535
"""CRC counters have 16 bits and stop there."""


@dataclass(frozen=True, slots=True)
class LinkState:
    """Whether a link is up, and its speed in one direction."""

    gpu: int
    link: int
    up: bool
    gbs: float | None
    """GB/s; None while it is down."""


@dataclass(frozen=True, slots=True)
class LinkErrors:
    """One counter of a link; names differ between drivers and are kept as printed.

    Not every counter counts errors: `fec_errors_0` counts code words that needed no correction, `plr_xmit_blocks`
    traffic.
    """

    gpu: int
    link: int
    name: str
    """Lower case with underscores: `replay_errors`, `crc_flit_errors`, `link_recovery_failed_events`, ..."""
    count: Count


@dataclass(frozen=True, slots=True)
class LinkErrorRate:
    """One bit error rate of a link; NVLink 5 has them."""

    gpu: int
    link: int
    name: str
    """`effective_ber`, `symbol_ber`; `raw_ber_lane_0`, `raw_ber_total` stand before correction and are never zero."""
    rate: float
    """Errors per bit."""
    at_most: bool = False
    """True of `15e-255`, the smallest that can be told: no error was seen."""


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """What a link is wired to."""

    gpu: int
    link: int
    remote_address: str
    """`0000:83:00.0`: an NVSwitch or another GPU."""
    remote_port: int


@dataclass(frozen=True, slots=True)
class AllInactive:
    """The GPU says that all its links are down (on a board where it has some, that is a fault)."""

    gpu: int


_GPU = re.compile(r"\s{0,8}GPU (\d{1,3}): [^()]{0,200}(?:\([^()]{0,80}\)[^()]{0,80})?(?:\(UUID: [\w-]{1,64}\))?\s*$")
_SENTENCE = re.compile(r"not (?:have or )?support", re.IGNORECASE)
_LOST = re.compile(r"\s*Unable to determine the device handle for (?:GPU|gpu) ?([0-9A-Fa-f:.]{7,16}?):? (.{1,200})")
_ALL_INACTIVE = re.compile(r"all links are in-?active", re.IGNORECASE)
_STATE = re.compile(
    r"\s*Link (\d{1,3}): (?:(\d{1,5}(?:\.\d{1,4})?) GB/s|<?(inactive|disabled|off)>?)\s*$", re.IGNORECASE
)
_COUNTER = re.compile(r"\s*Link (\d{1,3}): ([A-Za-z][A-Za-z0-9 _-]{1,60}): (\S.{0,40})$")
_COUNT = re.compile(r"\d{1,20}")
_RATE = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)[eE]([+-]?\d{1,3})")
_IS_RATE = re.compile(r"\bBER\b")
_NVLINK_5 = re.compile(
    r"^\s*Link \d{1,3}: "
    r"(?:Tx packets|Malformed packet Errors|(?:Effective|Symbol) (?:Errors|BER)|FEC Errors - |PLR |Raw )",
    re.MULTILINE,
)
_REMOTE = re.compile(r"\s*Link (\d{1,3}): Remote Device ([0-9a-fA-F:.]{7,16}): Link (\d{1,3})\s*$")

_FLOOR = 1e-200
"""No rate that was measured is smaller; the floors are 15e-255 and, added up over lanes, 15e-238."""


def parse_nvlink_status(text: str) -> Parsed[LinkState | AllInactive]:
    """Read `nvidia-smi nvlink -s`: `Link 3: 26.562 GB/s` or `Link 3: <inactive>`."""

    def read(gpu: int, line: str, parsed: Parsed[LinkState | AllInactive]) -> bool:
        found = _STATE.match(line)
        if _ALL_INACTIVE.search(line):
            parsed.add(AllInactive(gpu))
        elif found:
            parsed.add(LinkState(gpu, int(found[1]), up=bool(found[2]), gbs=float(found[2]) if found[2] else None))
        else:
            return False
        return True

    return _by_gpu(text, read)


def parse_nvlink_errors(text: str) -> Parsed[LinkErrors | LinkErrorRate]:
    """Read `nvidia-smi nvlink -e`: `Link 0: Replay Errors: 0`, `Link 0: Effective BER: 15e-255`."""

    def read(gpu: int, line: str, parsed: Parsed[LinkErrors | LinkErrorRate]) -> bool:
        found = _COUNTER.match(line)
        if not found:
            return False
        link, name, value = int(found[1]), "_".join(found[2].replace("-", " ").lower().split()), found[3]
        reading = _rate(gpu, link, name, value) if _IS_RATE.search(found[2]) else _errors(gpu, link, name, value)
        if reading is not None:
            parsed.add(reading)
        elif missing_of(value):
            parsed.not_applicable(f"gpu{gpu} link {link} {name}", value)
        return bool(reading or missing_of(value))

    return _by_gpu(text, read)


def parse_nvlink_remotes(text: str) -> Parsed[LinkEnd]:
    """Read `nvidia-smi nvlink -R`: `Link 0: Remote Device 00000008:00:00.0: Link 29`."""

    def read(gpu: int, line: str, parsed: Parsed[LinkEnd]) -> bool:
        found = _REMOTE.match(line)
        address = bus_address(found[2]) if found else None
        if found and address:
            parsed.add(LinkEnd(gpu, int(found[1]), address, int(found[3])))
            return True
        state = _STATE.match(line)
        if state and state[3]:
            parsed.not_applicable(f"gpu{gpu} link {int(state[1])}", state[3])
        return bool(state and state[3])

    return _by_gpu(text, read)


def prints_states(head: str) -> bool:
    """True of the output of -s, and of the sentences that a GPU answers instead."""
    kind = _first_kind(head)
    return kind == "state" or (not kind and _asks_for_links(head))


def prints_errors(head: str) -> bool:
    """True of the output of -e for links up to NVLink 4."""
    return _first_kind(head) == "counter" and not _NVLINK_5.search(head)


def prints_nvlink_5_errors(head: str) -> bool:
    """True of the output of -e for NVLink 5, with its own counters."""
    return _first_kind(head) == "counter" and bool(_NVLINK_5.search(head))


def prints_remotes(head: str) -> bool:
    """True of the output of -R."""
    return _first_kind(head) == "remote"


def _errors(gpu: int, link: int, name: str, value: str) -> LinkErrors | None:
    if not _COUNT.fullmatch(value):
        return None
    count = int(value)
    return LinkErrors(gpu, link, name, Count(count, at_least="crc" in name and count >= CRC_CEILING))


def _rate(gpu: int, link: int, name: str, value: str) -> LinkErrorRate | None:
    """`15e-255`, or NVML's packed form as a whole number: exponent in bits 0-7, mantissa in bits 8-11."""
    if found := _RATE.fullmatch(value):
        rate = float(found[1]) * 10.0 ** max(-300, min(300, int(found[2])))
    elif _COUNT.fullmatch(value) and int(value) < 1 << 12:
        rate = float(int(value) >> 8) * 10.0 ** -(int(value) & 0xFF)
    else:
        return None
    return LinkErrorRate(gpu, link, name, rate, at_most=0 < rate < _FLOOR)


def _by_gpu(text: str, read: Callable[[int, str, Parsed[T]], bool]) -> Parsed[T]:
    """Read the lines below each GPU's heading with `read`, which says whether it could."""
    parsed = Parsed[T]()
    gpu: int | None = None
    for number, printed in numbered(without_escapes(text)):
        line = printed.rstrip()
        if heading := _GPU.match(line):
            gpu = int(heading[1])
        elif lost := _LOST.match(line):
            gpu = None
            parsed.not_applicable(bus_address(lost[1]) or lost[1], lost[2].strip())
        elif gpu is not None and read(gpu, line, parsed):
            continue
        elif gpu is not None and _SENTENCE.search(line[:400]):
            parsed.not_applicable(f"gpu{gpu}", line.strip())
        elif line and not prompt_of(line):
            why = "fits no known form" if gpu is not None else "stands above the first GPU"
            parsed.cannot_read(number, line, why)
    return parsed


def _first_kind(head: str) -> str:
    """What the first line about a link tells; empty where there is none below a GPU's heading."""
    below_gpu = False
    for _, line in numbered(without_escapes(head)):
        if _GPU.match(line):
            below_gpu = True
        elif below_gpu and _REMOTE.match(line):
            return "remote"
        elif below_gpu and _STATE.match(line):
            return "state"
        elif below_gpu and _COUNTER.match(line.rstrip()):
            return "counter"
    return ""


def _asks_for_links(head: str) -> bool:
    """True where a GPU's heading is followed at once by a sentence about NVLink."""
    below_gpu = False
    for _, line in numbered(without_escapes(head)):
        if (
            below_gpu
            and "nvlink" in line[:400].lower()
            and (_SENTENCE.search(line[:400]) or _ALL_INACTIVE.search(line))
        ):
            return True
        below_gpu = bool(_GPU.match(line))
    return False
