"""What each field of a report is called in `nvidia-smi -q`, in `-q -x` and in `--query-gpu`: the tables, made ready."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..pci import bus_address
from .gpu_field_names import GPU, MIG_DEVICE, PROCESS, Group
from .printed_value import flag, number, status, whole, word

_READERS: Mapping[str, Callable[[str], Any]] = {
    "address": bus_address,
    "flag": flag,
    "number": number,
    "status": status,
    "whole": whole,
    "word": word,
}


@dataclass(frozen=True, slots=True)
class Field:
    """Where a printed value goes, and how it is read."""

    part: str
    """The part of the report that has it: `ecc.volatile`; empty for the report itself."""
    leaf: str
    read: Callable[[str], Any]

    @property
    def name(self) -> str:
        """`ecc.volatile.dram_correctable`."""
        return f"{self.part}.{self.leaf}" if self.part else self.leaf


Names: TypeAlias = Mapping[str, Field]
"""Fields by the name that one form of output gives them."""


def _names(groups: Iterable[Group], form: int) -> Names:
    """Fields by their own names (form 0), or by those of text, XML and CSV (forms 1, 2 and 3)."""
    found: dict[str, Field] = {}
    for group in groups:
        for row in group.rows.strip().splitlines():
            leaf, reader, *printed = (cell.strip() for cell in row.split("|"))
            field = Field(group.part, leaf, _READERS[reader])
            prefix = ("", group.text, group.xml, group.csv)[form]
            name = (field.name, *printed)[form]
            if name:
                found[prefix + (leaf if name == "=" else name)] = field
    return found


FIELDS = _names(GPU, 0)
TEXT = _names(GPU, 1)
XML = _names(GPU, 2)
CSV = _names(GPU, 3)
MIG_TEXT = _names(MIG_DEVICE, 1)
MIG_XML = _names(MIG_DEVICE, 2)
PROCESS_TEXT = _names(PROCESS, 1)
PROCESS_XML = _names(PROCESS, 2)


def field_called(names: Names, printed: str) -> Field | None:
    """The field of that name; what was `throttle` before driver 535 is `event` since."""
    return names.get(printed) or (names.get(printed.replace("throttle", "event")) if "throttle" in printed else None)


def fields_below(names: Names, path: str) -> list[Field]:
    """The fields of a group, which a driver may answer for in one word: `Remapped Rows : N/A`."""
    return [field for name, field in names.items() if name.startswith(f"{path}/")]
