"""`ipmitool`: sensors (`sensor`; `sdr list`, `elist`, `type`) and the system event log (`sel list`, `elist`).

Names of sensors repeat (a Dell server has four called `Temp`): they are told apart by their place in the list. `ns`,
`na` and `Disabled` say that there is no reading: a GPU that is not there is not at 0 degrees.
Source: captures platform/ipmitool-*; elist, `Pre-Init` and OEM records from ipmitool's ipmi_sel.c and quoted outputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from ..parsed import Missing, Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from ..value import missing_of


@dataclass(frozen=True, slots=True)
class IpmiSensor:
    """One line of a list of sensors; None for what was not printed or is not measured."""

    position: int
    """Place in the list, from 0: names are not unique."""
    name: str
    status: str
    """`ok`; `nc`, `cr`, `nr` past a threshold; `ns`, `na` no reading; or the bits of a discrete sensor."""
    value: float | None
    unit: str | None
    reading: str
    """As printed: `50 degrees C`, `Presence detected`, `0x0180`."""
    number: int | None = None
    entity: str | None = None
    """`3.1`: kind of part and which one of them."""
    lower_fatal: float | None = None
    lower_critical: float | None = None
    lower_caution: float | None = None
    upper_caution: float | None = None
    upper_critical: float | None = None
    upper_fatal: float | None = None
    missing: Mapping[str, Missing] = field(default_factory=dict)
    """Why `value` is not there."""


@dataclass(frozen=True, slots=True)
class IpmiEvent:
    """One record of the system event log."""

    record: int
    moment: str | None
    """`2023-01-18T14:49:30` on the BMC's clock, in its own time zone; None before that clock was set."""
    sensor: str
    """`Critical Interrupt`, with elist `Fan FAN1 Tach`; `OEM record c1`."""
    sensor_number: int | None
    event: str
    """`Bus Fatal Error`."""
    asserted: bool | None
    """False where the condition ended; None where the log does not say."""
    detail: str = ""
    """`Reading 51 > Threshold 45 degrees C`."""


_STATUS = re.compile(r"ok|ns|na|nc|cr|nr|lnc|lcr|lnr|unc|ucr|unr|0x[0-9A-Fa-f]{2,4}")
_HEX = re.compile(r"[0-9A-Fa-f]{1,4}")
_SENSOR_HEX = re.compile(r"([0-9A-Fa-f]{2})h")
_ENTITY = re.compile(r"\d{1,3}\. ?\d{1,3}")
_LISTED = re.compile(r"na|disabled|-?\d[\d.]{0,20}|0x[0-9A-Fa-f]{1,8}")
_LIMIT = re.compile(r"na|-?\d[\d.]{0,20}")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,12})?")
_DATE = re.compile(r"(\d\d)/(\d\d)/(\d{4}|\d\d)")
_CLOCK = re.compile(r"(\d\d:\d\d:\d\d)(?: ([APap][Mm]))?(?: [A-Z]{2,5})?")
_OEM = re.compile(r"OEM record [0-9a-fA-F]{2}")
_SENSOR_NUMBER = re.compile(r"(.{1,80}?) #0x([0-9a-fA-F]{2})")
_EMPTY = "SEL has no entries"

MOST_COLUMNS = 16
LONGEST_NAME = 64
"""Characters; ipmitool cuts names at 16."""


class Form(Enum):
    """The lists of sensors, by their columns."""

    SENSOR = 10
    """name, value, unit, status, six thresholds."""
    SDR_ELIST = 5
    """name, number, status, entity, reading; also `sdr type`."""
    SDR_LIST = 3
    """name, reading, status."""


def parse_sensors(text: str) -> Parsed[IpmiSensor]:
    """Read any of the three lists: `sensor`, `sdr elist` or `sdr type`, `sdr list`."""
    parsed = Parsed[IpmiSensor]()
    position = 0
    for number, line in numbered(without_escapes(text)):
        columns = _columns(line)
        form = _form_of(columns)
        if form:
            parsed.add(_READERS[form](position, columns))
            position += 1
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def parse_events(text: str) -> Parsed[IpmiEvent]:
    """Read `sel list` or `sel elist`; an empty log is said as such."""
    parsed = Parsed[IpmiEvent]()
    for number, line in numbered(without_escapes(text)):
        columns = _columns(line)
        if _is_event(columns):
            parsed.add(_event(columns))
        elif line.strip() == _EMPTY:
            parsed.not_applicable("system event log", _EMPTY)
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _columns(line: str) -> list[str]:
    return [column.strip() for column in line.split("|", MOST_COLUMNS)] if "|" in line else []


def _form_of(columns: list[str]) -> Form | None:
    """Which list a line is of; a bar may close it."""
    if columns and not columns[-1]:
        columns = columns[:-1]
    if not columns or not 0 < len(columns[0]) <= LONGEST_NAME:
        return None
    match len(columns):
        case 10 if _LISTED.fullmatch(columns[1]) and all(_LIMIT.fullmatch(one) for one in columns[4:]):
            return Form.SENSOR
        case 5 if _SENSOR_HEX.fullmatch(columns[1]) and _STATUS.fullmatch(columns[2]) and _ENTITY.fullmatch(columns[3]):
            return Form.SDR_ELIST
        case 3 if _STATUS.fullmatch(columns[2]) and columns[1]:
            return Form.SDR_LIST
    return None


def _listed(position: int, columns: list[str]) -> IpmiSensor:
    """A line of `sensor`: its thresholds are non-recoverable, critical, non-critical, and back."""
    value = _number(columns[1])
    limits = [_number(words) for words in columns[4:10]]
    return IpmiSensor(
        position=position,
        name=columns[0],
        status=columns[3],
        value=value,
        unit=columns[2] or None,
        reading=columns[1],
        lower_fatal=limits[0],
        lower_critical=limits[1],
        lower_caution=limits[2],
        upper_caution=limits[3],
        upper_critical=limits[4],
        upper_fatal=limits[5],
        missing={} if value is not None or columns[1].startswith("0x") else _why(columns[1]),
    )


def _elisted(position: int, columns: list[str]) -> IpmiSensor:
    """A line of `sdr elist`."""
    name, number, status, entity, reading = columns[:5]
    return replace(
        _read(position, name, status, reading), number=int(number.rstrip("h"), 16), entity=entity.replace(" ", "")
    )


def _read(position: int, name: str, status: str, reading: str) -> IpmiSensor:
    """A reading with its unit: `50 degrees C`, `Disabled`; a discrete sensor that is ok has no value to miss."""
    amount = None if reading.startswith("0x") else _NUMBER.match(reading)
    unit = reading[amount.end() :].strip() if amount else ""
    return IpmiSensor(
        position=position,
        name=name,
        status=status,
        value=float(amount[0]) if amount else None,
        unit=unit[:32] or None,
        reading=reading[:200],
        missing={} if amount or status == "ok" else _why(reading),
    )


_READERS: Mapping[Form, Callable[[int, list[str]], IpmiSensor]] = {
    Form.SENSOR: _listed,
    Form.SDR_ELIST: _elisted,
    Form.SDR_LIST: lambda position, columns: _read(position, columns[0], columns[2], columns[1]),
}


def _why(words: str) -> dict[str, Missing]:
    why = missing_of(words) or (Missing.NOT_APPLICABLE if words.lower() in ("no reading", "disabled") else None)
    return {"value": why or Missing.UNREADABLE}


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _is_event(columns: list[str]) -> bool:
    """True of a dated record, one from before the clock was set, and a vendor's record without a date."""
    if len(columns) < 3 or not _HEX.fullmatch(columns[0]):
        return False
    dated = len(columns) > 3 and (columns[1] == "Pre-Init" or bool(_DATE.fullmatch(columns[1])))
    return dated or bool(_OEM.fullmatch(columns[1]))


def _event(columns: list[str]) -> IpmiEvent:
    """Of the columns record, date, time, sensor, event, direction, and what was read."""
    moment = None
    if _OEM.fullmatch(columns[1]):
        about = columns[1:]
    else:
        moment, about = _moment(columns[1], columns[2]), columns[3:]
    sensor = _SENSOR_NUMBER.fullmatch(about[0])
    asserted = {"asserted": True, "deasserted": False}.get(about[2].lower()) if len(about) > 2 else None
    return IpmiEvent(
        record=int(columns[0], 16),
        moment=moment,
        sensor=sensor[1] if sensor else about[0][:120],
        sensor_number=int(sensor[2], 16) if sensor else None,
        event=about[1][:200] if len(about) > 1 else "",
        asserted=asserted,
        detail=" | ".join(about[2 if asserted is None else 3 :])[:400],
    )


def _moment(date: str, clock: str) -> str | None:
    """`01/18/2023`, `14:49:30` -> `2023-01-18T14:49:30`; ipmitool writes the month first."""
    day, time = _DATE.fullmatch(date), _CLOCK.fullmatch(clock)
    if not day or not time:
        return None
    year = day[3] if len(day[3]) == 4 else f"20{day[3]}"
    hour = int(time[1][:2])
    if time[2]:
        hour = hour % 12 + (12 if time[2].lower() == "pm" else 0)
    return f"{year}-{day[1]}-{day[2]}T{hour:02d}{time[1][2:]}"


def _lists_sensors(head: str, form: Form) -> bool:
    """True where at least half of the lines are sensors, and the first of them has this form."""
    if _lists_events(head):
        return False
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)][:200]
    forms = [found for line in lines if (found := _form_of(_columns(line)))]
    return bool(forms) and forms[0] is form and len(forms) * 2 >= len(lines)


def _lists_events(head: str) -> bool:
    lines = (line for _, line in numbered(without_escapes(head)))
    return any(_is_event(_columns(line)) or line.strip() == _EMPTY for line in lines)


SENSOR = Tool(
    "ipmitool sensor",
    lambda head: _lists_sensors(head, Form.SENSOR),
    parse_sensors,
    file_names=("*ipmi*sensor*",),
)
SDR_ELIST = Tool(
    "ipmitool sdr elist",
    lambda head: _lists_sensors(head, Form.SDR_ELIST),
    parse_sensors,
    file_names=("*ipmi*sdr*", "*sdr*"),
)
SDR_LIST = Tool(
    "ipmitool sdr list",
    lambda head: _lists_sensors(head, Form.SDR_LIST),
    parse_sensors,
    file_names=("*ipmi*sdr*", "*sdr*"),
    unconfirmed="ipmitool's manual; OpenBMC evaluation board logs",
)
SEL = Tool("ipmitool sel", _lists_events, parse_events, file_names=("*ipmi*sel*", "*sel*list*", "*sel.txt"))
