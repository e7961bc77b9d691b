"""A JSON document out of text that may hold more than it: decoded, or the line where it breaks off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeVar

import orjson

from .parsed import Parsed, numbered

T = TypeVar("T")

LONGEST_DOCUMENT = 64 * 1024 * 1024
"""Characters of a document that are decoded."""
_AT = re.compile(r"line (\d{1,9})")


def read_document(text: str, parsed: Parsed[T], opens: str = "{[") -> Iterator[Any]:
    """The document that begins on the first line opening with one of `opens`; nothing where it can't be decoded.

    Lines above it (prompts, warnings) are noted as unread unless blank, and so is the line at which decoding failed.
    """
    start, line = _beginning(text, opens)
    for number, above in numbered(text[:start]):
        if above.strip():
            parsed.cannot_read(number, above, "stands above the document")
    if start == len(text):
        return
    try:
        yield orjson.loads(text[start : start + LONGEST_DOCUMENT].rstrip("\x00 \t\r\n"))
    except orjson.JSONDecodeError as error:
        found = _AT.search(str(error))
        number = line + int(found[1]) - 1 if found else line
        parsed.cannot_read(number, text[start : start + 80].partition("\n")[0], f"not valid JSON: {error}"[:200])


def _beginning(text: str, opens: str) -> tuple[int, int]:
    """Offset and line number of the document's first character."""
    offset = 0
    for number, line in numbered(text):
        bare = line.lstrip("\ufeff \t")
        if bare[:1] and bare[0] in opens:
            return offset + len(line) - len(bare), number
        offset = text.find("\n", offset) + 1 or len(text)
    return len(text), 1


def as_dict(value: Any) -> dict[str, Any]:
    """Empty where it is none."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Empty where it is none."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Numbers as they are written; empty where there is no value."""
    if isinstance(value, str):
        return value[:4000]
    return str(value)[:400] if isinstance(value, int | float) and not isinstance(value, bool) else ""


def as_float(value: Any) -> float | None:
    """None where it is no number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
