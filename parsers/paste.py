"""One text that holds the outputs of several machines or several commands, in its parts.

Machines are told by the headings of `clush -b`, `dshbak` and Ansible, or by the `host: ` that pdsh and clush put before
every line; commands by shell prompts, `set -x` traces and the rules of nvidia-bug-report; runs of one tool by a heading
of which one run prints only one. Every line that is not blank belongs to one part: to its text or the heading above it.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from .parsed import LONGEST_LINE
from .plain import prompts_in

MOST_PARTS = 20_000
"""Past these, the rest stays with the last part."""


@dataclass(frozen=True, slots=True)
class Part:
    """The output of one command on one machine, as far as can be told."""

    host: str
    """A host or a set of hosts with equal output (`gpu[001-004]`); empty where nothing names one."""
    command: str
    """As it was typed; empty where nothing tells."""
    first_line: int
    """Where it begins in the whole text, its heading included; from 1."""
    text: str
    """Without the heading, and without `host: ` before its lines."""
    numbers: Sequence[int]
    """The line of the whole text that each line of `text` is."""

    @property
    def is_blank(self) -> bool:
        """True of a part that nothing was printed in."""
        return not self.text or self.text.isspace()


@dataclass(frozen=True, slots=True)
class _Mark:
    """Where a part begins: the offset of its heading and that of the text below."""

    start: int
    body: int
    host: str = ""
    command: str = ""


_END = r"[ \t]{0,80}\r?"
_HOSTS = re.compile(
    rf"^(?P<rule>-{{4,200}}){_END}\n"
    rf"(?P<set>[A-Za-z0-9\[][\w.,\[\]-]{{0,2000}})(?: \(\d{{1,6}}\))?{_END}\n"
    rf"(?P=rule){_END}$"
    r"|^(?P<ansible>[\w.-]{1,253}) \| (?:CHANGED|SUCCESS|FAILED|UNREACHABLE!?)(?: \| rc=-?\d{1,4})? "
    rf"(?:>>|=> \{{){_END}$",
    re.MULTILINE,
)
_PREFIX = re.compile(r"([A-Za-z0-9][\w.-]{0,252}):(?: |$)")
_ABOUT_HOST = re.compile(r"(?:pdsh@[\w.-]{1,253}|clush): ([A-Za-z0-9][\w.-]{0,252}): ")
_DIGITS = re.compile(r"\d{1,12}")
_BUG_REPORT = re.compile(
    rf"^_{{20,200}}{_END}\n(?:{_END}\n){{0,3}}(?P<command>[^_\s][^\n]{{0,400}})$"
    rf"|^\*\*\* (?P<file>/[^\s]{{1,400}}){_END}$",
    re.MULTILINE,
)
_ESCAPE = r"(?:\x1b\[[0-9;]{0,16}m)?"
_RUN_HEADINGS = re.compile(
    r"^={4,40}NVSMI LOG={4,40}|^<\?xml |^GPU 0: [^\n]{1,200} \(UUID: "
    rf"|^[ \t]{{0,40}}{_ESCAPE}GPU0{_ESCAPE}[ \t]{{1,40}}{_ESCAPE}(?:GPU1|NIC0|CPU Affinity|mlx)",
    re.MULTILINE,
)


def split(text: str) -> list[Part]:
    """The parts of `text` in its order; one part where it is one output."""
    whole = Part("", "", 1, text, range(1, text.count("\n") + 2))
    parts = _cut(whole, _host_marks(text)) or _by_prefix(whole) or [whole]
    for marks in (_command_marks, _run_marks):
        parts = [piece for part in parts for piece in _cut(part, marks(part.text)) or [part]]
    return parts


def _cut(part: Part, marks: list[_Mark]) -> list[Part]:
    """`part` cut at its marks; nothing where there are none. What stands above the first mark is a part too."""
    if not marks:
        return []
    parts = []
    line = part.text.count("\n", 0, marks[0].start)
    if marks[0].start:
        above = part.text[: marks[0].start]
        parts.append(Part(part.host, part.command, part.first_line, above, part.numbers[:line]))
    ends = [mark.start for mark in marks[1:]] + [len(part.text)]
    for mark, end in zip(marks, ends, strict=True):
        first = part.numbers[line] if mark.start else part.first_line
        below = line + part.text.count("\n", mark.start, mark.body)
        line = below + part.text.count("\n", mark.body, end)
        text, numbers = part.text[mark.body : end], part.numbers[below : line if end < len(part.text) else None]
        parts.append(Part(mark.host or part.host, mark.command or part.command, first, text, numbers))
    return parts


def _below(text: str, end: int) -> int:
    """Offset of the line after the one that ends at `end`."""
    after = text.find("\n", end)
    return len(text) if after < 0 else after + 1


def _host_marks(text: str) -> list[_Mark]:
    """`---\\nhost[1-3] (3)\\n---` and `host | CHANGED | rc=0 >>`."""
    return [
        _Mark(found.start(), _below(text, found.end()), host=found["set"] or found["ansible"])
        for found in islice(_HOSTS.finditer(text), MOST_PARTS)
    ]


def _command_marks(text: str) -> list[_Mark]:
    """Prompts with what was typed, and the sections and files of nvidia-bug-report."""
    marks = [
        _Mark(start, _below(text, end), prompt.host, prompt.command[:400])
        for start, end, prompt in islice(prompts_in(text), MOST_PARTS)
    ]
    for found in islice(_BUG_REPORT.finditer(text), MOST_PARTS):
        command = found["command"].strip() if found["command"] else f"cat {found['file']}"
        marks.append(_Mark(found.start(), _below(text, found.end()), command=command))
    marks.sort(key=lambda mark: mark.start)
    return [mark for at, mark in enumerate(marks) if at == 0 or mark.start >= marks[at - 1].body]


def _run_marks(text: str) -> list[_Mark]:
    """Headings of which one run of a tool prints one; they stay in the text, and one alone cuts nothing."""
    starts = [found.start() for found in islice(_RUN_HEADINGS.finditer(text), MOST_PARTS)]
    return [_Mark(start, start) for start in starts] if len(starts) > 1 else []


def _by_prefix(whole: Part) -> list[Part]:
    """Lines gathered by the `host: ` before each; nothing where a line has none, or the names look like no hosts."""
    counts: Counter[str] = Counter()
    for _, start, end in _lines(whole.text):
        host, _ = _prefix(whole.text[start : min(end, start + LONGEST_LINE)])
        counts[host] += 1
        if not host or len(counts) > MOST_PARTS:
            return []
    if not _are_hosts(counts):
        return []
    bodies: dict[str, list[str]] = {host: [] for host in counts}
    numbers: dict[str, array[int]] = {host: array("Q") for host in counts}
    for number, start, end in _lines(whole.text):
        host, length = _prefix(whole.text[start : min(end, start + LONGEST_LINE)])
        bodies[host].append(whole.text[start + length : end].rstrip("\r"))
        numbers[host].append(number)
    return [Part(host, "", numbers[host][0], "\n".join(bodies[host]) + "\n", numbers[host]) for host in counts]


def _lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Number and offsets of each line that is not blank."""
    start, number = 0, 1
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if not text[start:end].isspace() and end > start:
            yield number, start, end
        start, number = end + 1, number + 1


def _prefix(line: str) -> tuple[str, int]:
    """The host before a line and how long that is; what pdsh and clush say of a host belongs to it."""
    line = line.rstrip("\r")
    if found := _ABOUT_HOST.match(line):
        return found[1], found.end()
    found = _PREFIX.match(line)
    return (found[1], found.end()) if found else ("", 0)


def _are_hosts(lines: Mapping[str, int]) -> bool:
    """Names with numbers, each before several lines or all alike but for the numbers: not the keys of a table."""
    if not lines or not all(_DIGITS.search(host) or host == "localhost" for host in lines):
        return False
    return min(lines.values()) > 1 or (len(lines) > 1 and len({_DIGITS.sub("0", host) for host in lines}) == 1)
