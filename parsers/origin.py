"""Whose an output is and when it was printed, where its own text says so.

Forms: `uname -a`, hostname and hostnamectl; the line above nvidia-smi's table, its `Timestamp` and `timestamp`, `date`,
the `Date:` of a bug report. Source: captures nvidia-smi/table-*, q-*, query-gpu-*; GNU coreutils date in C and en_US.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

LOOKED_AT = 4096
"""Characters at the beginning of an output that are looked at."""

_HOST = re.compile(
    r"^(?:uname: )?Linux (?P<uname>[A-Za-z0-9][\w.-]{0,63}) \d{1,3}\.\d{1,4}\S{0,120} #"
    r"|^[ \t]{0,20}(?:Static hostname|Transient hostname|[Hh]ostname) {0,40}[:=] {0,40}"
    r"(?P<named>[A-Za-z0-9][\w.-]{0,63})\s{0,40}$",
    re.MULTILINE,
)
_PRINTS_HOST = re.compile(r"(?:sudo )?(?:/(?:usr/)?bin/)?hostname(?: -[fsA])?|cat /(?:etc|proc/sys/kernel)/hostname")
_NAME = re.compile(r"\s{0,80}([A-Za-z0-9][\w.-]{0,63})\s{0,80}")
NOBODY = frozenset({"localhost", "localhost.localdomain", "none"})
"""Names that no machine is known by."""

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?: (?P<half>[AP]M))?"
_ZONE = r"(?:(?P<zone>[A-Z]{2,5}|[+-]\d\d(?:\d\d)?) )?"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_DATES = (
    re.compile(
        rf"^[ \t]{{0,20}}(?:Timestamp {{1,60}}: |<timestamp>|Date: {{0,4}})?{_DAY} (?P<month>[A-Z][a-z]{{2}}) {{1,2}}"
        rf"(?P<day>\d{{1,2}}) {_CLOCK} {_ZONE}(?P<year>\d{{4}})(?:</timestamp>)?\s{{0,80}}$",
        re.MULTILINE,
    ),
    re.compile(
        rf"^{_DAY} (?P<day>\d{{1,2}}) (?P<month>[A-Z][a-z]{{2}}) (?P<year>\d{{4}}) {_CLOCK}"
        rf"(?: (?P<zone>[A-Z]{{2,5}}|[+-]\d\d(?:\d\d)?))?\s{{0,80}}$",
        re.MULTILINE,
    ),
    re.compile(
        rf"^timestamp,[^\n]{{0,2000}}\n(?P<year>\d{{4}})/(?P<month>\d\d)/(?P<day>\d\d) {_CLOCK}\.\d{{1,6}},",
        re.MULTILINE,
    ),
)


def host_told(command: str, text: str) -> str:
    """The machine that a text names as its own; empty where it names none."""
    beginning = text[:LOOKED_AT]
    if _PRINTS_HOST.fullmatch(command):
        alone = _NAME.fullmatch(beginning)
        name = alone[1] if alone else ""
    else:
        found = _HOST.search(beginning)
        name = (found["uname"] or found["named"]) if found else ""
    return "" if name in NOBODY else name


def time_told(text: str) -> float | None:
    """When it was printed, in seconds since the epoch; where it is not said to be UTC, as the node's clock shows it."""
    beginning = text[:LOOKED_AT]
    found = [date for form in _DATES if (date := form.search(beginning))]
    return _seconds(min(found, key=lambda date: date.start())) if found else None


def is_only_a_date(text: str) -> bool:
    """Whether a text is what `date` prints and no more."""
    return len(text) < 80 and any(form.fullmatch(text.strip()) for form in _DATES)


def _seconds(date: re.Match[str]) -> float | None:
    said = date.groupdict()
    month = int(said["month"]) if said["month"].isdigit() else _month(said["month"])
    hour = int(said["hour"]) % 12 + 12 * (said["half"] == "PM") if said["half"] else int(said["hour"])
    try:
        clock = datetime(int(said["year"]), month, int(said["day"]), hour, int(said["minute"]), int(said["second"]))
        return clock.replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _month(name: str) -> int:
    return _MONTHS.index(name) + 1 if name in _MONTHS else 0
