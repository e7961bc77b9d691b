"""JSON objects out of text that holds several, one after another, with prompts and messages in between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from .json_document import LONGEST_DOCUMENT
from .parsed import Parsed, numbered
from .plain import prompt_of, without_escapes

_MARK = re.compile(r'[{}"\\]')


def json_objects(text: str, parsed: Parsed[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object with the number of the line on which it begins; one that is cut is not read, and noted.

    Lines outside of objects are noted as unread, blank ones and prompts aside.
    """
    plain = without_escapes(text)
    at, line = 0, 1
    while (start := plain.find("{", at)) >= 0:
        outside = plain[at:start]
        _note_outside(outside, line, parsed)
        line += outside.count("\n")
        at = _end_of_object(plain, start)
        value = _decoded(plain[start:at], line, parsed)
        if value is not None:
            yield line, value
        line += plain.count("\n", start, at)
    _note_outside(plain[at:], line, parsed)


def _end_of_object(text: str, start: int) -> int:
    """Behind the brace that closes the one at `start`; the end of the text where none does."""
    depth, quoted, escaped_at = 0, False, -1
    for mark in _MARK.finditer(text, start, start + LONGEST_DOCUMENT):
        at, character = mark.start(), mark[0]
        if at == escaped_at:
            continue
        if character == "\\":
            escaped_at = at + 1
        elif character == '"':
            quoted = not quoted
        elif not quoted:
            depth += 1 if character == "{" else -1
            if depth == 0:
                return at + 1
    return len(text)


def _decoded(text: str, line: int, parsed: Parsed[Any]) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        parsed.cannot_read(line, text[:300].partition("\n")[0], f"no whole JSON object begins here: {error}"[:200])
        return None
    return value if isinstance(value, dict) else None


def _note_outside(text: str, line: int, parsed: Parsed[Any]) -> None:
    for number, outside in numbered(text):
        if outside.strip(" \t\r\ufeff\x00,[]") and not prompt_of(outside):
            parsed.cannot_read(line + number - 1, outside, "stands outside of JSON")
