"""`mlxlink`: one port's link, its module (-m), and its counters and bit error rates (-c).

`15E-255` is the floor of a rate: no error was seen. Raw errors under forward error correction are normal.
Source: captures infiniband/mlxlink-*; manual of NVIDIA MFT.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..parsed import Missing, Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import missing_of, number_of


@dataclass(frozen=True, slots=True)
class BitErrorRate:
    """One rate; None with `is_floor` where no error was seen since the counters were cleared."""

    name: str
    """`effective_physical`, `raw_physical`, `symbol`."""
    rate: float | None
    is_floor: bool = False


@dataclass(frozen=True, slots=True)
class MlxlinkReport:
    """What one run said of a port; None for what is absent, with `missing` where it was printed as none."""

    state: str | None = None
    physical_state: str | None = None
    speed: str | None = None
    """`100G`, `IB-NDR`."""
    width: int | None = None
    """Lanes."""
    fec: str | None = None
    status_opcode: int | None = None
    recommendation: str | None = None
    """`No issue was observed`, `Bad signal integrity`: stands on its own, whatever the opcode."""
    firmware: str | None = None
    mft: str | None = None
    temperature_c: float | None = None
    temperature_limits_c: tuple[float, float] | None = None
    voltage_mv: float | None = None
    identifier: str | None = None
    """`QSFP28`, `OSFP`."""
    cable_type: str | None = None
    vendor: str | None = None
    vendor_serial: str | None = None
    vendor_part: str | None = None
    minutes_since_clear: float | None = None
    effective_errors: int | None = None
    raw_errors_per_lane: tuple[int, ...] = ()
    link_down: int | None = None
    link_recoveries: int | None = None
    rates: tuple[BitErrorRate, ...] = ()
    missing: Mapping[str, Missing] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)
    """Values with no field of their own, as printed."""

    @property
    def effective_rate(self) -> BitErrorRate | None:
        """After error correction, or as near to it as was printed."""
        return next((rate for rate in self.rates if rate.name in ("effective_physical", "symbol")), None)

    @property
    def raw_rate(self) -> BitErrorRate | None:
        """Before error correction."""
        return next((rate for rate in self.rates if rate.name == "raw_physical"), None)


_ROW = re.compile(r"([A-Za-z][\w ().\[\]/%-]{1,60}?)\s{0,40}: ?(.{0,300})")
_LIMITED = re.compile(r"(-?\d{1,6}(?:\.\d{1,3})?) \[(-?\d{1,6}(?:\.\d{1,3})?)\.\.(-?\d{1,6}(?:\.\d{1,3})?)\]")
_RATE = re.compile(r"(\d{1,2}(?:\.\d{1,4})?)E-(\d{1,3})", re.IGNORECASE)
_WIDTH = re.compile(r"(\d{1,2})x")
_COUNT = re.compile(r"\d{1,20}")
_HEADING = re.compile(r"[A-Z][\w ()/-]{3,60}(?:Info|Information)?\s{0,8}")
_RULE = re.compile(r"-{3,120}\s{0,8}")
_MARKS = re.compile(
    r"^(?:Effective Physical BER|Raw Physical BER|Raw Physical Errors Per Lane|Status Opcode|Physical state|"
    r"Enabled Link Speed(?: \(Ext\.\))?) {1,40}: ",
    re.MULTILINE,
)
FLOOR_EXPONENT = 200
"""Rates are printed as mantissa and exponent of a byte each: 15E-255, and on newer devices 15E-238, are the floor."""

_TEXTS = {
    "State": "state", "Physical state": "physical_state", "Speed": "speed", "FEC": "fec",
    "Recommendation": "recommendation", "Firmware Version": "firmware", "MFT Version": "mft",
    "Identifier": "identifier", "Cable Type": "cable_type", "Vendor Name": "vendor",
    "Vendor Serial Number": "vendor_serial", "Vendor Part Number": "vendor_part",
}  # fmt: skip
_NUMBERS = {"Voltage [mV]": "voltage_mv", "Time Since Last Clear [Min]": "minutes_since_clear"}
_COUNTS = {
    "Status Opcode": "status_opcode", "Effective Physical Errors": "effective_errors",
    "Link Down Counter": "link_down", "Link Error Recovery Counter": "link_recoveries",
}  # fmt: skip
_RATES = {
    "Effective Physical BER": "effective_physical", "Raw Physical BER": "raw_physical", "Symbol BER": "symbol",
}  # fmt: skip


@dataclass(slots=True)
class _Draft:
    """What was read so far of one report."""

    names: set[str] = field(default_factory=set)
    """Of the rows that were there."""
    values: dict[str, object] = field(default_factory=dict)
    missing: dict[str, Missing] = field(default_factory=dict)
    other: dict[str, str] = field(default_factory=dict)

    def finish(self, parsed: Parsed[MlxlinkReport]) -> None:
        if self.values or self.other or self.missing:
            parsed.add(MlxlinkReport(**self.values, missing=self.missing, other=self.other))  # type: ignore[arg-type]


def parse_mlxlink(text: str) -> Parsed[MlxlinkReport]:
    """Read all reports; a row that is there already begins the next."""
    parsed = Parsed[MlxlinkReport]()
    draft = _Draft()
    for number, line in numbered(without_escapes(text)):
        row = _ROW.fullmatch(line.strip())
        if row:
            name = row[1].strip()
            if name in draft.names:
                draft.finish(parsed)
                draft = _Draft()
            draft.names.add(name)
            if not _take(name, row[2].strip(), draft.values, draft.missing, draft.other):
                parsed.cannot_read(number, line, "no value of the kind that stands here")
        elif line.strip() and not _RULE.fullmatch(line) and not _HEADING.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    draft.finish(parsed)
    return parsed


def _take(name: str, value: str, values: dict[str, object], missing: dict[str, Missing], other: dict[str, str]) -> bool:
    """Keep the value of one row; False where it is not of the kind that stands there."""
    known = _TEXTS.get(name) or _NUMBERS.get(name) or _COUNTS.get(name) or _FIELDS.get(name)
    if known is None and name not in _RATES:
        if len(other) < 200:
            other[name] = value
        return True
    if why := missing_of(value):
        missing[known or _RATES[name]] = why
        return True
    if name in _TEXTS:
        values[_TEXTS[name]] = value
    elif name in _NUMBERS or name in _COUNTS:
        return _number(name, value, values)
    elif name == "Temperature [C]":
        return _temperature(value, values)
    elif name == "Width":
        return _width(value, values)
    elif name == "Raw Physical Errors Per Lane":
        return _lanes(value, values)
    else:
        return _rate(_RATES[name], value, values)
    return True


_FIELDS = {"Temperature [C]": "temperature_c", "Width": "width", "Raw Physical Errors Per Lane": "raw_errors_per_lane"}


def _number(name: str, value: str, values: dict[str, object]) -> bool:
    number = number_of(value)
    if number is None or (name in _COUNTS and not number.is_integer()):
        return False
    values[_NUMBERS.get(name) or _COUNTS[name]] = int(number) if name in _COUNTS else number
    return True


def _width(value: str, values: dict[str, object]) -> bool:
    """`4x`."""
    found = _WIDTH.fullmatch(value)
    if found:
        values["width"] = int(found[1])
    return found is not None


def _lanes(value: str, values: dict[str, object]) -> bool:
    """`0,0,0,0`: all of them or none, since their order tells the lane."""
    lanes = [lane.strip() for lane in value.split(",")]
    if not all(_COUNT.fullmatch(lane) for lane in lanes):
        return False
    values["raw_errors_per_lane"] = tuple(int(lane) for lane in lanes)
    return True


def _temperature(value: str, values: dict[str, object]) -> bool:
    """`54 [-5..75]`: the reading, then its limits."""
    if found := _LIMITED.fullmatch(value):
        values["temperature_c"] = float(found[1])
        values["temperature_limits_c"] = (float(found[2]), float(found[3]))
        return True
    values["temperature_c"] = number_of(value)
    return values["temperature_c"] is not None


def _rate(name: str, value: str, values: dict[str, object]) -> bool:
    found = _RATE.fullmatch(value)
    if not found:
        return False
    is_floor = int(found[2]) >= FLOOR_EXPONENT
    rate = BitErrorRate(name, None if is_floor else float(f"{found[1]}e-{found[2]}"), is_floor)
    known = values.get("rates", ())
    values["rates"] = (*known, rate) if isinstance(known, tuple) else (rate,)
    return True


TOOL = Tool(
    "mlxlink", lambda head: bool(_MARKS.search(without_escapes(head))), parse_mlxlink, file_names=("*mlxlink*",)
)
