"""`nvidia-smi topo -m`: how GPUs and NICs reach each other, and which CPUs are near them.

NIC columns are `NIC3` with a legend below, or the device's own name. Cells and headings may have run together: what
then has one reading only is read, the rest of the row is noted as unread. The row's own column must say `X`, or nothing
of it is believed.
Source: captures nvidia-smi/topo-m-*, drivers 450 to 595.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from .matrix import CELL, Heading, heading_of

MOST_ROWS = 1_024
"""Rows of one matrix that are looked at."""


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
    """The CPUs and the NUMA node near a GPU, as printed; None where the table has no such column or says N/A."""

    device: str
    cpus: str | None
    """`0-55,112-167`."""
    numa: str | None
    """`0`, `0-3`."""
    gpu_numa: str | None = None
    """The NUMA node that the GPU's own memory is, on boards where it is one."""


_ROW = re.compile(r"\s*([A-Za-z][\w.-]{1,31})\s+(\S.*)")
_LEGEND = re.compile(r"\s*(NIC\d{1,3}): (\S{1,40})(?:\s|$)")
_KNOWN = re.compile(r"\s*(?:(?:NIC )?Legend:|(?:X|SYS|NODE|PHB|PXB|PIX|NV#)\s+= \S.*)\s*$")
_FUSED_CELLS = re.compile(r"(?:SYS|NODE|PHB|PXB|PIX|NV\d{1,3}|X){2,8}")
_EACH_CELL = re.compile(r"SYS|NODE|PHB|PXB|PIX|NV\d{1,3}|X")
_CELL_AND_CPUS = re.compile(
    r"(S(?:YS?)?|NO(?:DE?)?|PHB?|PXB?|PIX?)(\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?){0,500})"
)
_RANGES = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?){0,500}")
_BEGINS = {"S": "SYS", "N": "NODE", "PH": "PHB", "PX": "PXB", "PI": "PIX"}
"""The kinds by the letters that tell them apart. Where `NV18` ends and a CPU's number begins, nobody can tell."""


@dataclass(slots=True)
class _Table:
    """One matrix with its legend, which stands below it."""

    heading: Heading
    rows: list[tuple[int, str, str]] = field(default_factory=list)
    """Line number, line, device."""
    names: dict[str, str] = field(default_factory=dict)


def parse_topo_matrix(text: str) -> Parsed[Connection | Affinity]:
    """Read the matrices of a text; a row whose cells don't fit its headings is noted as unread, not guessed at."""
    parsed = Parsed[Connection | Affinity]()
    table: _Table | None = None
    for number, line in numbered(without_escapes(text)):
        if heading := heading_of(line):
            _settle(table, parsed)
            table = _Table(heading)
        elif not line.strip() or prompt_of(line) or _KNOWN.match(line):
            continue
        elif table is None:
            parsed.cannot_read(number, line, "stands above a heading that begins with a GPU")
        elif found := _LEGEND.match(line):
            table.names[found[1]] = found[2]
        elif (row := _ROW.match(line)) and row[1] in table.heading.devices and len(table.rows) < MOST_ROWS:
            table.rows.append((number, line, row[1]))
        else:
            parsed.cannot_read(number, line, "begins with no device of the headings")
    _settle(table, parsed)
    return parsed


def prints_matrix(head: str) -> bool:
    """True of a text with a heading and, below it, a row whose own column says X among kinds of connections."""
    heading: Heading | None = None
    for _, line in numbered(without_escapes(head)):
        if found := heading_of(line):
            heading = found
        elif heading and (row := _ROW.match(line)) and row[1] in heading.devices:
            words = row[2].split()
            kinds = [word for word in words if CELL.fullmatch(word)]
            return "X" in kinds and bool(heading.affinities or len(kinds) == len(words) > 1)
    return False


def _settle(table: _Table | None, parsed: Parsed[Connection | Affinity]) -> None:
    """Read the rows of a table whose legend is now known."""
    if table is None:
        return
    for number, line, device in table.rows:
        words = line.split()[1:]
        cells, rest, why = _cells(words, table.heading, device)
        if why:
            parsed.cannot_read(number, line, why)
        here = table.names.get(device, device)
        for there, kind in cells.items():
            if there != device:
                lanes = CELL.fullmatch(kind)
                count = int(lanes[1]) if lanes and lanes[1] else 0
                parsed.add(Connection(here, table.names.get(there, there), "NV" if count else kind, count))
        affinity = _affinity(here, rest, table.heading) if cells else None
        if affinity:
            parsed.add(affinity)


def _cells(words: list[str], heading: Heading, device: str) -> tuple[dict[str, str], list[str], str]:
    """Kind of connection by device, the words to the right of them, and why not all could be assigned, if so."""
    kinds, rest = _leading_kinds(words)
    devices = heading.devices
    last = _CELL_AND_CPUS.fullmatch(rest[0]) if rest else None
    if last and len(kinds) == len(devices) - 1:
        kinds.append(next(kind for begin, kind in _BEGINS.items() if last[1].startswith(begin)))
        rest = [last[2], *rest[1:]]
    why = ""
    if len(kinds) == len(devices):
        cells = dict(zip(devices, kinds, strict=True))
    elif len(kinds) == len(heading.words):
        cells = {names[0]: kind for names, kind in zip(heading.words, kinds, strict=True) if len(names) == 1}
        fused = ["".join(names) for names in heading.words if len(names) > 1]
        why = f"has one cell for the headings {', '.join(fused)}"[:200]
    else:
        return {}, [], f"has {len(kinds)} cells for {len(devices)} columns"
    if [there for there, kind in cells.items() if kind == "X"] != [device]:
        return {}, [], "does not say X in its own column"
    return cells, rest, why


def _leading_kinds(words: list[str]) -> tuple[list[str], list[str]]:
    """The kinds with which a row begins, those that ran together taken apart, and the words after them."""
    kinds: list[str] = []
    for at, word in enumerate(words):
        if CELL.fullmatch(word):
            kinds.append(word)
        elif _FUSED_CELLS.fullmatch(word):
            kinds.extend(_EACH_CELL.findall(word))
        else:
            return kinds, words[at:]
    return kinds, []


def _affinity(device: str, rest: list[str], heading: Heading) -> Affinity | None:
    """The words to the right of a GPU's cells; None where there are none, as in a NIC's row."""
    if not rest or len(rest) > len(heading.affinities):
        return None
    said = dict(zip(heading.affinities, rest, strict=False))
    values = {name: word if _RANGES.fullmatch(word) else None for name, word in said.items()}
    return Affinity(device, values.get("cpus"), values.get("numa"), values.get("gpu_numa"))
