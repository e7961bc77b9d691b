"""Tables that people and scripts make: a line of names and rows with commas, semicolons or tabs between their cells.

What the columns mean is told by their names, by whoever reads the table; cells stay text. A table is what no known
tool printed, so it is tried last.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .parsed import Parsed, numbered
from .plain import prompt_of, without_escapes
from .tool import Tool

MOST_ROWS = 100_000
MOST_COLUMNS = 256
LOOKED_AT = 200
"""Rows by which a table is recognized."""
SEPARATORS = (",", "\t", ";")

_NAME = re.compile(r"[A-Za-z_#@(][^,;:\t.!?]{0,59}|[^\s:]{1,60}[A-Za-z)%][^\s:,;.!?]{0,20}")
"""A column's name: a few words, no sentence."""
MOST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Table:
    """A whole table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> int | None:
        """Where a column stands, by its name in any case."""
        names = [column.lower() for column in self.columns]
        return names.index(name.lower()) if name.lower() in names else None


def is_table(head: str) -> bool:
    """Whether the first lines are names and rows of as many cells."""
    blocks = _blocks(head)
    return bool(blocks) and _separator([line for _, line in blocks[0]]) is not None


def parse_table(text: str) -> Parsed[Table]:
    """Read all tables of a text, one below the other; rows of another length are unread."""
    parsed = Parsed[Table]()
    heading: tuple[str, ...] | None = None
    separator, rows = ",", list[tuple[str, ...]]()
    for block in _blocks(text):
        begins = _separator([line for _, line in block])
        if begins is not None and (heading is None or not _goes_on(block, separator, heading, rows)):
            if heading is not None:
                parsed.add(Table(heading, tuple(rows)))
            separator, rows = begins, []
            heading = _cells(block[0][1], separator)
            block = block[1:]
        elif heading is None:
            separator = next((one for one in SEPARATORS if one in block[0][1]), ",")
            heading, block = _cells(block[0][1], separator)[:MOST_COLUMNS], block[1:]
        _take_rows(parsed, block, separator, heading, rows)
    if heading is not None and rows:
        parsed.add(Table(heading, tuple(rows)))
    return parsed


def _take_rows(
    parsed: Parsed[Table],
    lines: Sequence[tuple[int, str]],
    separator: str,
    heading: tuple[str, ...],
    rows: list[tuple[str, ...]],
) -> None:
    for number, line in lines:
        cells = _cells(line, separator)
        if len(cells) != len(heading):
            parsed.cannot_read(number, line, f"has {len(cells)} values for {len(heading)} names")
        elif len(rows) < MOST_ROWS:
            rows.append(cells)
        else:
            parsed.left_out += 1


def _goes_on(
    block: Sequence[tuple[int, str]], separator: str, heading: Sequence[str], rows: Sequence[tuple[str, ...]]
) -> bool:
    """Whether a block after a blank line holds more rows of the same table: as many cells, and alike."""
    first = _cells(block[0][1], separator)
    if len(first) != len(heading) or not rows:
        return len(first) == len(heading)
    return [_is_number(cell) for cell in first] == [_is_number(cell) for cell in rows[-1]]


def _blocks(text: str) -> list[list[tuple[int, str]]]:
    """Lines between blank ones, without comments and prompts."""
    blocks: list[list[tuple[int, str]]] = [[]]
    for number, line in numbered(without_escapes(text.removeprefix("\ufeff"))):
        if not line.strip(" \r"):
            blocks.append([])
        elif not line.startswith("#") and not prompt_of(line):
            blocks[-1].append((number, line))
    return [block for block in blocks if block]


def _separator(lines: Sequence[str]) -> str | None:
    """What stands between the cells; None where these lines are no table."""
    if len(lines) < 2:
        return None
    for separator in SEPARATORS:
        heading, *rows = (_cells(line, separator) for line in lines[:LOOKED_AT])
        fits = [len(row) == len(heading) for row in rows]
        if 2 <= len(heading) <= MOST_COLUMNS and _is_heading(heading) and 2 * sum(fits) >= len(fits) and fits[0]:
            return separator
    return None


def _is_heading(cells: Sequence[str]) -> bool:
    if len(set(cells)) != len(cells):
        return False
    first, *others = cells
    if not first:
        return all(cell for cell in others)
    return all(_NAME.fullmatch(cell) and len(cell.split()) <= MOST_WORDS for cell in cells)


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[+-]?\d{1,20}(?:[.,]\d{1,12})?(?:[eE][+-]?\d{1,3})?", cell))


def _cells(line: str, separator: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in _split(line, separator))


def _split(line: str, separator: str) -> Iterator[str]:
    try:
        yield from next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        yield from line.split(separator)


TABLE = Tool("table", is_table, parse_table)
