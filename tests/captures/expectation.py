"""What each capture says, as data beside the tests: `expected/<kind>.toml`, one table a file.

    ["nvidia-smi/nvlink-s-h200-590.txt"]
    tool = "nvidia-smi nvlink -s"             # what it must be recognized as
    count = { LinkState = 18 }                # readings of each type; types that are not named must not occur
    absent = ["gpu0"]                         # subjects the tool declines to answer for; none when left out
    unread = [3]                              # numbers of the lines that can't be read; none when left out
    [["nvidia-smi/nvlink-s-h200-590.txt".rows]]
    type = "LinkState"
    gpu = 0                                   # fields of the reading; `a.b` and `a.0` reach into it
    gbs = 26.562
    times = 18                                # how many readings have all of these; 1 when left out

A field that has no value is written `"missing"`; a saturated counter `"at least 65535"`. The values are what INDEX.tsv
calls the right reading, taken from the capture by eye.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from lanescope.parsers.parsed import Count, Parsed

FOLDER = Path(__file__).with_name("expected")


def expectations() -> dict[str, dict[str, Any]]:
    """By the capture's path."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(FOLDER.glob("*.toml")):
        found |= tomllib.loads(file.read_text())
    return found


def complaints(expected: Mapping[str, Any], parsed: Parsed[Any]) -> list[str]:
    """How the outcome differs from what is expected, a sentence each."""
    counted = dict(Counter(type(reading).__name__ for reading in parsed.readings))
    found = [_differs("count", expected.get("count", {}), counted)]
    found.append(_differs("unread", expected.get("unread", []), [line.number for line in parsed.unread]))
    found.append(_differs("absent", expected.get("absent", []), [str(one.subject) for one in parsed.absent]))
    found.extend(_row_differs(row, parsed) for row in expected.get("rows", []))
    return [complaint for complaint in found if complaint]


def _differs(what: str, expected: object, found: object) -> str:
    return "" if expected == found else f"{what}: expected {expected}, found {found}"


def _row_differs(row: Mapping[str, Any], parsed: Parsed[Any]) -> str:
    fields = {key: value for key, value in row.items() if key not in ("type", "times")}
    times = row.get("times", 1)
    of_type = [reading for reading in parsed.readings if type(reading).__name__ == row["type"]]
    matching = [reading for reading in of_type if all(_is(_reach(reading, key), fields[key]) for key in fields)]
    if len(matching) == times:
        return ""
    near = next(iter(matching or of_type), None)
    return f"{times} x {row['type']} with {fields}: found {len(matching)} of {len(of_type)}, as {str(near)[:400]}"


def _reach(value: Any, path: str) -> Any:
    """What a path leads to; the keys of a mapping may have dots of their own."""
    step, _, rest = path.partition(".")
    if isinstance(value, Mapping):
        return value.get(path) if path in value or not rest else _reach(value.get(step), rest)
    if isinstance(value, list | tuple):
        value = value[int(step)] if int(step) < len(value) else None
    elif value is not None:
        value = getattr(value, step)
    return _reach(value, rest) if rest else value


def _is(value: Any, expected: Any) -> bool:
    plain = _plain(value)
    if isinstance(expected, float) and isinstance(plain, int | float):
        return math.isclose(plain, expected, rel_tol=1e-9)
    return bool(plain == expected)


def _plain(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, Count):
        return str(value) if value.at_least else value.value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value
