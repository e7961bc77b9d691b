"""File names made of what nodes and operators call things: plain ASCII, one segment, safe on every system."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..incident.events import CommandEnded

LIKELIHOODS = "localization/likelihoods.json"
"""The table of likelihoods of the last search, below `data/`."""
LONGEST = 40
"""Characters of a segment, so that the longest path in a bundle stays below limits.NAME_BYTES."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def plain_name(text: str, longest: int = LONGEST) -> str:
    """`text` as one segment of a path: letters, digits, `.`, `_`, `-`; never empty, hidden, reserved or over long."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", text)[:longest].strip("._")
    if not name:
        return "unnamed"
    return f"_{name}" if _RESERVED.fullmatch(name) else name


def distinct(names: Iterable[str]) -> list[str]:
    """The names in order, with `-2`, `-3`, ... where one was there before; upper and lower case count as the same."""
    taken: set[str] = set()
    chosen = []
    for name in names:
        candidate, number = name, 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{name}-{number}"
        taken.add(candidate.casefold())
        chosen.append(candidate)
    return chosen


def raw_folders(commands: Iterable[tuple[str, CommandEnded]]) -> dict[str, str]:
    """Event id -> `raw/<node>/<collector>`, where a bundle holds what the command printed."""
    listed = list(commands)
    nodes = sorted({str(event.node) for _, event in listed})
    folder_of = dict(zip(nodes, distinct(plain_name(node) for node in nodes), strict=True))
    folders = distinct(f"{folder_of[event.node]}/{plain_name('_'.join(event.argv))}" for _, event in listed)
    return {id_: f"raw/{folder}" for (id_, _), folder in zip(listed, folders, strict=True)}
