"""`nvidia-smi --query-gpu=... --format=csv` and `--query-remapped-rows`: a line of names, a line for each GPU.

Names carry their units in brackets (`memory.used [MiB]`), which `nounits` leaves off the values only. Without the
line of names (`noheader`) nothing can be told.
Source: captures nvidia-smi/query-gpu-*, drivers 590 to 610; names of older drivers from `nvidia-smi --help-query-gpu`.
"""

from __future__ import annotations

import re

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from .draft import Draft
from .errors import complaint_of
from .gpu_fields import CSV, FIELDS, field_called
from .gpu_report import Driver, GpuReport
from .printed_value import bits, whole, word
from .report_document import ReportReading

MOST_COLUMNS = 1_024
MASK = "clocks_event_reasons.active"
_NAME = re.compile(r"([a-z][A-Za-z0-9_]{0,60}(?:\.[A-Za-z0-9_]{1,60}){0,6})(?: ?\[[^\]]{1,16}\])?")
_HEAD = frozenset({"timestamp", "driver_version", "kmd_version", "count"})
_OTHER_TABLES = frozenset({"pid", "gpu_name.pid", "process_name", "retired_pages.address", "retired_pages.cause"})
_MASK_BITS = (
    (0x1, "idle"),
    (0x2, "applications_clocks_setting"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake_slowdown"),
    (0x100, "display_clock_setting"),
)
"""nvmlClocksEventReason*, of nvml.h."""


def columns_of(line: str) -> list[str] | None:
    """The names that a line heads columns with, units left off; None where it is no such line."""
    if "," not in line[:200] and "." not in line[:64]:
        return None
    found = [_NAME.fullmatch(cell.strip()) for cell in line.split(",", MOST_COLUMNS)]
    names = [one[1] for one in found if one]
    if len(names) < len(found) or _OTHER_TABLES.intersection(names):
        return None
    known = sum(field_called(CSV, name) is not None or name in _HEAD for name in names)
    return names if known and (len(names) > 1 or "." in names[0]) and known * 4 >= len(names) else None


def is_query_csv(head: str) -> bool:
    """Whether the first line that is neither a prompt nor a complaint names columns of --query-gpu."""
    for _, line in numbered(without_escapes(head)):
        if line.strip() and not prompt_of(line) and not complaint_of(line):
            return columns_of(line) is not None
    return False


def parse_query_csv(text: str) -> Parsed[ReportReading]:
    """Read every table in the text."""
    parsed = Parsed[ReportReading]()
    columns: list[str] | None = None
    rows: list[Draft] = []
    for number, line in numbered(without_escapes(text)):
        if complaint := complaint_of(line):
            parsed.add(complaint)
        elif not line.strip() or prompt_of(line):
            continue
        elif names := columns_of(line):
            _close(parsed, rows)
            columns, rows = names, []
        elif columns is None:
            parsed.cannot_read(number, line, "no line of names stands above")
        elif row := _row(parsed, number, line, columns):
            rows.append(row)
    _close(parsed, rows)
    return parsed


def _row(parsed: Parsed[ReportReading], number: int, line: str, columns: list[str]) -> Draft | None:
    cells = [cell.strip() for cell in line.split(",", MOST_COLUMNS)]
    if len(cells) != len(columns):
        parsed.cannot_read(number, line, f"has {len(cells)} values for {len(columns)} names")
        return None
    row = Draft()
    for name, cell in zip(columns, cells, strict=True):
        if not row.take(CSV, name, cell):
            parsed.cannot_read(number, f"{name}: {cell}", "is no such value")
    _read_mask(row)
    return row


def _read_mask(row: Draft) -> None:
    """Tell the reasons from their mask where they were not asked for one by one."""
    mask = next((name for name in row.other if name.replace("throttle", "event") == MASK), None)
    value = bits(row.other[mask]) if mask else None
    if value is None or mask is None or row.values.get("event_reasons"):
        return
    del row.other[mask]
    for bit, leaf in _MASK_BITS:
        row.put(FIELDS[f"event_reasons.{leaf}"], "Active" if value & bit else "Not Active")


def _close(parsed: Parsed[ReportReading], rows: list[Draft]) -> None:
    """Give the rows of a table as readings, after what they say of the driver."""
    if not rows:
        return
    head = {name: rows[0].other.pop(name) for name in _HEAD if name in rows[0].other}
    for row in rows[1:]:
        for name in _HEAD:
            row.other.pop(name, None)
    if head:
        parsed.add(
            Driver(
                version=word(head.get("driver_version", "")) or word(head.get("kmd_version", "")),
                attached=whole(head.get("count", "")),
                reported=len(rows),
                time=word(head.get("timestamp", "")),
            )
        )
    for row in rows:
        parsed.add(row.finished(GpuReport))
