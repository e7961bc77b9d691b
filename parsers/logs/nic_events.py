"""Network interfaces in the logs: links, modules and firmware of mlx5 adapters, bonds, carriers.

Source: captures kernel-log/dmesg-mlx5-*, pstore-*, syslog-ib6-*; Linux drivers/net/ethernet/mellanox/mlx5/core/events.c
and health.c for the wording.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ..pci import bus_address
from .xid import PCI


@dataclass(frozen=True, slots=True)
class NicLink:
    """The mlx5 driver says that a port's link went up or down."""

    pci: str
    name: str
    """The interface or RDMA device the line names: `enp83s0f0np0`, `mlx5_3`, `ib0`."""
    up: bool


@dataclass(frozen=True, slots=True)
class NicModule:
    """What happened to a port's module or cable: `Port module event: module 1, Cable unplugged`."""

    pci: str | None
    """None where the line names no device."""
    module: int
    state: str
    """`Cable plugged`, `Cable unplugged`, `Cable error` as printed."""
    reason: str
    """`High Temperature`, `Bus stuck`, ... for an error, otherwise empty."""


@dataclass(frozen=True, slots=True)
class NicHealth:
    """The adapter's firmware is ill: it stopped answering, or it says why."""

    pci: str | None
    """None where the line names no device."""
    text: str
    syndrome: int | None
    """`synd 0x8`; zero and None are different."""


@dataclass(frozen=True, slots=True)
class NicCommand:
    """A command that the adapter's firmware did not answer, or refused."""

    pci: str
    command: str
    """`ENABLE_HCA`."""
    opcode: int
    timed_out: bool
    """False where it was refused, which on restricted functions is ordinary."""


@dataclass(frozen=True, slots=True)
class NicPower:
    """`Detected insufficient power on the PCIe slot (27W)`; at start-up mostly cosmetic."""

    pci: str
    watts: int


@dataclass(frozen=True, slots=True)
class NicTemperature:
    """`High temperature on sensors with bit set ...`."""

    pci: str
    text: str


@dataclass(frozen=True, slots=True)
class TransmitTimeout:
    """`NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 0 timed out`."""

    interface: str
    driver: str
    queue: int


@dataclass(frozen=True, slots=True)
class BondMember:
    """A bond saw one of its members change: the consequence of a link, not the cause."""

    bond: str
    member: str
    up: bool | None
    """None for a change of speed."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """systemd-networkd saw an interface lose or gain its carrier."""

    interface: str
    gained: bool


NicEvent: TypeAlias = (
    NicLink | NicModule | NicHealth | NicCommand | NicPower | NicTemperature | TransmitTimeout | BondMember | Carrier
)

_MLX5 = rf"mlx5_core(?: ({PCI}))?"
_LINK = re.compile(
    rf"mlx5_core ({PCI}) (\S{{1,32}}): (?:Port: \d{{1,2}} )?Link (up|down|active)\b",
    re.IGNORECASE,
)
_DEVICE = re.compile(rf"{_MLX5}(?: \S{{1,32}})?: ")
_MODULE = re.compile(r"Port module event(?:\[error\])?: module (\d{1,3}), ([\w ]{1,40})(?:, ([^,]{1,60}))?")
_SYNDROME = re.compile(r"\bsynd (0x[0-9a-fA-F]{1,4}): ([^,]{1,80})")
_HEALTH = re.compile(
    r"(device's health compromised - reached miss count|Health issue observed, .{1,80}|Fatal error \d{1,4} detected"
    r"|FW is unable to respond to initialization segment reads)"
)
_COMMAND = re.compile(r"\b([A-Z][A-Z0-9_]{2,40})\((0x[0-9a-fA-F]{1,4})\) (?:timeout|.{0,40}?failed)")
_POWER = re.compile(r"Detected insufficient power on the PCIe slot \((\d{1,4})W\)")
_HOT = re.compile(r"High temperature on sensors .{1,120}")
_WATCHDOG = re.compile(r"NETDEV WATCHDOG: (\S{1,32}) \((\w{1,32})\): transmit queue (\d{1,4}) timed out")
_BOND = re.compile(
    r"(\S{1,32}): (?:\((?:slave|port) (\S{1,32})\): )?"
    r"(?:link status definitely (up|down)(?: for interface (\S{1,32}),)?|speed changed to \d{1,7} on port)"
)
_CARRIER = re.compile(r"(\S{1,32}): (lost|gained) carrier", re.IGNORECASE)


def read_carrier(message: str) -> Carrier | None:
    """A message of systemd-networkd."""
    found = _CARRIER.match(message)
    return Carrier(found[1], found[2].lower() == "gained") if found else None


def _link(message: str) -> NicLink | None:
    found = _LINK.search(message)
    address = bus_address(found[1]) if found else None
    return NicLink(address, found[2], found[3].lower() != "down") if found and address else None


def _module(message: str) -> NicModule | None:
    found = _MODULE.search(message)
    return NicModule(_device(message), int(found[1]), found[2].strip(), (found[3] or "").strip()) if found else None


def _health(message: str) -> NicHealth | None:
    if found := _SYNDROME.search(message):
        return NicHealth(_device(message), found[2].strip(" ."), int(found[1], 16))
    found = _HEALTH.search(message)
    return NicHealth(_device(message), found[1].strip(" ."), None) if found else None


def _command(message: str) -> NicCommand | None:
    found, device = _COMMAND.search(message), _device(message)
    return NicCommand(device, found[1], int(found[2], 16), found[0].endswith("timeout")) if found and device else None


def _power(message: str) -> NicPower | None:
    found, device = _POWER.search(message), _device(message)
    return NicPower(device, int(found[1])) if found and device else None


def _hot(message: str) -> NicTemperature | None:
    found, device = _HOT.search(message), _device(message)
    return NicTemperature(device, found[0].strip()) if found and device else None


def _watchdog(message: str) -> TransmitTimeout | None:
    found = _WATCHDOG.search(message)
    return TransmitTimeout(found[1], found[2], int(found[3])) if found else None


def _bond(message: str) -> BondMember | None:
    found = _BOND.match(message)
    member = (found[2] or found[4]) if found else None
    if not found or not member:
        return None
    return BondMember(found[1], member, None if not found[3] else found[3] == "up")


def _device(message: str) -> str | None:
    found = _DEVICE.search(message)
    return bus_address(found[1]) if found and found[1] else None


READERS: tuple[tuple[str, Callable[[str], NicEvent | None]], ...] = (
    ("mlx5_core", _link),
    ("Port module event", _module),
    ("mlx5_core", _health),
    ("mlx5_core", _command),
    ("insufficient power", _power),
    ("High temperature", _hot),
    ("NETDEV WATCHDOG", _watchdog),
    ("link status definitely", _bond),
    ("speed changed to", _bond),
)
"""A word that is cheap to look for, and who reads the line when it is there."""
