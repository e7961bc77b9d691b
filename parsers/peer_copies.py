"""Tables of copies between GPUs that ran at once: `GPU0->GPU4 + GPU1->GPU6`, write, 2.7 GB/s in total.

The flows stand in one column, the direction of the transactions (`write`, `read`) in another or in the name of the
rate's column, which names its unit. A rate is the total of all flows of its row unless its column says that it is a
mean or a single one's: such a column is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .table import Table

MOST_FLOWS = 64


@dataclass(frozen=True, slots=True)
class PeerCopies:
    """One measurement of one copy or several at once."""

    flows: tuple[tuple[int, int], ...]
    """Source and destination GPU of each, by number."""
    operation: str
    """`write`, `read`, or empty where the table does not say."""
    total_gbs: float
    """GB/s of all flows together."""


_FLOW = re.compile(r"(?:GPU|gpu) ?(\d{1,3}) ?(?:->|=>|→|to) ?(?:GPU|gpu)? ?(\d{1,3})(?!\d)")
_RATE = re.compile(r"(.{0,40}?)[ _(\[]?(?:GBps|GB/s|GB_s|GBs)[)\]]?", re.IGNORECASE)
_NOT_TOTAL = re.compile(r"per|each|mean|avg|single|min|max", re.IGNORECASE)
_OPERATION = re.compile(r"(?<![A-Za-z])(write|read)s?(?![A-Za-z])", re.IGNORECASE)


def peer_copies(table: Table) -> tuple[PeerCopies, ...]:
    """The measurements that a table holds; none of a table about something else."""
    flows = _flows_at(table)
    if flows is None:
        return ()
    rates = [at for at, name in enumerate(table.columns) if at != flows and _is_rate(name)]
    found = (_copies(row, row[flows], row[at], table.columns[at]) for row in table.rows for at in rates)
    return tuple(one for one in found if one)


def _copies(row: Sequence[str], flows: str, rate: str, column: str) -> PeerCopies | None:
    pairs = tuple((int(here), int(there)) for here, there in _FLOW.findall(flows[:2000])[:MOST_FLOWS])
    said = next((found[1].lower() for cell in (column, *row) if (found := _OPERATION.search(cell[:200]))), "")
    try:
        total = float(rate)
    except ValueError:
        return None
    return PeerCopies(pairs, said, total) if pairs and 0 <= total < float("inf") else None


def _flows_at(table: Table) -> int | None:
    """The column in which every cell names a flow."""
    columns = zip(*table.rows, strict=False)
    return next((at for at, cells in enumerate(columns) if all(_FLOW.search(cell[:2000]) for cell in cells)), None)


def _is_rate(name: str) -> bool:
    found = _RATE.fullmatch(name.strip())
    return bool(found and not _NOT_TOTAL.search(found[1]))
