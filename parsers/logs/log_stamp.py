"""The head of a log line: its time in whichever form the tool printed it, the host and program it names, its message.

Source: captures kernel-log/*; forms of dmesg (plain, -T, --time-format=iso, --decode), journalctl (short, short-iso,
short-full, short-unix, short-monotonic), syslog (RFC 3164 and RFC 5424), pstore, raw /dev/kmsg records, and the
`host: ` that pdsh and clush put before each line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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
    DAYLESS = "dayless"
    """Midnight of an unknown day, in the node's time zone."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """When a line says it happened."""

    seconds: float
    clock: Clock


@dataclass(frozen=True, slots=True)
class Head:
    """A line taken apart."""

    stamp: Stamp | None
    host: str
    """Empty where the line names none."""
    program: str
    """`kernel`, `systemd-networkd`, ...; empty where the line names none, as dmesg doesn't."""
    message: str

    @property
    def is_of_the_kernel(self) -> bool:
        """True unless the line names another program."""
        return self.program in ("", "kernel")


_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_GATHERED = re.compile(
    r"(?!kernel:|NVRM:)([A-Za-z0-9][\w.-]{0,63}): {1,4}"
    r"(?=\[ {0,8}\d|\[[A-Z][a-z]{2} |<\d|\d{1,3},\d{1,20},|kern +:|\d{4}-\d\d-\d\dT|[A-Z][a-z]{2} [ \d]\d \d\d:"
    r"|NVRM:|nvidia-nvswitch\d|mlx5_core |kernel:)"
)
_PRIORITY = re.compile(r"<\d{1,3}>(1 (?=\d{4}-))?")
_KMSG = re.compile(r"(?P<priority>\d{1,4}),(?P<sequence>\d{1,20}),(?P<usec>\d{1,20}),[^;]{0,64};")
_LEVEL = re.compile(r"(?:kern|user|daemon|syslog) {0,4}:(?:emerg|alert|crit|err|warn|notice|info|debug) {0,4}: {0,4}")
_UPTIME = re.compile(r"\[\s{0,12}(\d{1,9}(?:\.\d{1,9})?)\]\s?")
_CTIME = re.compile(r"\[(\w{3}) +(\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\]\s?")
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?\s")
_FULL = re.compile(r"[A-Z][a-z]{2} (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? ([A-Z]{2,5}|[+-]\d\d)\s")
_UNIX = re.compile(r"(\d{9,10}\.\d{1,9})\s(?=\S)")
_SYSLOG = re.compile(r"(\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?\s+(?=\S)")
_CLOCK = re.compile(
    r"(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})? (?=(?:[\w.-]{1,64} )?kernel:|[\w.-]{1,64} [\w./@+-]{1,64}\[\d{1,10}\]: )"
)
_ORIGIN = re.compile(r"(?:(?!kernel:)([\w.-]{1,64})\s{1,4})?kernel:\s?")
_TAGGED = re.compile(r"([\w.:-]{1,255}) ([\w./@+-]{1,64})(?:\[\d{1,10}\])?:(?:\s|$)")
_UNSTAMPED = re.compile(r"([\w.-]{1,64}) (systemd|nv-fabricmanager|nvidia-[\w-]{1,40})\[\d{1,10}\]: ")
_RFC5424 = re.compile(r"(\S{1,255}) (\S{1,48}) \S{1,128} \S{1,32} (?:-|\[[^\]]{0,512}\])(?: |$)")
_ESCAPED = re.compile(r"\\x(0a|09|5c)")

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}


def split_stamp(line: str) -> tuple[Stamp | None, str]:
    """The time of a line, None where it carries none, and its message without any head."""
    head = split_head(line)
    return head.stamp, head.message


def split_head(line: str) -> Head:
    """A line taken apart into time, host, program and message."""
    rest = line[:LONGEST]
    if "\x1b" in rest:
        rest = _ESCAPES.sub("", rest)
    gathered = _GATHERED.match(rest)
    if gathered:
        rest = rest[gathered.end() :]
    head = _of_kmsg(rest) or _of_text(rest)
    return Head(head.stamp, gathered[1], head.program, head.message) if gathered else head


def _of_kmsg(text: str) -> Head | None:
    record = _KMSG.match(text)
    if not record:
        return None
    return Head(Stamp(int(record["usec"]) / 1e6, Clock.BOOT), "", "kernel", _unescaped(text[record.end() :]))


def _of_text(text: str) -> Head:
    priority = _PRIORITY.match(text)
    rest = text[priority.end() :] if priority else text
    level = _LEVEL.match(rest)
    rest = rest[level.end() :] if level else rest
    stamp, form, rest = _stamped(rest)
    host, program, rest = _origin(rest, form in _OF_SYSLOG and not level, bool(priority and priority[1]))
    if inner := _UPTIME.match(rest):
        stamp, rest = stamp or _uptime(inner), rest[inner.end() :]
    return Head(stamp, host, program, rest.strip())


def _stamped(text: str) -> tuple[Stamp | None, re.Pattern[str] | None, str]:
    for form, read in _FORMS:
        if found := form.match(text):
            stamp = read(found)
            if stamp is not None:
                return stamp, form, text[found.end() :]
    return None, None, text


def _origin(text: str, by_syslog: bool, by_rfc5424: bool) -> tuple[str, str, str]:
    """Host, program and what is left; only syslog and the journal name programs other than the kernel.

    People cut the time off the journal's lines: then only programs of this field are taken for one."""
    if kernel := _ORIGIN.match(text):
        return kernel[1] or "", "kernel", text[kernel.end() :]
    if not by_syslog and (unstamped := _UNSTAMPED.match(text)):
        return unstamped[1], unstamped[2], text[unstamped.end() :]
    form = _RFC5424 if by_rfc5424 else _TAGGED
    if by_syslog and (tagged := form.match(text)):
        return tagged[1], tagged[2].rpartition("/")[2], text[tagged.end() :]
    return "", "", text


def _unescaped(text: str) -> str:
    """/dev/kmsg writes what is not printable as `\\x0a`; only line ends, tabs and backslashes are undone."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text).strip()


def _uptime(found: re.Match[str]) -> Stamp:
    return Stamp(float(found[1]), Clock.BOOT)


def _unix(found: re.Match[str]) -> Stamp:
    return Stamp(float(found[1]), Clock.EPOCH)


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


def calendar_stamp(month: str, day: str, year: str, time: str) -> Stamp | None:
    """`Feb`, `25`, `2025`, `13:59:45` in the node's time zone; None for a date that does not exist."""
    hour, minute, second = time.split(":")
    return _calendar(Clock.LOCAL, int(year), month, day, hour, minute, second)


def _iso(found: re.Match[str]) -> Stamp | None:
    whole, fraction, zone = found.groups()
    return _of_iso(whole, fraction, zone)


def _full(found: re.Match[str]) -> Stamp | None:
    day, time, fraction, zone = found.groups()
    return _of_iso(f"{day}T{time}", fraction, "+00:00" if zone in ("UTC", "GMT") else None)


def _of_iso(whole: str, fraction: str | None, zone: str | None) -> Stamp | None:
    try:
        moment = datetime.fromisoformat(whole + (zone or "+00:00"))
        seconds = moment.timestamp()
    except (ValueError, OverflowError):
        return None
    return Stamp(seconds + (float(f"0.{fraction}") if fraction else 0.0), Clock.EPOCH if zone else Clock.LOCAL)


def _clock(found: re.Match[str]) -> Stamp:
    hour, minute, second = (int(part) for part in found.groups())
    return Stamp(3600.0 * hour + 60.0 * minute + second, Clock.DAYLESS)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Stamp | None]], ...] = (
    (_UPTIME, _uptime),
    (_CTIME, _ctime),
    (_ISO, _iso),
    (_SYSLOG, _syslog),
    (_FULL, _full),
    (_UNIX, _unix),
    (_CLOCK, _clock),
)
_OF_SYSLOG = (_ISO, _SYSLOG, _FULL, _UNIX, _CLOCK)
"""Forms after which a host and a program may stand."""
