"""`ibswinfo`: an unmanaged switch, its power supplies, fans and temperatures.

Source: captures infiniband/ibswinfo-*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..parsed import Missing, Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import integer_of, missing_of
from .port_words import guid


@dataclass(frozen=True, slots=True)
class SwitchInfo:
    """The switch as a whole; None for rows that are absent or empty."""

    title: str | None = None
    part_number: str | None = None
    serial: str | None = None
    product: str | None = None
    ports: int | None = None
    psid: str | None = None
    guid: str | None = None
    firmware: str | None = None
    uptime: str | None = None
    """`160d-10:38:53`."""
    temperature_c: int | None = None
    max_temperature_c: int | None = None
    fan_status: str | None = None
    """`OK` or `ERROR`: what the switch thinks of its fans, which may all turn."""


@dataclass(frozen=True, slots=True)
class SwitchPsu:
    """One power supply."""

    number: int
    status: str | None = None
    part_number: str | None = None
    serial: str | None = None
    dc_power: str | None = None
    fan_status: str | None = None
    power_w: int | None = None
    missing: Mapping[str, Missing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SwitchFan:
    """One fan."""

    number: int
    rpm: int | None


_ROW = re.compile(r"\s{0,12}([A-Za-z][\w /#().:-]{1,40}?)\s{0,40}\|\s{0,8}(.{0,120})")
_RULE = re.compile(r"[=-]{10,120}\s{0,8}")
_PSU = re.compile(r"PSU(\d{1,2}) status")
_FAN = re.compile(r"fan#(\d{1,2}) \(rpm\)")
_MARKS = re.compile(
    r"^PSU\d{1,2} status {1,20}\||^uptime \(d-h:m:s\) {1,12}\||^fan#\d{1,2} \(rpm\) {1,20}\|", re.MULTILINE
)
_OF_SWITCH = {
    "part number": "part_number", "serial number": "serial", "product name": "product", "PSID": "psid",
    "firmware version": "firmware", "uptime (d-h:m:s)": "uptime", "fan status": "fan_status",
}  # fmt: skip
_NUMBERS_OF_SWITCH = {"ports": "ports", "temperature (C)": "temperature_c", "max temp (C)": "max_temperature_c"}
_OF_PSU = {"P/N": "part_number", "S/N": "serial", "DC power": "dc_power", "fan status": "fan_status"}
_PASSED_OVER = ("revision",)


def parse_ibswinfo(text: str) -> Parsed[SwitchInfo | SwitchPsu | SwitchFan]:
    """Read all switches; a title begins one. A number that is none is noted as unread and missing."""
    return _Reader(Parsed()).read(text)


@dataclass(slots=True)
class _Reader:
    parsed: Parsed[SwitchInfo | SwitchPsu | SwitchFan]
    switch: dict[str, str | int | None] = field(default_factory=dict)
    psus: dict[int, dict[str, str | int | None]] = field(default_factory=dict)
    psu: int | None = None
    fans: list[SwitchFan] = field(default_factory=list)

    def read(self, text: str) -> Parsed[SwitchInfo | SwitchPsu | SwitchFan]:
        titled = False
        for number, line in numbered(without_escapes(text)):
            row = _ROW.fullmatch(line)
            if row and self._take(line, row[1], row[2].strip()):
                continue
            if _RULE.fullmatch(line):
                self.psu = None
                titled = line.startswith("=") and not titled
                continue
            if titled and not row and line.strip():
                self._finish()
                self.switch["title"] = line.strip()
            elif line.strip() and not prompt_of(line):
                self.parsed.cannot_read(number, line)
        self._finish()
        return self.parsed

    def _finish(self) -> None:
        """Give what was read of one switch, and forget it."""
        if self.switch:
            self.parsed.add(SwitchInfo(**self.switch))  # type: ignore[arg-type]
        for number, values in self.psus.items():
            self.parsed.add(SwitchPsu(number=number, **values))  # type: ignore[arg-type]
        for fan in self.fans:
            self.parsed.add(fan)
        self.switch, self.psus, self.psu, self.fans = {}, {}, None, []

    def _take(self, line: str, name: str, value: str) -> bool:
        """Keep a row; False where it says something that can't be used."""
        if found := _PSU.fullmatch(name):
            self.psu = int(found[1])
            self.psus[self.psu] = {"status": value or None}
            return True
        if found := _FAN.fullmatch(name):
            self.fans.append(SwitchFan(int(found[1]), integer_of(value)))
            return not value or integer_of(value) is not None
        if self.psu is not None and line.startswith(" "):
            return self._of_psu(self.psus[self.psu], name, value)
        return self._of_switch(name, value)

    def _of_psu(self, psu: dict[str, str | int | None], name: str, value: str) -> bool:
        if name == "power (W)":
            psu["power_w"] = integer_of(value)
            return psu["power_w"] is not None or not value or missing_of(value) is not None
        if name in _OF_PSU:
            psu[_OF_PSU[name]] = value or None
        return name in _OF_PSU

    def _of_switch(self, name: str, value: str) -> bool:
        if name in _NUMBERS_OF_SWITCH:
            self.switch[_NUMBERS_OF_SWITCH[name]] = integer_of(value)
            return not value or integer_of(value) is not None
        if name == "GUID":
            self.switch["guid"] = guid(value)
        elif name in _OF_SWITCH:
            self.switch[_OF_SWITCH[name]] = value or None
        return name == "GUID" or name in _OF_SWITCH or name in _PASSED_OVER


TOOL = Tool(
    "ibswinfo", lambda head: bool(_MARKS.search(without_escapes(head))), parse_ibswinfo, file_names=("*ibswinfo*",)
)
