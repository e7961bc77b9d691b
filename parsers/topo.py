"""`nvidia-smi topo -m`: how GPUs and NICs reach each other, and which CPUs are near them.

Columns are separated by tabs, or by spaces where somebody pasted it; headings may be wrapped in terminal escapes, and
NIC columns are `NIC3` with a legend or the device's own name. Source: captures nvidia-smi/topo-m-*, drivers 450 to 595.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .parsed import Parsed, numbered

WIDEST = 512
"""Columns read at most."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One cell of the matrix: what traffic between two devices crosses."""

    here: str
    """`GPU0`; a NIC by its device name where the legend tells it, else as the column is headed."""
    there: str
    kind: str
    """`NV`, `PIX`, `PXB`, `PHB`, `NODE` or `SYS`."""
    lanes: int = 0
    """NVLinks of an `NV` connection."""


@dataclass(frozen=True, slots=True)
class Affinity:
    """The CPUs and the NUMA node near a GPU."""

    device: str
    cpus: str
    """`0-55,112-167`, as printed."""
    numa: str
    """`0`, `0-3`, or empty where the table has no such column or says N/A."""


_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,16}m")
_DEVICE = re.compile(r"(?:GPU|NIC)\d{1,3}|(?:mlx|bnxt_re|irdma|efa|ibp|roce)\w{0,24}")
_HEADING = re.compile(r"\s*GPU0(?:\s+(?:GPU\d|NIC\d|CPU|mlx|NUMA)|\s*$)")
_ROW = re.compile(r"\s*([A-Za-z]\w{1,24})\s+(.*)$")
_LEGEND = re.compile(r"\s*(NIC\d{1,3}): (\S{1,40})\s*$")
_CELL = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|NV(\d{1,3})")
_CPUS = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*")
_NUMA = re.compile(r"\d{1,4}(?:-\d{1,4})?")


def parse_topo_matrix(text: str) -> Parsed[Connection | Affinity]:
    """Read the matrix; a row whose cells don't fit its headings is noted as unread rather than guessed at."""
    parsed = Parsed[Connection | Affinity]()
    plain = _ESCAPES.sub("", text)
    names = _legend(plain)
    columns: list[str] = []
    for number, line in numbered(plain):
        if not columns and _HEADING.match(line):
            columns = [names.get(name, name) for name in _DEVICE.findall(line)[:WIDEST]]
        elif columns and (row := _ROW.match(line)) and _DEVICE.fullmatch(row[1]):
            readings = _row(names.get(row[1], row[1]), row[2].split(), columns)
            if readings is None:
                parsed.cannot_read(number, line, f"has not one cell for each of {len(columns)} columns")
            else:
                parsed.readings.extend(readings)
    if not columns and plain.strip():
        parsed.cannot_read(1, plain.strip().partition("\n")[0], "no heading that begins with a GPU")
    return parsed


def _legend(text: str) -> dict[str, str]:
    """`NIC0: mlx5_0` of the legend below the matrix."""
    return {found[1]: found[2] for _, line in numbered(text) if (found := _LEGEND.match(line))}


def _row(device: str, cells: list[str], columns: list[str]) -> list[Connection | Affinity] | None:
    """Connections of one row and, of a GPU's, its affinity; None where the cells don't fit the columns."""
    kinds = [_CELL.fullmatch(cell) for cell in cells[: len(columns)]]
    if len(kinds) < len(columns) or not all(kinds):
        return None
    readings: list[Connection | Affinity] = [
        Connection(device, there, "NV" if kind[1] else kind[0], int(kind[1] or 0))
        for there, kind in zip(columns, kinds, strict=True)
        if kind is not None and kind[0] != "X"
    ]
    rest = cells[len(columns) :]
    if rest and _CPUS.fullmatch(rest[0]):
        numa = rest[1] if len(rest) > 1 and _NUMA.fullmatch(rest[1]) else ""
        readings.append(Affinity(device, rest[0], numa))
    return readings
