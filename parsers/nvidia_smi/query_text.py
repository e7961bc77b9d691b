"""`nvidia-smi -q`, whole or with -d and -i: blocks of `Key : Value` lines, indented by what they belong to.

Each GPU heads a block; MIG devices and processes stand within it. Excerpts leave lines out (`[...]`), pastes carry
prompts and wrapped lines, and a GPU that does not answer is named in a line between the blocks.
Source: captures nvidia-smi/q-*, drivers 510 to 595.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from .errors import complaint_of
from .gpu_fields import MIG_TEXT, PROCESS_TEXT, TEXT
from .report_document import ReportDocument, ReportReading, says_nothing

DEEPEST = 24
"""Levels of indentation that are followed."""
LONGEST_KEY = 80

_TITLE = re.compile(r"\s{0,40}={4,80}\s{0,4}NVSMI LOG\s{0,4}={4,80}\s{0,40}")
_GPU = re.compile(r"( {0,40})GPU ((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s{0,40}")
_LEFT_OUT = re.compile(r"\s{0,80}\[?(?:\.{2,4}|…)\]?\s{0,80}")
_HEAD = frozenset({"timestamp", "driver version", "kmd version", "cuda version", "cuda umd version", "attached gpus"})
_ATTACHED = re.compile(r"^\s{0,40}Attached GPUs\s{1,80}: \d", re.MULTILINE)
_BLOCK = re.compile(
    r"^( {0,40})GPU (?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]\s{0,9}\n\1 {1,8}\w", re.MULTILINE
)
_TITLE_LINE = re.compile(r"^\s{0,40}={4,80}NVSMI LOG={4,80}", re.MULTILINE)


def is_query_text(head: str) -> bool:
    """Whether the text has the log's title, its count of GPUs, or a GPU's line with indented ones below."""
    plain = without_escapes(head).replace("\r\n", "\n").replace("\t", " ")
    if "<nvidia_smi_log" in plain:
        return False
    return bool(_TITLE_LINE.search(plain) or _ATTACHED.search(plain) or _BLOCK.search(plain))


def parse_query_text(text: str) -> Parsed[ReportReading]:
    """Read every document and every block; lines above the first GPU that are none of the driver's are unread."""
    plain = without_escapes(text)
    reader = _Reader(widest=max(len(line) for _, line in numbered(plain)))
    for number, line in numbered(plain):
        reader.read(number, line.expandtabs(8))
    return reader.end()


@dataclass(slots=True)
class Line:
    """A line that waits for the next one, which may go on with it."""

    number: int
    shown: str
    """With the blanks at its end."""
    last: int
    """Length of its last piece, where a terminal had broken it."""
    indent: int
    key: str
    value: str | None
    """None in a heading."""


class _Reader:
    """Reads line by line; a line is taken when the next one is known."""

    def __init__(self, widest: int) -> None:
        """`widest` is the length of the longest line: where a terminal has broken lines, its width."""
        self._widest = widest
        self._parsed = Parsed[ReportReading]()
        self._document = self._new()
        self._above: list[tuple[int, str]] = []
        """Headings that the line stands under, with their indentation."""
        self._base = 0
        """Indentation of the GPU's line."""
        self._waiting: Line | None = None

    def _new(self) -> ReportDocument:
        return ReportDocument(self._parsed, TEXT, MIG_TEXT, PROCESS_TEXT)

    def end(self) -> Parsed[ReportReading]:
        self._take_waiting(below=0)
        self._document.close()
        return self._parsed

    def read(self, number: int, line: str) -> None:
        if not line.strip() or _LEFT_OUT.fullmatch(line):
            return
        if _TITLE.fullmatch(line):
            self._begin_document()
        elif found := _GPU.fullmatch(line):
            self._take_waiting(below=0)
            self._base, self._above = len(found[1]), []
            self._document.begin_gpu(found[2])
        elif complaint := complaint_of(line):
            self._take_waiting(below=0)
            self._document.complaint(complaint)
        elif not prompt_of(line):
            self._read_pair(line_of(number, line))

    def _begin_document(self) -> None:
        self._take_waiting(below=0)
        self._document.close()
        self._document = self._new()
        self._above = []

    def _read_pair(self, line: Line) -> None:
        before = self._waiting
        if before and self._goes_on(before, line):
            self._waiting = line_of(before.number, before.shown + line.shown, last=len(line.shown))
            return
        self._take_waiting(below=line.indent)
        self._waiting = line

    def _goes_on(self, before: Line, line: Line) -> bool:
        """Whether a terminal had broken one line into these two."""
        if before.value is None:
            return line.value is not None and not line.key
        if before.last != self._widest or line.indent > 2:
            return False
        return line.value is None or (line.indent == 0 < before.indent and line.key.lower() not in _HEAD)

    def _take_waiting(self, below: int) -> None:
        """Take the line that waited, of which the next one is indented by `below`."""
        line, self._waiting = self._waiting, None
        if line is None:
            return
        name = " ".join(line.key.lower().split())
        above = not self._document.has_gpus
        if (name in _HEAD and above) or (line.indent <= self._base and (name in _HEAD or above)):
            self._take_head(line, name)
        elif above or not name or len(name) > LONGEST_KEY:
            self._parsed.cannot_read(line.number, line.shown, "stands in no block of a GPU")
        else:
            self._take_inside(line, name, below)

    def _take_head(self, line: Line, name: str) -> None:
        if line.value is None or not name or len(name) > LONGEST_KEY:
            self._parsed.cannot_read(line.number, line.shown, "is none of the driver's values")
            return
        if name == "timestamp" and self._document.has_gpus:
            self._begin_document()
        self._document.head(name.replace(" ", "_"), line.value)

    def _take_inside(self, line: Line, name: str, below: int) -> None:
        while self._above and self._above[-1][0] >= line.indent:
            self._above.pop()
        if len(self._above) >= DEEPEST:
            self._parsed.cannot_read(line.number, line.shown, "is indented too deep")
            return
        self._above.append((line.indent, name))
        if line.value is not None:
            self._take_value(line, line.value)
        elif name == "mig device":
            self._document.begin_mig()
        elif below <= line.indent and name != "processes":
            self._parsed.cannot_read(line.number, line.shown, "is no value, and no heading of any")

    def _take_value(self, line: Line, value: str) -> None:
        names = [name for _, name in self._above]
        rest = "/".join(names[1:])
        if names[0] == "mig device" and rest:
            self._document.mig_value(rest, value, line.number)
        elif names[0] == "processes" and rest:
            if len(names) == 2 and names[1] != "compute instance id" and self._document.process_has("pid"):
                self._document.begin_process()
            self._document.process_value(rest, value, line.number)
        elif not (names[0] in ("processes", "mig devices") and says_nothing(value)):
            self._document.gpu_value("/".join(names), value, line.number)


def line_of(number: int, shown: str, last: int | None = None) -> Line:
    """The line as a key and its value, or as a heading."""
    text = shown.strip()
    indent = len(shown) - len(shown.lstrip())
    last = len(shown) if last is None else last
    colon = 0 if text.startswith(": ") or text == ":" else text.find(" : ")
    if colon < 0:
        colon = text.find(": ", 0, LONGEST_KEY) if ": " in text[:LONGEST_KEY] else -1
    if colon < 0 and text.endswith(":"):
        colon = len(text) - 1
    if colon < 0:
        return Line(number, shown, last, indent, text, None)
    value = text[colon:].lstrip(" ").removeprefix(":")
    return Line(number, shown, last, indent, text[:colon].rstrip(), value.strip())
