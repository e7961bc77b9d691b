"""Names of files as they may be shown: those of strangers hold line ends, escapes and bytes that are no text."""

from __future__ import annotations

LONGEST = 400
"""Characters of a name; Linux allows 255 bytes a segment, and longer paths."""


def shown(name: str) -> str:
    """A name without what a terminal would obey or a JSON document could not hold: `a\\x1b[31mb`, `caf\\udce9`."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name[: LONGEST + 1])
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"
