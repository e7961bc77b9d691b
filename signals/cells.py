"""What one cell of a table that somebody made holds: a node's name, a part's number, a measured value."""

from __future__ import annotations

from ..incident.ids import NodeId
from ..parsers.value import number_of
from .column_names import words_of

LONGEST_NAME = 128
MOST_DIGITS = 4


def named_node(text: str) -> NodeId | None:
    """A cell as the name of a node; None where it can be none."""
    name = text.strip()
    fits = 0 < len(name) <= LONGEST_NAME and all(letter.isalnum() or letter in "._-" for letter in name)
    return NodeId(name) if fits else None


def numbered_part(text: str, *kinds: str) -> int | None:
    """`3`, and `GPU 3` or `gpu3` where `gpu` is among the kinds; None for anything else."""
    *names, number = (text,) if text.isdecimal() else words_of(text) or ("",)
    named = not names or (len(names) == 1 and names[0] in kinds)
    return int(number) if named and number.isdecimal() and len(number) <= MOST_DIGITS else None


def value_in(cell: str) -> float | None:
    """`49.36`, `49.36 GB/s`, and `49,36`, unless the comma may stand before thousands."""
    comma, digits = cell.count(","), len(cell.partition(",")[2])
    return number_of(cell.replace(",", ".") if comma == 1 and digits != 3 else cell)
