"""Pieces of `nvidia-smi -q` that somebody cut out: a block, or some lines, without the GPU that they are about.

`... | grep -A9 'Remapped Rows'`, `-d PERFORMANCE,CLOCK` without its head: headings above the piece are missing, so a
line is told by the end of its path. Where the same heading or line comes again, another GPU begins. Which GPU it is
nobody says; the order is the driver's where nothing was left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from .gpu_fields import TEXT
from .query_text import DEEPEST, LONGEST_KEY, Line, is_query_text, line_of
from .report_document import ReportDocument, ReportReading

_NO_FIELD = {"device id": "pci/device id", "sub system id": "pci/sub system id"}
"""Values that reports keep as printed, by the last step of their path."""
FEWEST_ALONE = 2
"""Known lines without a heading that are needed to call a text a piece of a report."""
MOST_LINES = 400
"""Lines by which a text is recognized."""


def is_query_excerpt(head: str) -> bool:
    """Whether most lines are a report's, told by their names; a whole report is none."""
    if is_query_text(head):
        return False
    lines = [line for line in _lines(head) if line.number <= MOST_LINES]
    paths = [path for path, line in _paths(lines) if line.value is not None]
    known = [path for path in paths if _full_name(path)]
    below_heading = any("/" in path for path in known)
    return len(known) * 2 >= len(paths) > 0 and (below_heading or len(known) >= FEWEST_ALONE)


def parse_query_excerpt(text: str) -> Parsed[ReportReading]:
    """Read all that is known by its name; lines of other names are unread."""
    parsed = Parsed[ReportReading]()
    document = ReportDocument(parsed, TEXT, {}, {})
    seen: set[str] = set()
    for path, line in _paths(_lines(text)):
        if line.value is None:
            continue
        name = _full_name(path)
        if not name:
            parsed.cannot_read(line.number, line.shown, "is no value of a report that is known by its name")
            continue
        if not document.has_gpus or name in seen:
            document.begin_gpu("")
            seen.clear()
        seen.add(name)
        document.gpu_value(name, line.value, line.number)
    document.close()
    return parsed


def _lines(text: str) -> list[Line]:
    found = []
    for number, shown in numbered(without_escapes(text)):
        if shown.strip() and not prompt_of(shown) and shown.strip(" -") != "":
            found.append(line_of(number, shown.expandtabs(8)))
    return found


def _paths(lines: list[Line]) -> Iterator[tuple[str, Line]]:
    """Each line with the headings it stands under, as far as they are there."""
    above: list[tuple[int, str]] = []
    for line in lines:
        while above and above[-1][0] >= line.indent:
            above.pop()
        name = " ".join(line.key.lower().split())
        if len(name) > LONGEST_KEY or len(above) >= DEEPEST or line.shown.strip().startswith(":"):
            continue
        above.append((line.indent, name))
        yield "/".join(key for _, key in above), line


@cache
def _by_ending() -> Mapping[str, str]:
    """Full names by each of their endings that only one name has."""
    endings: dict[str, set[str]] = {}
    for name in TEXT:
        steps = name.split("/")
        for at in range(len(steps)):
            endings.setdefault("/".join(steps[at:]), set()).add(name)
    return {ending: next(iter(names)) for ending, names in endings.items() if len(names) == 1}


def _full_name(path: str) -> str:
    """The name of a field whose path ends like that; empty where none does, or several do."""
    if path in TEXT:
        return path
    found = _by_ending().get(path) or _by_ending().get(path.replace("throttle", "event"))
    return found or _NO_FIELD.get(path.rpartition("/")[2], "")
