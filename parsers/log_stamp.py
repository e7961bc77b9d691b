"""The head of a kernel log line: its time in whichever form the tool printed it, and where the message begins.

Source: captures kernel-log/*; forms of dmesg (plain, -T, --time-format=iso, --decode), journalctl, syslog, pstore and
raw /dev/kmsg records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

LONGEST = 8192
"""Characters of a line that are looked at; the kernel's own limit is about 1000 a record."""


class Clock(StrEnum):
    """What the seconds of a stamp count from."""

    BOOT = "boot"
    """The node's boot."""
    EPOCH = "epoch"
    """1970 in UTC, on the node's clock."""
    LOCAL = "local"
    """1970, but in the node's unknown time zone (`dmesg -T` prints none)."""
    YEARLESS = "yearless"
    """The first of January of an unknown year, in the node's time zone (syslog)."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """When a line says it happened."""

    seconds: float
    clock: Clock


_PRIORITY = re.compile(r"<\d{1,3}>")
_KMSG = re.compile(r"(?P<priority>\d{1,4}),(?P<sequence>\d{1,20}),(?P<usec>\d{1,20}),[^;]{0,64};")
_LEVEL = re.compile(r"(?:kern|user|daemon|syslog)\s*:(?:emerg|alert|crit|err|warn|notice|info|debug)\s*:\s*")
_UPTIME = re.compile(r"\[\s{0,12}(\d{1,9}(?:\.\d{1,9})?)\]\s?")
_CTIME = re.compile(r"\[(\w{3}) +(\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\]\s?")
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?\s")
_SYSLOG = re.compile(r"(\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?\s+(?=\S)")
_ORIGIN = re.compile(r"(?:(?!kernel:)[\w.-]{1,64}\s+)?kernel:\s?")
_ESCAPED = re.compile(r"\\x(0a|09|5c)")

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}


def split_stamp(line: str) -> tuple[Stamp | None, str]:
    """The time of a line, None where it carries none, and its message without any head."""
    rest = line[:LONGEST]
    if record := _KMSG.match(rest):
        return Stamp(int(record["usec"]) / 1e6, Clock.BOOT), _unescaped(rest[record.end() :])
    rest = _without(_PRIORITY, rest)
    rest = _without(_LEVEL, rest)
    stamp: Stamp | None = None
    for form, read in _FORMS:
        if found := form.match(rest):
            read_stamp = read(found)
            if read_stamp is not None:
                stamp, rest = read_stamp, rest[found.end() :]
                break
    rest = _without(_ORIGIN, rest)
    if inner := _UPTIME.match(rest):
        stamp, rest = stamp or _uptime(inner), rest[inner.end() :]
    return stamp, rest.strip()


def _without(head: re.Pattern[str], text: str) -> str:
    found = head.match(text)
    return text[found.end() :] if found else text


def _unescaped(text: str) -> str:
    """/dev/kmsg writes what is not printable as `\\x0a`; only line ends, tabs and backslashes are undone."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text).strip()


def _uptime(found: re.Match[str]) -> Stamp:
    return Stamp(float(found[1]), Clock.BOOT)


def _ctime(found: re.Match[str]) -> Stamp | None:
    _, month, day, hour, minute, second, year = found.groups()
    return _calendar(Clock.LOCAL, int(year), month, day, hour, minute, second)


def _syslog(found: re.Match[str]) -> Stamp | None:
    leap_year_before_epoch_counts = 1972
    stamp = _calendar(Clock.YEARLESS, leap_year_before_epoch_counts, *found.groups())
    if stamp is None:
        return None
    return Stamp(stamp.seconds - datetime(leap_year_before_epoch_counts, 1, 1, tzinfo=UTC).timestamp(), stamp.clock)


def _calendar(clock: Clock, year: int, month: str, day: str, hour: str, minute: str, second: str) -> Stamp | None:
    number = _MONTHS.get(month)
    if number is None:
        return None
    try:
        moment = datetime(year, number, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError:
        return None
    return Stamp(moment.timestamp(), clock)


def _iso(found: re.Match[str]) -> Stamp | None:
    whole, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(whole + (zone or "+00:00"))
    except ValueError:
        return None
    seconds = moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0)
    return Stamp(seconds, Clock.EPOCH if zone else Clock.LOCAL)


_FORMS = ((_UPTIME, _uptime), (_CTIME, _ctime), (_ISO, _iso), (_SYSLOG, _syslog))
