"""A counter explained from the tables."""

from __future__ import annotations

from ..incident.codes import cite
from ..incident.counter_facts import CounterFacts, Limit, counters
from .counters import ERROR_COUNTERS
from .page import Page


def find_counter(name: str) -> CounterFacts | None:
    """By id, key, the last part of its path, our own field name, or one of the names a row stands for."""
    wanted = name.lower()
    if own := ERROR_COUNTERS.get(name):
        return own.facts
    for row in counters().values():
        if wanted in _names(row) or any(_stands_for(pattern, wanted) for pattern in _names(row)):
            return row
    return None


def tell_counter(page: Page, row: CounterFacts) -> None:
    """All that is known of a counter."""
    page.heading(row.id)
    page.row("meaning", row.meaning)
    page.row("part", ", ".join(row.component))
    page.row("counts", f"{row.unit}, {'since the last clear or reset' if row.cumulative else 'as it stands now'}")
    page.row("normal", row.normal)
    page.row("suspicious", row.suspicious)
    page.row("bad", row.bad)
    page.rows("limits", (_limit(limit) for limit in row.limits))
    page.row("act", row.action)
    page.row("note", row.note)
    if width := row.width:
        known = cite("widths", width.source)
        page.row("width", f"{width.bits} bits: {width.ceiling} means at least {width.ceiling} ({known})")
    page.row("NVML field", ", ".join(str(number) for number in row.nvml_fields))
    page.row("read from", row.path or row.key)
    page.rows("sources", (cite("counters", source) for source in row.sources))


def _names(row: CounterFacts) -> tuple[str, ...]:
    parts = [part.strip() for part in row.id.replace(",", "/").split("/")]
    return tuple(name.lower() for name in (row.id, row.key, row.path.rpartition("/")[2], *parts) if name)


def _stands_for(pattern: str, name: str) -> bool:
    """`..._count_*` stands for `..._count_l3`."""
    return pattern.endswith("_*") and len(name) > len(pattern) - 1 and name.startswith(pattern[:-1])


def _limit(limit: Limit) -> str:
    return f"{limit.word} from {limit.value:g}{f' a {limit.per}' if limit.per else ''}"
