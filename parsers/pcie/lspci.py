"""`lspci`, with or without -n, -nn, -D, -k, -v to -vvv: devices, the PCIe links above them, bridges with their buses.

Of the many lines of a verbose block those about link, bus, NUMA node, driver, access control and logged errors
are read; the others are passed over. Without root the capabilities read `<access denied>`: then the link is not
permitted to be known, not absent. A device that has fallen off the bus answers all ones (`rev ff`, `Unknown header
type 7f`).
Source: captures pcie/lspci-*; pciutils ls-caps.c for the words in brackets, which newer versions print when not `ok`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..parsed import Missing, Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes

LEAD_DOWN = frozenset({"Root Port", "Downstream Port", "PCI-Express to PCI/PCI-X Bridge"})


@dataclass(frozen=True, slots=True)
class PciDevice:
    """One function on the PCI bus; None for what was not printed."""

    address: str
    """`0000:19:00.0`."""
    class_name: str
    """`3D controller`; empty in the output of -n."""
    class_id: str | None
    """`0302`."""
    vendor_id: str | None
    device_id: str | None
    name: str
    """Vendor and device as printed, without numbers and revision."""
    revision: str | None = None
    speed_gts: float | None = None
    """GT/s of a lane, now; on an idle device often lower than what it reaches under load."""
    width: int | None = None
    """Lanes, now; 0 where no link is trained."""
    max_speed_gts: float | None = None
    max_width: int | None = None
    speed_downgraded: bool | None = None
    """Below what the device itself can. None of a port that leads down and runs slower: what stands below is judged."""
    width_downgraded: bool | None = None
    numa: int | None = None
    driver: str | None = None
    primary: int | None = None
    """Bus numbers of a bridge."""
    secondary: int | None = None
    subordinate: int | None = None
    port_type: str | None = None
    """`Endpoint`, `Root Port`, `Upstream Port`, `Downstream Port`, ..."""
    slot: str | None = None
    serial_number: str | None = None
    iommu_group: int | None = None
    max_payload: int | None = None
    """Bytes, as configured."""
    max_read_request: int | None = None
    acs: tuple[str, ...] | None = None
    """Access control that is switched on (`ReqRedir` sends peer traffic up to the root); None where there is none."""
    aspm: str | None = None
    """States in which the link may rest by itself: `L1`, `L0s L1`; empty where none is enabled."""
    retimers: int | None = None
    """Retimers that the link met while it trained."""
    correctable: tuple[str, ...] | None = None
    """AER flags that are set: seen since somebody cleared them."""
    uncorrectable: tuple[str, ...] | None = None
    answers: bool = True
    """False where all that was read is ones: the device is gone."""
    missing: Mapping[str, Missing] = field(default_factory=dict)
    """Why `speed_gts` and `width` are not there, where it is known."""


_TITLE = re.compile(
    r"(?P<address>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?P<kind>[0-9a-f]{4}|[A-Z0-9][\w/ .,()-]{2,60}?)(?: \[(?P<class_id>[0-9a-f]{4})\])?: (?P<name>\S.{0,400})"
)
_BARE_TITLE = re.compile(
    r"(?P<address>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"(?P<kind>(?:[A-Z0-9][\w.-]{0,20} )(?:[\w.-]{1,20} ){0,2}(?:bridge|controller|accelerators))"
    r"(?: \[(?P<class_id>[0-9a-f]{4})\])?:?(?P<name>)"
)
"""A device whose vendor and name somebody left out: `97:01.0 PCI bridge`."""
_PROGRAMMING = re.compile(r" \(prog-if [0-9a-f]{2}(?: \[[^\]]{0,80}\])?\)$")
_REVISION = re.compile(r" \(rev ([0-9a-f]{2})\)$")
_IDS = re.compile(r"(?:^| \[)([0-9a-f]{4}):([0-9a-f]{4})\]?$")
_UNNAMED = re.compile(r"\bDevice ([0-9a-f]{4})$")
_LINK_CAP = re.compile(r"LnkCap:\s{1,4}Port #\d{1,4}, Speed (\d{1,3}(?:\.\d)?)GT/s, Width x(\d{1,2})\b")
_LINK_STATUS = re.compile(
    r"LnkSta:\s{1,4}Speed (?:(\d{1,3}(?:\.\d)?)GT/s|unknown)(?: \((\w{1,12})\))?, "
    r"Width (?:x(\d{1,2})|unknown)(?: \((\w{1,12})\))?"
)
_ASPM = re.compile(r"LnkCtl:\s{1,4}ASPM (?:((?:L0s |L1 ){1,2})Enabled|Disabled)")
_RETIMERS = re.compile(r"LnkSta2:.{0,400}\bRetimer([+-]) 2Retimers([+-])")
_BUS = re.compile(r"Bus: primary=([0-9a-f]{2}), secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})")
_NUMA = re.compile(r"\bNUMA node:? (\d{1,4})\b")
_IOMMU = re.compile(r"\bIOMMU group:? (\d{1,6})\b")
_EXPRESS = re.compile(
    r"Capabilities: \[[0-9a-f]{2,3}\] Express (?:\(v\d\) )?([A-Z][A-Za-z/ -]{2,40}?)(?: \(Slot[+-]\))?(?:,|$)"
)
_SERIAL = re.compile(r"Device Serial Number ([0-9a-f-]{8,40})")
_REQUESTS = re.compile(r"MaxPayload (\d{2,5}) bytes, MaxReadReq (\d{2,5}) bytes")
_SET_FLAG = re.compile(r"([A-Za-z]{2,24})\+")
_GONE = re.compile(r"!!! Unknown header type (?:7f|ff)")
_PASSED_OVER = re.compile(r"(?:--|pcilib: |lspci: )|[0-9a-f]{2,3}: (?:[0-9a-f]{2} ?){1,16}$")


@dataclass(slots=True)
class _Block:
    """What was read of one device so far."""

    said: dict[str, Any]
    denied: bool = False
    words: tuple[str | None, str | None] = field(default=(None, None))
    """What lspci itself says of speed and width."""


def parse_lspci(text: str) -> Parsed[PciDevice]:
    """Read a list of devices or blocks about them."""
    parsed = Parsed[PciDevice]()
    block: _Block | None = None
    for number, line in numbered(without_escapes(text)):
        if not line or line.isspace():
            continue
        if line[0] in " \t":
            if block:
                _detail(line.strip(), block)
            else:
                parsed.cannot_read(number, line, "stands above the first device")
        elif title := _title(line):
            _finish(block, parsed)
            block = _Block(_titled(title))
        elif not _PASSED_OVER.match(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    _finish(block, parsed)
    return parsed


def prints_devices(head: str) -> bool:
    """True of a text with a line that begins with an address and the name of a class."""
    return any(_title(line) for _, line in numbered(without_escapes(head)))


def _title(line: str) -> re.Match[str] | None:
    text = line.rstrip()
    return _TITLE.fullmatch(text) or _BARE_TITLE.fullmatch(text)


def _titled(title: re.Match[str]) -> dict[str, Any]:
    """What stands in a device's first line."""
    name = _PROGRAMMING.sub("", title["name"].rstrip())
    revision = _REVISION.search(name)
    name = _REVISION.sub("", name)
    ids, unnamed = _IDS.search(name), _UNNAMED.search(name)
    numeric = len(title["kind"]) == 4 and title["class_id"] is None and " " not in title["kind"]
    return {
        "address": bus_address(title["address"]),
        "class_name": "" if numeric else title["kind"],
        "class_id": title["kind"] if numeric else title["class_id"],
        "vendor_id": ids[1] if ids else None,
        "device_id": ids[2] if ids else unnamed[1] if unnamed else None,
        "name": _IDS.sub("", name),
        "revision": revision[1] if revision else None,
        "answers": not revision or revision[1] != "ff",
    }


def _detail(line: str, block: _Block) -> None:
    """Take one indented line into account; what a device says first of a thing stands."""
    if line.startswith("Lnk"):
        _link(line, block)
    elif line.startswith("Capabilities: "):
        _capability(line, block)
    elif line.startswith(("UESta:", "CESta:", "ACSCtl:")):
        name = {"U": "uncorrectable", "C": "correctable", "A": "acs"}[line[0]]
        block.said.setdefault(name, tuple(_SET_FLAG.findall(line[:400])))
    elif line.startswith(("Kernel driver in use: ", "Physical Slot: ")):
        block.said["driver" if line[0] == "K" else "slot"] = line.partition(": ")[2][:64]
    elif _GONE.match(line):
        block.said["answers"] = False
    else:
        _numbers(line, block.said)


def _numbers(line: str, said: dict[str, Any]) -> None:
    """Bus numbers, NUMA node, IOMMU group, sizes of requests."""
    if bridge := _BUS.match(line):
        said["primary"], said["secondary"], said["subordinate"] = (int(bridge[at], 16) for at in (1, 2, 3))
    elif requests := _REQUESTS.match(line):
        said["max_payload"], said["max_read_request"] = int(requests[1]), int(requests[2])
    elif line.startswith(("NUMA node", "IOMMU group", "Flags:")):
        for name, pattern in (("numa", _NUMA), ("iommu_group", _IOMMU)):
            if found := pattern.search(line[:400]):
                said[name] = int(found[1])


def _link(line: str, block: _Block) -> None:
    said = block.said
    if "max_speed_gts" not in said and (limits := _LINK_CAP.match(line)):
        said["max_speed_gts"], said["max_width"] = float(limits[1]), int(limits[2])
    elif "speed_gts" not in said and (status := _LINK_STATUS.match(line)):
        said["speed_gts"] = float(status[1]) if status[1] else None
        said["width"] = int(status[3]) if status[3] else None
        block.words = (status[2], status[4])
    elif aspm := _ASPM.match(line):
        said.setdefault("aspm", (aspm[1] or "").strip())
    elif retimers := _RETIMERS.match(line[:600]):
        said.setdefault("retimers", 2 if retimers[2] == "+" else int(retimers[1] == "+"))


def _capability(line: str, block: _Block) -> None:
    if "<access denied>" in line[:80]:
        block.denied = True
    elif express := _EXPRESS.match(line):
        block.said.setdefault("port_type", express[1])
    elif serial := _SERIAL.search(line[:200]):
        block.said["serial_number"] = serial[1]


def _finish(block: _Block | None, parsed: Parsed[PciDevice]) -> None:
    """Keep a device whose last line has been read."""
    if not block or not block.said["address"]:
        return
    said = block.said
    speed, width = block.words
    leads_down = said.get("port_type") in LEAD_DOWN
    said["speed_downgraded"] = _downgraded(speed, said.get("speed_gts"), said.get("max_speed_gts"), leads_down)
    said["width_downgraded"] = _downgraded(width, said.get("width"), said.get("max_width"), leads_down)
    why = Missing.NOT_PERMITTED if block.denied else Missing.LOST if not said["answers"] else None
    missing = {name: why for name in ("speed_gts", "width") if why and said.get(name) is None}
    parsed.add(PciDevice(**said, missing=missing))


def _downgraded(word: str | None, now: float | None, most: float | None, leads_down: bool) -> bool | None:
    """By lspci's own word, else by comparison, as newer versions do: not for ports that lead down."""
    if now is None:
        return None
    if word:
        return word == "downgraded"
    if most is None or (leads_down and now < most):
        return None
    return now < most
