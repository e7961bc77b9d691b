"""The elements of NCCL's XML files, in the order in which they open: what comes before a cut is read.

Prompts may stand around a document, and several documents one after another. Entities are refused, nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.parsers import expat

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes

DEEPEST = 64
MOST_ELEMENTS = 50_000
_PIECE = 65_536
_TAG = re.compile(r"<([A-Za-z][\w.\-]{0,60})[\s/>]")


@dataclass(frozen=True, slots=True)
class Element:
    """An element that has opened."""

    name: str
    attributes: Mapping[str, str]
    line: int
    parent: Element | None

    def above(self, name: str) -> Element | None:
        """The nearest element of that name that it stands in."""
        element = self.parent
        while element is not None and element.name != name:
            element = element.parent
        return element


class _Refused(Exception):
    """The document asks for what is not read."""


def first_tag(head: str) -> str:
    """Name of the first element, comments and declarations aside; empty where there is none."""
    plain = without_escapes(head)
    at = plain.find("<")
    while at >= 0:
        closing = "-->" if plain.startswith("<!--", at) else ">" if plain[at + 1 : at + 2] in ("!", "?") else ""
        if not closing:
            found = _TAG.match(plain, at)
            if found:
                return found[1]
        end = plain.find(closing, at) if closing else at
        at = plain.find("<", end + 1) if end >= 0 else -1
    return ""


def elements(text: str, root: str, parsed: Parsed[Any]) -> Iterator[Element]:
    """All elements of the documents, each of which ends with `</root>`; what stands outside is noted as unread."""
    plain = without_escapes(text).replace("\x00", "\ufffd")
    start, line = 0, 1
    closing = f"</{root}>"
    while start < len(plain):
        end = plain.find(closing, start)
        end = len(plain) if end < 0 else end + len(closing)
        begin = _beginning(plain, start, end)
        _note_outside(plain[start:begin], line, parsed)
        line += plain.count("\n", start, begin)
        if begin < end:
            yield from _document(plain[begin:end], line, parsed)
        line += plain.count("\n", begin, end)
        start = end


def _beginning(text: str, start: int, end: int) -> int:
    """Where markup begins: prompts and the like stand before."""
    at = text.find("<", start, end)
    while at >= 0 and not (text[at + 1 : at + 2] in ("!", "?") or _TAG.match(text, at, end)):
        at = text.find("<", at + 1, end)
    return end if at < 0 else at


def _note_outside(text: str, line: int, parsed: Parsed[Any]) -> None:
    for number, outside in numbered(text):
        if outside.strip(" \t\r\ufeff\x0b\x0c") and not prompt_of(outside):
            parsed.cannot_read(line + number - 1, outside, "stands outside the document")


def _document(text: str, first_line: int, parsed: Parsed[Any]) -> list[Element]:
    """The elements of one document, up to where it can be read."""
    found: list[Element] = []
    open_now: list[Element] = []
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(open_now) >= DEEPEST or len(found) >= MOST_ELEMENTS:
            raise _Refused("nested too deep, or too many elements")
        above = open_now[-1] if open_now else None
        element = Element(name, attributes, first_line + parser.CurrentLineNumber - 1, above)
        found.append(element)
        open_now.append(element)

    def refuse(*_: object) -> None:
        raise _Refused("entities are not expanded")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_now.pop()
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = None
    try:
        for at in range(0, len(text), _PIECE):
            parser.Parse(text[at : at + _PIECE], False)
        parser.Parse("", True)
    except (expat.ExpatError, _Refused, UnicodeEncodeError) as error:
        number = first_line + parser.CurrentLineNumber - 1
        parsed.cannot_read(number, _line_of(text, parser.CurrentLineNumber), f"the document breaks off: {error}"[:200])
    return found


def _line_of(text: str, number: int) -> str:
    return next((line for at, line in numbered(text) if at == number), "")
