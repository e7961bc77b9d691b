"""`ethtool <interface>`: speed, duplex and link of an interface.

Source: ethtool.c dump_ecmd; ethtool(8).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..parsed import Missing, Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class InterfaceSettings:
    """What an interface runs at; None for what is not printed."""

    interface: str
    speed_mbps: int | None
    """None without a link (`Unknown!`)."""
    duplex: str | None
    port: str | None
    """`Direct Attach Copper`, `FIBRE`, ..."""
    lanes: int | None
    auto_negotiation: bool | None
    link_detected: bool | None
    fec_modes: tuple[str, ...]
    """Those advertised."""
    missing: Mapping[str, Missing] = field(default_factory=dict)


_HEADING = re.compile(r"\s{0,4}Settings for ([\w.@:-]{1,64}):\s{0,8}")
_VALUE = re.compile(r"\s{1,40}([A-Z][\w -]{1,60}):\s{0,40}(.{0,400})")
_CONTINUED = re.compile(r"\s{8,80}[\w/ -]{1,200}")
_SPEED = re.compile(r"(\d{1,9})Mb/s")
_LANES = re.compile(r"\d{1,3}")
_REFUSED = re.compile(r"\s{0,8}(?:netlink error: .{1,200}|Cannot get .{1,200}|No data available)")
_MARKS = re.compile(r"^[ \t]{0,4}Settings for [\w.@:-]{1,64}:[ \t\r]*\n", re.MULTILINE)


def parse_ethtool_settings(text: str) -> Parsed[InterfaceSettings]:
    """Read all interfaces."""
    parsed = Parsed[InterfaceSettings]()
    interface, values = "", dict[str, str]()
    for number, line in numbered(without_escapes(text)):
        if found := _HEADING.fullmatch(line):
            _finish(parsed, interface, values)
            interface, values = found[1], {}
        elif interface and (found := _VALUE.fullmatch(line)):
            values[found[1]] = found[2].strip()
        elif _REFUSED.fullmatch(line):
            parsed.not_applicable(interface or "ethtool", line.strip())
        elif not (interface and values and _CONTINUED.fullmatch(line)) and line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    _finish(parsed, interface, values)
    return parsed


def _finish(parsed: Parsed[InterfaceSettings], interface: str, values: Mapping[str, str]) -> None:
    if not interface:
        return
    speed, lanes = _SPEED.fullmatch(values.get("Speed", "")), _LANES.fullmatch(values.get("Lanes", ""))
    unknown = "Speed" in values and not speed
    parsed.add(
        InterfaceSettings(
            interface=interface,
            speed_mbps=int(speed[1]) if speed else None,
            duplex=_told(values.get("Duplex")),
            port=_told(values.get("Port")),
            lanes=int(lanes[0]) if lanes else None,
            auto_negotiation=_yes(values.get("Auto-negotiation"), "on", "off"),
            link_detected=_yes((values.get("Link detected") or "").split(" ")[0], "yes", "no"),
            fec_modes=tuple((_told(values.get("Advertised FEC modes")) or "").split()),
            missing={"speed_mbps": Missing.NOT_APPLICABLE} if unknown else {},
        )
    )


def _told(text: str | None) -> str | None:
    return text if text and not text.startswith("Unknown!") and text != "Not reported" else None


def _yes(text: str | None, yes: str, no: str) -> bool | None:
    return {yes: True, no: False}.get(text or "")


TOOL = Tool(
    "ethtool",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_ethtool_settings,
    file_names=("*ethtool*",),
    unconfirmed="ethtool(8) and ethtool.c",
)
