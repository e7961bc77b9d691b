"""`dcgmi diag -r N`: a table of tests, each with its result and, below it, messages cut into 45 characters a row.

DCGM 1.7 to 3.x print `Pass`, `Pass - All` or `Fail - GPU: 0`; DCGM 4 a row for the test and one more for each GPU. The
line `Successfully ran diagnostic for group.` says that the tests ran, not that they passed.
Source: captures dcgm/dcgmi-diag-*.txt; NVIDIA/DCGM dcgmi/Diag.cpp of 2.x to 4.x.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .diag import DiagMessage, DiagMetadata, DiagNotRun, DiagReading, DiagResult, DiagStatus, gpu_named_in, status_of

CHUNK = 45
"""Characters of a message in one row, from the second of the cell on; a word goes on in the next row."""
LONGEST_MESSAGE = 8_000
METADATA = "Metadata"

_HEADING = re.compile(r"[|+]\s?-{3,10}\s{1,4}(\w[\w ]{0,30}?)\s{1,4}-{2,20}\s?\+[-\s]{0,120}[|+]?\s*")
_RULE = re.compile(r"[+|=\-\s]{3,400}")
_TITLE = re.compile(r"\|\s{0,4}Diagnostic\s{1,40}\|\s{0,4}Result\b")
_ROW = re.compile(r"\s{0,8}\|([^|]{1,80})\|(.*)")
_MESSAGE = re.compile(r"(Warning|Error|Info)(?::? ?([A-Za-z]{1,16}?)(\d{1,4}))?")
_RESULT = re.compile(
    r"(?:Pass|Fail|Warn|Skip|Not Run)(?:ed|ped)?(?: - (?:All|GPUs?: ?([\d, ]{1,400})))?", re.IGNORECASE
)
_OF_ONE = re.compile(r"([A-Za-z]{1,16}?)(\d{1,4}): (Pass|Fail|Warn|Skip|Not Run)", re.IGNORECASE)
_MORE_GPUS = re.compile(r"[\d, ]{1,80}")
_ITERATION = re.compile(r"Running iteration (\d{1,6}) of \d{1,6}")
_NOT_RUN = re.compile(r"\s{0,4}(?:Error|error|ERROR)\b.{0,1000}")
_PASSED_OVER = re.compile(
    r"\s*|Successfully ran diagnostic for group\.|Passed all \d{1,6} runs of the diagnostic"
    r"|Aborting the iterative runs .{0,200}"
)


@dataclass(slots=True)
class _Message:
    kind: str
    entity: str
    gpu: int | None
    chunks: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "".join(self.chunks).strip()[:LONGEST_MESSAGE]


@dataclass(slots=True)
class _Table:
    """Where in the table a row stands."""

    parsed: Parsed[DiagReading]
    category: str = ""
    test: str | None = None
    iteration: int | None = None
    message: _Message | None = None
    listed: DiagStatus | None = None
    """Status of a list of GPUs that may go on in the next row."""

    def row(self, name: str, cell: str) -> bool:
        """False where the row fits no known form."""
        info = cell.strip()
        if not name:
            return self._continued(cell, info)
        self.close()
        self.listed = None
        if found := _MESSAGE.fullmatch(name):
            entity, gpu = (found[2], int(found[3])) if found[2] else gpu_named_in("")
            self.message = _Message(found[1], entity, gpu, [_chunk(cell)])
            return True
        if self.category == METADATA:
            self.parsed.add(DiagMetadata(name, info[:1000]))
            return True
        self.test = name
        return self._results(info)

    def _continued(self, cell: str, info: str) -> bool:
        """A row without a name: a GPU's result, more of a list of GPUs, or more of a message."""
        if self.test and (found := _OF_ONE.fullmatch(info)):
            self.close()
            self._add(DiagStatus(found[3].lower()), found[1], int(found[2]))
            return True
        if self.test and info and _RESULT.fullmatch(info):
            self.close()
            return self._results(info)
        if self.message:
            if len(self.message.chunks) * CHUNK < LONGEST_MESSAGE:
                self.message.chunks.append(_chunk(cell))
            return True
        if self.listed and _MORE_GPUS.fullmatch(info):
            self._of_gpus(self.listed, info)
            return True
        return not info

    def _results(self, info: str) -> bool:
        found, status = _RESULT.fullmatch(info), status_of(info)
        if not found or not status:
            return False
        if found[1]:
            self.listed = status
            self._of_gpus(status, found[1])
        else:
            self.parsed.add(
                DiagResult(self.test or "", self.category, status, "", None, "all" in info.lower(), self.iteration)
            )
        return True

    def _of_gpus(self, status: DiagStatus, gpus: str) -> None:
        for number in gpus.replace(",", " ").split():
            if len(number) <= 4:
                self._add(status, "GPU", int(number))

    def _add(self, status: DiagStatus, entity: str, number: int) -> None:
        self.parsed.add(DiagResult(self.test or "", self.category, status, entity, number, iteration=self.iteration))

    def close(self) -> None:
        """The message that was being gathered is complete."""
        if self.message:
            text = self.message.text()
            entity, gpu = (self.message.entity, self.message.gpu) if self.message.entity else gpu_named_in(text)
            self.parsed.add(
                DiagMessage(self.message.kind, text, self.category, self.test, entity, gpu, iteration=self.iteration)
            )
        self.message = None

    def begin(self, category: str) -> None:
        """A heading: the rows below it are of another category."""
        self.close()
        self.category, self.test, self.listed = category.strip(), None, None


def _chunk(cell: str) -> str:
    """The part of a message that stands in one row: blanks at its ends may be between two words."""
    text = cell.removeprefix(" ")
    return text[:CHUNK] if len(text) > CHUNK else text.rstrip()


def parse_diag_text(text: str) -> Parsed[DiagReading]:
    """Read a table or an excerpt of one; several runs one after another are told apart by iteration."""
    parsed = Parsed[DiagReading]()
    table = _Table(parsed)
    for number, line in numbered(without_escapes(text)):
        if _passed_over(line):
            continue
        if found := _HEADING.fullmatch(line):
            table.begin(found[1])
        elif found := _ROW.fullmatch(line):
            if not table.row(found[1].strip(), found[2].rstrip().removesuffix("|")):
                parsed.cannot_read(number, line)
        elif found := _ITERATION.match(line):
            table.begin("")
            table.iteration = int(found[1])
        else:
            for reading in _broke_off(number, line, parsed):
                parsed.add(reading)
    table.close()
    return parsed


def _passed_over(line: str) -> bool:
    return bool(_PASSED_OVER.fullmatch(line) or _RULE.fullmatch(line) or _TITLE.match(line) or prompt_of(line))


def _broke_off(number: int, line: str, parsed: Parsed[DiagReading]) -> Iterator[DiagNotRun]:
    if _NOT_RUN.fullmatch(line):
        yield DiagNotRun(line.strip())
    else:
        parsed.cannot_read(number, line)


def _is_diag_text(head: str) -> bool:
    plain = without_escapes(head)
    if "|" not in plain:
        return "Unable to complete diagnostic for" in plain and '"runtime_error"' not in plain
    return any(
        _TITLE.match(line) or _HEADING.fullmatch(line) or _is_result_row(line)
        for _, line in numbered(plain)
        if "|" in line
    )


def _is_result_row(line: str) -> bool:
    """`| GPU Memory | Pass - GPUs: 1, 2 |`: nobody else writes this."""
    found = _ROW.fullmatch(line)
    info = found[2].strip(" |") if found else ""
    return " - " in info and _RESULT.fullmatch(info) is not None


DIAG_TEXT = Tool(
    name="dcgmi diag",
    recognizes=_is_diag_text,
    parse=parse_diag_text,
    file_names=("dcgm*diag*.txt", "dcgmi-diag*", "*dcgm*diag*.log"),
)
