"""The way in for whatever a person hands us: files and pastes of any tool, any size, several machines, or none of it.

A log is read line by line whatever its size; all else is read up to MOST_TEXT and taken apart into the outputs that it
holds. Nothing here raises on what stands in a file, and nothing is passed over in silence: what can't be read is a
section that says so.
"""

from __future__ import annotations

import io
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import PurePath
from typing import Any, BinaryIO

from .bug_report import ReportSection, is_bug_report, sections
from .lines import TextLines
from .origin import host_told, is_only_a_date, time_told
from .packed import unpacked
from .parsed import LONGEST_LINE, Parsed
from .paste import Part, split
from .plain import without_escapes
from .table import TABLE
from .tool import HEAD, Tool
from .tools import TOOLS, recognize

MOST_TEXT = 64 * 1024 * 1024
"""Bytes read of a file that is no log."""
MOST_SECTION = 16 * 1024 * 1024
"""Characters read of a section of a bug report that is no log."""
_SHOWN = 60
_BLANK = "holds blank lines only"
_ONLY_A_NAME = 2000
"""Characters of a text that tells its host and little else: `uname -a`, `hostnamectl`."""
_COMPRESSED = (".gz", ".gzip", ".bz2", ".xz")


@dataclass(frozen=True, slots=True)
class Section:
    """One tool's output in what was handed in."""

    name: str
    """The file's."""
    host: str
    """Whose output it is, where the text names a host or a set of hosts; empty where it does not."""
    tool: Tool | None
    """None where no known tool's output was recognized."""
    parsed: Parsed[Any] | None
    """Line numbers in it are the file's."""
    first_line: int
    """Where it begins in the file, from 1; 0 of a file without lines."""
    notes: tuple[str, ...]
    """Sentences for the operator; those that hold for the whole file stand with its first section."""
    command: str = ""
    """What was typed, where the text shows it."""
    taken: float | None = None
    """When it was printed, in seconds since the epoch on the node's clock, where the text says."""


def read(name: str, stream: BinaryIO, first_line: int = 1) -> Iterator[Section]:
    """All outputs in one file, in its order. Errors of the stream itself (a disk that can't be read) are raised.

    `first_line`: which line of the file the stream begins with; of the end of a file, only a log is read.
    """
    source = unpacked(stream)
    text = TextLines(source)
    if text.empty or text.binary:
        why = f"is {text.binary}: not read as text" if text.binary else "is empty"
        yield Section(name, "", None, None, 0, tuple(filter(None, (f"the file {why}", source.trouble))))
        return
    if first_line == 1 and is_bug_report(text.head()):
        yield from _bug_report(name, text)
        if about := _about(text, source.trouble):
            yield Section(name, "", None, None, 0, tuple(about))
        return
    log = _one_log(_whole_lines(text.head()))
    if log and log.parse_lines:
        parsed = log.parse_lines(text.lines(first_line))
        notes = (_other_name(name, log), *_about(text, source.trouble))
        yield Section(name, "", log, parsed, first_line, tuple(filter(None, notes)))
        return
    if first_line > 1:
        yield Section(name, "", None, None, first_line, ("the end of the file is no log: not read",))
        return
    body = text.whole(MOST_TEXT)
    parts = _parts(_whole_lines(body) if text.cut else body)
    about = _about(text, source.trouble)
    for part in parts:
        section = _section(name, part)
        other = _other_name(name, section.tool) if len(parts) == 1 else ""
        yield replace(section, notes=tuple(filter(None, (*section.notes, other, *about))))
        about = []


def _bug_report(name: str, text: TextLines) -> Iterator[Section]:
    """Each section of a report, all of them the machine's that its first section names, from the time that it tells."""
    host, taken = "", None
    for part in sections(text.lines()):
        section = _report_section(name, part)
        host, taken = host or section.host, taken or section.taken
        if section.tool or not _is_frame(part.command, section):
            yield replace(section, host=host, taken=section.taken or taken)


def _is_frame(command: str, section: Section) -> bool:
    """Whether it only says where the report begins or ends."""
    return "NVIDIA bug report log file" in command or (not command and section.notes == (_BLANK,))


def _report_section(name: str, part: ReportSection) -> Section:
    """A log line by line; else what stands in it, up to MOST_SECTION; what nobody knows is passed over."""
    head = _first_lines(part, HEAD)
    tool = recognize(head.text)
    if tool and tool.parse_lines:
        parsed = tool.parse_lines(chain(zip(head.numbers, head.text.split("\n"), strict=False), part.lines))
        return Section(name, host_told(part.command, head.text), tool, parsed, part.first_line, (), part.command)
    body = _first_lines(part, MOST_SECTION, head) if tool else head
    section = _section(name, body)
    if tool and next(part.lines, None):
        cut = f"only the first {MOST_SECTION // 1024**2} MiB of `{_shown(part.command)}` were read"
        section = replace(section, notes=(*section.notes, cut))
    return section


def _first_lines(section: ReportSection, size: int, head: Part | None = None) -> Part:
    """The lines of `size` characters together, with the one that goes past; `head`: those that were read already."""
    text, numbers = io.StringIO(), array("Q", head.numbers if head else ())
    left = size - text.write(head.text if head else "")
    while left > 0 and (line := next(section.lines, None)):
        numbers.append(line[0])
        left -= text.write(line[1]) + text.write("\n")
    return Part("", section.command, section.first_line, text.getvalue(), numbers)


def _whole_lines(text: str) -> str:
    """Without the line that a cut left unfinished, unless there is no other."""
    return text[: text.rfind("\n") + 1] or text


def _one_log(head: str) -> Tool | None:
    """The tool of a log that holds nothing else, as far as its beginning tells."""
    tool = recognize(head)
    if not tool or not tool.parse_lines:
        return None
    parts = _parts(head)
    return tool if len(parts) == 1 and not parts[0].command and not parts[0].host else None


def _parts(text: str) -> list[Part]:
    """The outputs that `text` holds. A cut that leaves no part recognizable was none: keys can look like hosts."""
    parts = [part for part in split(text) if part.command or not part.is_blank]
    whole = Part("", "", 1, text, range(1, text.count("\n") + 2))
    if len(parts) < 2 or (recognize(text) and not any(recognize(part.text) for part in parts)):
        return parts or [whole]
    return parts


def _section(name: str, part: Part) -> Section:
    typed = part.command or (PurePath(name).name if PurePath(name).name == "hostname" else "")
    host, taken = part.host or host_told(typed, part.text), time_told(part.text)
    tool = None if part.is_blank else recognize(part.text)
    if tool is None:
        said = _why_unread(part, host)
        return Section(name, host, None, None, part.first_line, said, part.command, taken)
    parsed = _parse(tool, part)
    unconfirmed = f"the form of {tool.name} is known from {tool.unconfirmed} alone" if tool.unconfirmed else ""
    notes = (unconfirmed,) if unconfirmed else ()
    return Section(name, host, tool, parsed, part.first_line, notes, part.command, taken)


def _why_unread(part: Part, host: str) -> tuple[str, ...]:
    """Why an output gave no readings; nothing of one that only says whose or from when the others are."""
    if part.is_blank:
        return (f"`{_shown(part.command)}` printed nothing" if part.command else _BLANK,)
    if is_only_a_date(part.text) or (host and not part.host and len(part.text) < _ONLY_A_NAME):
        return ()
    begins = next(line for line in part.text.splitlines() if line.strip())
    return (f"no known tool's output: begins with `{_shown(begins)}`",)


def _parse(tool: Tool, part: Part) -> Parsed[Any]:
    if tool.parse_lines:
        lines = (line[:LONGEST_LINE].rstrip("\r") for line in part.text.split("\n"))
        return tool.parse_lines(zip(part.numbers, lines, strict=False))
    parsed = tool.parse(part.text)
    last = len(part.numbers)
    parsed.unread = [
        replace(line, number=part.numbers[line.number - 1] if line.number <= last else line.number)
        for line in parsed.unread
    ]
    return parsed


def _other_name(name: str, tool: Tool | None) -> str:
    """A note where the file's name promises another tool than its content shows.

    Any log may be named as any other, and a table that somebody made from a tool's values after that tool.
    """
    if tool is TABLE:
        return ""
    base = PurePath(name.lower()).name
    for ending in _COMPRESSED:
        base = base.removesuffix(ending)
    promised = [one for one in TOOLS if any(fnmatchcase(base, pattern) for pattern in one.file_names)]
    if not promised or tool in promised or (tool and tool.parse_lines and any(one.parse_lines for one in promised)):
        return ""
    found = f"its content is that of {tool.name}" if tool else "nothing in it is recognized as such"
    return f"its name suggests {promised[0].name}, but {found}"


def _about(text: TextLines, trouble: str) -> list[str]:
    """What holds for the whole file, known once it was read."""
    said = [trouble]
    if text.cut:
        said.append(f"only the first {MOST_TEXT // 1024**2} MiB were read")
    if text.long_lines:
        said.append(
            f"{text.long_lines} lines are longer than {LONGEST_LINE} characters, the first of them line "
            f"{text.first_long_line}: only their beginning was read"
        )
    if text.nuls:
        said.append(f"{text.nuls} NUL bytes were left out, as a crash leaves them in a file")
    if text.undecodable:
        said.append("some bytes are no valid text and were replaced")
    return [one for one in said if one]


def _shown(text: str) -> str:
    """The beginning of a line, fit for a screen: without escapes and control characters."""
    plain = without_escapes(text[: 4 * _SHOWN]).strip()
    shown = "".join(character if character.isprintable() else " " for character in plain)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
