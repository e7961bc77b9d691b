"""`nvidia-smi --query-retired-pages=... --format=csv`: a row for each retired page.

A GPU without any has rows all the same, one for each cause, with `[N/A]` for the address: those are no pages.
Source: capture nvidia-smi/retired-pages-l40s-595.csv; rows of real pages as in the manual of nvidia-smi.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..parsed import Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from .errors import Complaint, complaint_of
from .printed_value import bits, word

MOST_COLUMNS = 64
_NAME = re.compile(r"[a-z][a-z_]{0,30}(?:\.[a-z_]{1,30})?")
_OWN = frozenset({"retired_pages.address", "retired_pages.cause", "retired_pages.timestamp"})


@dataclass(frozen=True, slots=True)
class RetiredPage:
    """A page of GPU memory that is used no more."""

    bus_address: str | None
    uuid: str | None
    address: int | None
    cause: str | None
    """`Single Bit ECC` or `Double Bit ECC`."""
    time: str | None


PageReading: TypeAlias = RetiredPage | Complaint


def _columns(line: str) -> list[str] | None:
    names = [cell.strip() for cell in line.split(",", MOST_COLUMNS)]
    if not _OWN.intersection(names) or not all(_NAME.fullmatch(name) for name in names):
        return None
    return names


def is_retired_pages(head: str) -> bool:
    """Whether a line names columns of --query-retired-pages."""
    return any(_columns(line) for _, line in numbered(without_escapes(head)) if "retired_pages." in line)


def parse_retired_pages(text: str) -> Parsed[PageReading]:
    """Read the rows; those without an address are noted as not applicable, by GPU and cause."""
    parsed = Parsed[PageReading]()
    columns: list[str] | None = None
    for number, line in numbered(without_escapes(text)):
        if complaint := complaint_of(line):
            parsed.add(complaint)
        elif not line.strip() or prompt_of(line):
            continue
        elif names := _columns(line):
            columns = names
        elif columns is None:
            parsed.cannot_read(number, line, "no line of names stands above")
        else:
            _read_row(parsed, number, line, columns)
    return parsed


def _read_row(parsed: Parsed[PageReading], number: int, line: str, columns: list[str]) -> None:
    cells = [cell.strip() for cell in line.split(",", MOST_COLUMNS)]
    if len(cells) != len(columns):
        parsed.cannot_read(number, line, f"has {len(cells)} values for {len(columns)} names")
        return
    row = dict(zip(columns, cells, strict=True))
    printed = row.get("retired_pages.address")
    if printed is not None and word(printed) is None:
        parsed.not_applicable(_subject(row), printed)
        return
    address = bits(printed) if printed else None
    if printed and address is None:
        parsed.cannot_read(number, line, "has no such address")
        return
    parsed.add(
        RetiredPage(
            bus_address=bus_address(row.get("gpu_bus_id", "")),
            uuid=word(row.get("gpu_uuid", "")),
            address=address,
            cause=word(row.get("retired_pages.cause", "")),
            time=word(row.get("retired_pages.timestamp", "")),
        )
    )


def _subject(row: Mapping[str, str]) -> str:
    """The GPU and the cause that there are no pages of: `0000:01:00.0 Single Bit ECC`."""
    gpu = bus_address(row.get("gpu_bus_id", "")) or row.get("gpu_uuid", "")
    return " ".join(word for word in (gpu, row.get("retired_pages.cause", "")) if word)
