"""Files of /sys about network adapters, gathered as lines (`grep -r . /sys/class/infiniband`) or as one JSON object.

The path tells what a value is: `/sys/class/infiniband/mlx5_0/ports/1/rate`,
`/sys/bus/pci/devices/0000:ba:00.0/infiniband/mlx5_8/ports/1/state`, `.../net/ib6/operstate`.
Source: captures infiniband/sysfs-*; kernel drivers/infiniband/core/sysfs.c, Documentation/ABI/testing/sysfs-class-net.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ..json_document import as_dict, as_list, read_document
from ..parsed import Missing, Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import integer_of, missing_of
from .counters import PortCounter, saturating
from .ibstat import Hca, HcaPort
from .interface import Interface
from .ip_link import interface_of
from .port_words import guid, means_no_rate, phys_state, port_rate, port_state

SysfsReading: TypeAlias = Hca | HcaPort | PortCounter | Interface

MOST_FILES = 200_000
_PATH = re.compile(r"/sys/(?:[^:\s]|(?<=[0-9a-f]{4}):(?=[0-9a-f]{2}[:/])|(?<=:[0-9a-f]{2}):(?=[0-9a-f]{2}\.)){3,300}")
"""Of its colons, only those of a bus address belong to a path."""
_DEVICE = re.compile(
    r"/sys/(?:.{0,200}?/)??(?:(?P<address>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/)?infiniband/(?P<device>[\w.-]{1,64})/(?P<rest>.{1,200})"
)
_NETDEV = re.compile(
    r"/sys/(?:.{0,200}?/)??(?:(?P<address>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/)?net/(?P<name>[\w.@-]{1,40})/(?P<rest>[\w/.-]{1,80})"
)
_COUNT = re.compile(r"\d{1,20}")
_OF_PORT = re.compile(r"ports/(\d{1,3})/(state|phys_state|rate|link_layer|lid|sm_lid|lid_mask_count)")
_COUNTER = re.compile(r"ports/(\d{1,3})/(counters|hw_counters)/([\w.-]{1,64})")
_GREP_MARKS = re.compile(r"^/sys/[^\s\"]{0,250}/(?:infiniband|net)/[^\s\":]{1,64}/[^\s\":]{1,200}:", re.MULTILINE)
_JSON_MARKS = re.compile(
    r"\A\s{0,40}\{\s{0,8}\"(?:/sys/(?:bus|class|devices)/|intf_status\"\s{0,4}:|link_speed\"\s{0,4}:)"
)


def parse_sysfs_lines(text: str) -> Parsed[SysfsReading]:
    """Read `path:value` lines."""
    parsed = Parsed[SysfsReading]()
    files: dict[str, str] = {}
    for number, line in numbered(without_escapes(text)):
        path, found, value = _split(line)
        if found and len(files) < MOST_FILES and (_DEVICE.fullmatch(path) or _NETDEV.fullmatch(path)):
            files.setdefault(path, value)
            _note_valueless(path, value, number, line, parsed)
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    for reading in _readings(files):
        parsed.add(reading)
    return parsed


def parse_sysfs_manifest(text: str) -> Parsed[SysfsReading]:
    """Read one JSON object: values by path, or what a health check gathered of Ethernet interfaces."""
    parsed = Parsed[SysfsReading]()
    for document in read_document(text, parsed, "{"):
        manifest = as_dict(document)
        files = {path: value for path, value in manifest.items() if path.startswith("/sys/") and isinstance(value, str)}
        for path, value in files.items():
            _note_valueless(path, value, 1, path, parsed)
        for reading in (*_readings(files), *_interfaces(manifest)):
            parsed.add(reading)
    return parsed


def _split(line: str) -> tuple[str, bool, str]:
    """The path and the value of a line, and whether it is one."""
    found = _PATH.match(line)
    if not found or line[found.end() : found.end() + 1] != ":":
        return line, False, ""
    return found[0], True, line[found.end() + 1 :]


def _note_valueless(path: str, value: str, number: int, line: str, parsed: Parsed[SysfsReading]) -> None:
    """Note a counter that has no value: `N/A (no PMA)` is the kernel's word, anything else can't be read."""
    found = _DEVICE.fullmatch(path)
    counter = _COUNTER.fullmatch(found["rest"]) if found else None
    value = value.strip()
    if not found or not counter or _COUNT.fullmatch(value):
        return
    if missing_of(value[:40]) or value.startswith("N/A"):
        parsed.not_applicable(f"{found['device']} port {counter[1]} {counter[3]}", value or "empty")
    else:
        parsed.cannot_read(number, line, "is no count")


def _readings(files: Mapping[str, str]) -> Iterator[SysfsReading]:
    devices: dict[str, dict[str, str]] = {}
    addresses: dict[str, str] = {}
    netdevs: dict[str, dict[str, str]] = {}
    for path, value in files.items():
        if found := _DEVICE.fullmatch(path):
            devices.setdefault(found["device"], {})[found["rest"]] = value.strip()
            if found["address"]:
                addresses[found["device"]] = found["address"]
        elif found := _NETDEV.fullmatch(path):
            netdevs.setdefault(found["name"], {})[found["rest"]] = value.strip()
            if found["address"]:
                addresses[found["name"]] = found["address"]
    for device, known in devices.items():
        yield from _device(device, known, bus_address(addresses.get(device, "")))
    for name, known in netdevs.items():
        yield _netdev(name, known, bus_address(addresses.get(name, "")))


def _device(device: str, known: Mapping[str, str], address: str | None) -> Iterator[SysfsReading]:
    ports: dict[int, dict[str, str]] = {}
    counters = []
    for rest, value in known.items():
        if found := _OF_PORT.fullmatch(rest):
            ports.setdefault(int(found[1]), {})[found[2]] = value
        elif (found := _COUNTER.fullmatch(rest)) and _COUNT.fullmatch(value):
            counters.append(
                PortCounter(found[3], saturating(found[3], int(value), found[2]), int(found[1]), found[2], device)
            )
    yield Hca(
        device,
        ca_type=_said(known, "hca_type"),
        ports=len(ports) or None,
        firmware=_said(known, "fw_ver"),
        node_guid=guid(known.get("node_guid", "")),
        system_image_guid=guid(known.get("sys_image_guid", "")),
        board=_said(known, "board_id"),
        node_description=_said(known, "node_desc"),
        bus_address=address,
    )
    for number, port in sorted(ports.items()):
        yield _port(device, number, port, known, address)
    yield from counters


def _port(device: str, number: int, port: Mapping[str, str], known: Mapping[str, str], address: str | None) -> HcaPort:
    state, physical = port_state(port.get("state", "")), phys_state(port.get("phys_state", ""))
    rate = port_rate(port.get("rate", ""))
    down = means_no_rate(state, physical)
    return HcaPort(
        device=device,
        port=number,
        state=state,
        phys_state=physical,
        rate_gbps=rate.gbps if rate and not down else None,
        printed_gbps=rate.gbps if rate else None,
        link_layer=_said(port, "link_layer"),
        lid=_hexadecimal(port.get("lid", "")),
        node_guid=guid(known.get("node_guid", "")),
        firmware=_said(known, "fw_ver"),
        width=rate.width if rate and not down else None,
        speed=rate.speed if rate and not down else None,
        sm_lid=_hexadecimal(port.get("sm_lid", "")),
        bus_address=address,
        missing={"rate_gbps": Missing.NOT_APPLICABLE} if down else {},
    )


def _netdev(name: str, known: Mapping[str, str], address: str | None) -> Interface:
    speed = integer_of(known.get("speed", ""))
    return Interface(
        name=name,
        state=known["operstate"].upper() if known.get("operstate") else None,
        carrier={"1": True, "0": False}.get(known.get("carrier", "")),
        mtu=integer_of(known.get("mtu", "")),
        link_type={"1": "ether", "32": "infiniband", "772": "loopback"}.get(known.get("type", "")),
        address=_said(known, "address"),
        speed_mbps=speed if speed is not None and speed > 0 else None,
        bus_address=address,
    )


def _interfaces(manifest: Mapping[str, object]) -> Iterator[Interface]:
    """Interfaces of a health check's gathering: rows of `ip -j`, and the speed that the driver says of each."""
    speeds = as_dict(manifest.get("link_speed"))
    seen = set()
    for row in as_list(manifest.get("intf_status")):
        if interface := interface_of(as_dict(row)):
            seen.add(interface.name)
            yield Interface(
                interface.name, interface.state, interface.carrier, interface.mtu, interface.link_type,
                interface.address, interface.bond, integer_of(str(speeds.get(interface.name, ""))),
            )  # fmt: skip
    for name, speed in speeds.items():
        if name not in seen:
            yield Interface(str(name), speed_mbps=integer_of(str(speed)))


def _said(known: Mapping[str, str], name: str) -> str | None:
    """A value that says something: a file that holds its own name was made up by whoever gathered it."""
    value = known.get(name)
    return value if value and value != name else None


def _hexadecimal(text: str) -> int | None:
    digits = guid(text) if text.startswith("0x") else None
    return int(digits, 16) if digits else None


LINES = Tool(
    "grep -r . /sys/class/infiniband",
    lambda head: bool(_GREP_MARKS.search(without_escapes(head))),
    parse_sysfs_lines,
    file_names=("*sys*infiniband*", "sysfs-ib-*"),
)
MANIFEST = Tool(
    "sysfs manifest", lambda head: bool(_JSON_MARKS.match(head)), parse_sysfs_manifest, file_names=("*sysfs*.json",)
)
