"""`ibstat`: the adapters of this machine and their ports.

Width and speed of a port that is down are left over from something else, so its rate is no rate.
Source: capture infiniband/ibstat-*; rdma-core ibstat.c.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..parsed import Missing, Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import number_of
from .complaints import complaint
from .port_words import guid, means_no_rate, phys_state, port_state


@dataclass(frozen=True, slots=True)
class Hca:
    """An adapter; None for what the source does not tell."""

    device: str
    """`mlx5_0`."""
    ca_type: str | None = None
    """`MT4129`."""
    ports: int | None = None
    firmware: str | None = None
    hardware: str | None = None
    node_guid: str | None = None
    system_image_guid: str | None = None
    board: str | None = None
    """The PSID: `MT_0000000838`."""
    node_description: str | None = None
    """`node1720 HCA-1`, as the subnet manager shows it."""
    bus_address: str | None = None


@dataclass(frozen=True, slots=True)
class HcaPort:
    """A port of an adapter, from ibstat, ibstatus or /sys."""

    device: str
    port: int
    state: str | None
    """`Down`, `Initializing`, `Armed`, `Active`."""
    phys_state: str | None
    """`LinkUp`, `Polling`, `Disabled`, ..."""
    rate_gbps: float | None
    """Of all lanes together; None while the port is down."""
    printed_gbps: float | None
    """As printed, link or not."""
    link_layer: str | None
    """`InfiniBand` or `Ethernet`."""
    lid: int | None
    """None where none is assigned."""
    node_guid: str | None = None
    port_guid: str | None = None
    firmware: str | None = None
    width: int | None = None
    """Lanes; not printed by ibstat."""
    speed: str | None = None
    """`HDR`, `NDR`; of ibstat, `FDR10` alone."""
    lmc: int | None = None
    sm_lid: int | None = None
    capability_mask: int | None = None
    bus_address: str | None = None
    missing: Mapping[str, Missing] = field(default_factory=dict)
    """Why a value is not there."""


_DEVICE = re.compile(r"\s{0,8}(?:CA|Router|iWARP RNIC|Switch):? '([\w.-]{1,64})'\s{0,8}")
_PORT = re.compile(r"\s{0,16}Port (\d{1,3}):\s{0,8}")
_VALUE = re.compile(r"\s{0,40}([A-Z][A-Za-z ]{1,30}):\s{0,8}(.{0,200})")
_RATE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(?: \((FDR10)\))?")
_MARKS = re.compile(r"^[ \t]{0,8}(?:CA|Router|iWARP RNIC):? '[\w.-]{1,64}'", re.MULTILINE)

_OF_DEVICE = ("CA type", "Number of ports", "Firmware version", "Hardware version", "Node GUID", "System image GUID")
_OF_PORT = (
    "State",
    "Physical state",
    "Rate",
    "Base lid",
    "LMC",
    "SM lid",
    "Capability mask",
    "Port GUID",
    "Link layer",
)


@dataclass(slots=True)
class _Block:
    """What was read so far of one adapter."""

    device: str
    values: dict[str, str] = field(default_factory=dict)
    ports: dict[int, dict[str, str]] = field(default_factory=dict)
    port: int | None = None


def parse_ibstat(text: str) -> Parsed[Hca | HcaPort]:
    """Read all adapters, each with its ports behind it."""
    parsed = Parsed[Hca | HcaPort]()
    block: _Block | None = None
    for number, line in numbered(without_escapes(text)):
        if found := _DEVICE.fullmatch(line):
            _finish(parsed, block)
            block = _Block(found[1])
        elif block and (found := _PORT.fullmatch(line)):
            block.port = int(found[1])
            block.ports[block.port] = {}
        elif not (block and _take(block, line)):
            if words := complaint(line):
                parsed.not_applicable("ibstat", words)
            elif line.strip() and not prompt_of(line):
                parsed.cannot_read(number, line)
    _finish(parsed, block)
    return parsed


def _take(block: _Block, line: str) -> bool:
    """Keep the value of a line; False where it has none that is known."""
    found = _VALUE.fullmatch(line)
    if not found:
        return False
    name, value = found[1], found[2].strip()
    if name in _OF_PORT and block.port is not None:
        block.ports[block.port][name] = value
    elif name in _OF_DEVICE or name.endswith(" type"):
        block.values["CA type" if name.endswith(" type") else name] = value
    else:
        return False
    return True


def _finish(parsed: Parsed[Hca | HcaPort], block: _Block | None) -> None:
    if not block:
        return
    if block.values or not block.ports:
        parsed.add(_hca(block))
    for number, values in block.ports.items():
        parsed.add(_port(block, number, values))


def _hca(block: _Block) -> Hca:
    values = block.values
    return Hca(
        device=block.device,
        ca_type=values.get("CA type") or None,
        ports=_integer(values.get("Number of ports")),
        firmware=values.get("Firmware version") or None,
        hardware=values.get("Hardware version") or None,
        node_guid=guid(values.get("Node GUID", "")),
        system_image_guid=guid(values.get("System image GUID", "")),
    )


def _port(block: _Block, number: int, values: Mapping[str, str]) -> HcaPort:
    state, physical = port_state(values.get("State", "")), phys_state(values.get("Physical state", ""))
    rate = _RATE.fullmatch(values.get("Rate", ""))
    printed = float(rate[1]) if rate else None
    down = means_no_rate(state, physical)
    return HcaPort(
        device=block.device,
        port=number,
        state=state,
        phys_state=physical,
        rate_gbps=None if down else printed,
        printed_gbps=printed,
        link_layer=values.get("Link layer") or None,
        lid=_integer(values.get("Base lid")) or None,
        node_guid=guid(block.values.get("Node GUID", "")),
        port_guid=guid(values.get("Port GUID", "")),
        firmware=block.values.get("Firmware version") or None,
        speed=rate[2] if rate and not down else None,
        lmc=_integer(values.get("LMC")),
        sm_lid=_integer(values.get("SM lid")) or None,
        capability_mask=_hexadecimal(values.get("Capability mask")),
        missing={"rate_gbps": Missing.NOT_APPLICABLE} if down else {},
    )


def _integer(text: str | None) -> int | None:
    number = number_of(text) if text else None
    return int(number) if number is not None and number.is_integer() else None


def _hexadecimal(text: str | None) -> int | None:
    digits = guid(text) if text else None
    return int(digits, 16) if digits else None


TOOL = Tool(
    "ibstat",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_ibstat,
    file_names=("*ibstat.*", "*ibstat-*", "*ibstat_*", "ibstat", "*ibstat"),
)
