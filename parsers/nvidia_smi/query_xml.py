"""`nvidia-smi -q -x`: one <nvidia_smi_log> with a <gpu> for each GPU that the report is about.

Documents are read as they come: one that is cut gives what stands before the cut. Element names have drifted between
versions of the DTD (v10 to v13), and most elements may be absent. Entities are refused: no driver writes any.
Source: captures nvidia-smi/q-x-*, drivers 515 to 595.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from .errors import complaint_of
from .gpu_fields import MIG_XML, PROCESS_XML, XML
from .report_document import ReportDocument, ReportReading, says_nothing

DEEPEST = 32
"""Elements within each other that are followed."""

_ROOT = "<nvidia_smi_log"
_MARK = re.compile(r"<nvidia_smi_log\b|</nvidia_smi_log>")
_PROLOG = re.compile(r"\s{0,80}<(?:\?xml|!DOCTYPE nvidia_smi_log) [^<>\[]{0,300}>\s{0,80}")
_MIG = "mig_devices/mig_device"
_PROCESS = "processes/process_info"
_LEFT_ASIDE = frozenset({"supported_clocks"})
"""Lists of what could be set, which say nothing about the GPU's state."""
_LISTS = frozenset({"mig_devices", "processes", "accounted_processes"})


class _StopsHere(Exception):
    """The document may not be followed any further."""


def is_query_xml(head: str) -> bool:
    """Whether the log's root element begins in the text."""
    return _ROOT in head


def parse_query_xml(text: str) -> Parsed[ReportReading]:
    """Read every document in the text."""
    parsed = Parsed[ReportReading]()
    plain = without_escapes(text)
    end, line = 0, 1
    for start, ends in _documents(plain):
        line = _read_between(parsed, plain[end:start], line)
        _read_document(parsed, plain[start:ends], line)
        line += plain.count("\n", start, ends)
        end = ends
    _read_between(parsed, plain[end:], line)
    return parsed


def _documents(text: str) -> Iterator[tuple[int, int]]:
    """Where documents begin and end: one that is cut ends where the next begins."""
    start: int | None = None
    for mark in _MARK.finditer(text):
        if start is not None:
            yield start, mark.end() if mark[0].startswith("</") else mark.start()
        start = None if mark[0].startswith("</") else mark.start()
    if start is not None:
        yield start, len(text)


def _read_between(parsed: Parsed[ReportReading], text: str, first: int) -> int:
    """Read what stands around documents, from line `first` on; the line on which it ends."""
    number = first
    for offset, line in numbered(text):
        number = first + offset - 1
        if complaint := complaint_of(line):
            parsed.add(complaint)
        elif line.strip() and not _PROLOG.fullmatch(line) and not prompt_of(line):
            why = "declares entities" if "<!ENTITY" in line else "stands outside of the log"
            parsed.cannot_read(number, line, why)
    return number


def _read_document(parsed: Parsed[ReportReading], text: str, first: int) -> None:
    """Read one document, which begins on line `first`."""
    document = ReportDocument(parsed, XML, MIG_XML, PROCESS_XML)
    parser = expat.ParserCreate()
    _Elements(document, parser, first)
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        where = first + error.lineno - 1
        parsed.cannot_read(where, _line_of(text, error.lineno), expat.ErrorString(error.code) or "is no XML")
    except _StopsHere as reason:
        where = parser.CurrentLineNumber
        parsed.cannot_read(first + where - 1, _line_of(text, where), str(reason))
    document.close()


def _line_of(text: str, number: int) -> str:
    return next((line for at, line in numbered(text) if at == number), "")


class _Elements:
    """Turns elements into values of the document, named by their path below <gpu>."""

    def __init__(self, document: ReportDocument, parser: expat.XMLParserType, first: int) -> None:
        self._document = document
        self._parser = parser
        self._first = first
        self._path: list[str] = []
        """Paths of the elements that are open, below <gpu>."""
        self._depth = 0
        self._in_gpu = False
        self._left_aside = 0
        """Depth at which a list began that is left aside."""
        self._is_leaf = False
        self._text: list[str] = []
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.EntityDeclHandler = self._refuse

    def _refuse(self, *_: object) -> None:
        raise _StopsHere("declares entities")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._text.clear()
        if self._left_aside:
            return
        self._is_leaf = True
        if self._depth > DEEPEST:
            raise _StopsHere("has elements within each other too deep")
        if tag in _LEFT_ASIDE:
            self._left_aside = self._depth
        elif tag == "gpu" and self._depth == 2:
            self._in_gpu, self._path = True, [""]
            self._document.begin_gpu(attributes.get("id", ""))
        elif self._in_gpu:
            self._open(f"{self._path[-1]}/{tag}" if self._path[-1] else tag)

    def _open(self, path: str) -> None:
        self._path.append(path)
        if path == _MIG:
            self._document.begin_mig()
        elif path == _PROCESS:
            self._document.begin_process()

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if self._left_aside:
            if self._depth < self._left_aside:
                self._left_aside = 0
                self._is_leaf = False
            return
        text = "".join(self._text).strip() if self._is_leaf else ""
        if self._in_gpu:
            path = self._path.pop()
            self._in_gpu = bool(self._path)
            if self._is_leaf and path:
                self._value(path, text)
        elif self._is_leaf and self._depth == 1:
            self._document.head(tag, text)
        self._is_leaf = False
        self._text.clear()

    def _value(self, path: str, text: str) -> None:
        number = self._first + self._parser.CurrentLineNumber - 1
        if path.startswith(f"{_MIG}/"):
            self._document.mig_value(path[len(_MIG) + 1 :], text, number)
        elif path.startswith(f"{_PROCESS}/"):
            self._document.process_value(path[len(_PROCESS) + 1 :], text, number)
        elif not (path in _LISTS and says_nothing(text)):
            self._document.gpu_value(path, text, number)
