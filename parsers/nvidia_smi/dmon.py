"""`nvidia-smi dmon`: a line for each GPU and period; columns are what -s asked for, and -o puts date and time first.

`-` is a value that there is none of, as utilization is in MIG mode.
Source: capture nvidia-smi/dmon-h100-mig-590.txt; columns of -s pucvmet and -o DT from outputs of drivers 450 to 550 in
public repositories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..value import missing_of, number_of
from .errors import Complaint, complaint_of
from .printed_value import whole

MOST_COLUMNS = 128
_WHEN = ("date", "time")
_HEADING = re.compile(r"\s{0,4}#\s{0,12}(?:Date\s{1,12})?(?:Time\s{1,12})?gpu\s{1,12}(?!pid\b)[a-z].{0,2000}")
_HEADING_LINE = re.compile(
    r"^[ \t]{0,4}#[ \t]{0,12}(?:Date[ \t]{1,12})?(?:Time[ \t]{1,12})?gpu[ \t]{1,12}(?!pid\b)[a-z]", re.MULTILINE
)
_UNITS = re.compile(r"\s{0,4}#\s{0,12}(?:YYYYMMDD\s{1,12})?(?:HH:MM:SS\s{1,12})?Idx\b.{0,2000}")
_RULE = re.compile(r"#{20,300}\s{0,40}")


@dataclass(frozen=True, slots=True)
class DmonSample:
    """What was seen of one GPU in one period."""

    gpu: int
    values: Mapping[str, float | None]
    """By the column's name (`pwr`, `gtemp`, `sm`, `mclk`); None where there is no such value."""
    units: Mapping[str, str]
    """`W`, `C`, `%`, `MHz`; empty where the line of units is not there."""
    time: str | None = None
    """As printed, in the node's local time."""


DmonReading: TypeAlias = DmonSample | Complaint


@dataclass(slots=True)
class _Columns:
    names: list[str]
    units: dict[str, str]


def is_dmon(head: str) -> bool:
    """Whether a line heads columns of dmon (pmon's have a pid)."""
    return bool(_HEADING_LINE.search(without_escapes(head)))


def parse_dmon(text: str) -> Parsed[DmonReading]:
    """Read the samples; columns of one name (rxpci of older drivers, twice `pci`) keep the first."""
    parsed = Parsed[DmonReading]()
    columns: _Columns | None = None
    elsewhere = False
    for number, line in numbered(without_escapes(text)):
        if _HEADING.fullmatch(line):
            columns, elsewhere = _Columns(line.replace("#", " ", 1).split()[:MOST_COLUMNS], {}), False
        elif columns and _UNITS.fullmatch(line):
            columns.units = dict(zip(columns.names, line.replace("#", " ", 1).split(), strict=False))
        elif elsewhere or not line.strip() or prompt_of(line):
            continue
        elif complaint := complaint_of(line):
            parsed.add(complaint)
        elif _RULE.fullmatch(line):
            elsewhere = True
            parsed.cannot_read(number, line, "begins another output, which is left aside to the next heading")
        elif columns is None or (sample := _sample(line.split(), columns)) is None:
            parsed.cannot_read(number, line)
        else:
            parsed.add(sample)
    return parsed


def _sample(cells: list[str], columns: _Columns) -> DmonSample | None:
    if len(cells) != len(columns.names):
        return None
    row: dict[str, str] = {}
    for name, cell in zip(columns.names, cells, strict=True):
        row.setdefault(name.lower(), cell)
    when = " ".join(row.pop(name) for name in _WHEN if name in row)
    gpu = whole(row.pop("gpu", ""))
    values = {name: number_of(cell) for name, cell in row.items()}
    if gpu is None or any(value is None and missing_of(row[name]) is None for name, value in values.items()):
        return None
    return DmonSample(
        gpu, values, {name: columns.units[name] for name in values if name in columns.units}, when or None
    )
