"""`ibqueryerrors`: the counters of the fabric's ports that are past their thresholds.

A value with a rounded one in parentheses (`65536 (64.000K)`) comes from 64-bit counters; one without stops at the width
of the classic counter.
Source: capture infiniband/ibqueryerrors-*; rdma-core ibqueryerrors.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .complaints import complaint
from .counters import CLASSIC, EXTENDED, PortCounter, kernel_name, saturating
from .link_line import IbPort, read_link_line
from .port_words import guid


@dataclass(frozen=True, slots=True)
class QuerySummary:
    """What was asked, and what did not answer."""

    nodes_checked: int | None
    bad_nodes: int | None
    ports_checked: int | None = None
    bad_ports: int | None = None
    query_failures: int | None = None
    """None where the tool says nothing of failures."""
    thresholds: tuple[tuple[str, int], ...] = ()
    """Counter and the value it may reach."""
    suppressed: tuple[str, ...] = ()


_NODE = re.compile(
    r"\s{0,4}(?:Errors|Data Counters) for (?:0x(?P<guid>[0-9a-fA-F]{1,16}) )?\"(?P<name>[^\"]{0,200})\"\s{0,8}"
)
_PORT = re.compile(r"\s{0,12}GUID 0x(?P<guid>[0-9a-fA-F]{1,16}) port (?P<port>\d{1,3}|ALL):(?P<counters>.{0,4000})")
_COUNTER = re.compile(r" ?\[(\w{2,60}) == (\d{1,20})( \(\d{1,6}(?:\.\d{1,6})?\s{0,2}[A-Za-z]{0,3}\))?\]")
_LINK = re.compile(r"\s{0,12}Link info:(?P<link>.{1,800})")
_NODES = re.compile(r"\s{0,4}## Summary: (\d{1,9}) nodes checked, (\d{1,9}) bad nodes found\s{0,8}")
_PORTS = re.compile(
    r"\s{0,4}##\s{1,12}(\d{1,9}) ports checked, (\d{1,9}) ports have errors beyond threshold(?:[: ].{0,100})?\s{0,8}"
)
_FAILURES = re.compile(r"\s{0,4}##\s{1,12}(\d{1,9}) PMA query failures\s{0,8}")
_THRESHOLDS = re.compile(r"\s{0,4}## Thresholds: ?(.{0,4000})")
_THRESHOLD = re.compile(r"\[(\w{2,60}) = (\d{1,20})\]")
_SUPPRESSED = re.compile(r"\s{0,4}(?:## Suppressed:|Suppressing:)(.{0,4000})")
_MARKS = re.compile(
    r"^[ \t]{0,12}GUID 0x[0-9a-fA-F]{1,16} port (?:\d{1,3}|ALL):|^[ \t]{0,4}Errors for (?:0x[0-9a-fA-F]{1,16} )?\""
    r"|^[ \t]{0,4}## Summary: \d{1,9} nodes checked",
    re.MULTILINE,
)


@dataclass(slots=True)
class _Reader:
    """Whose ports follow, and what the summary said so far."""

    parsed: Parsed[PortCounter | IbPort | QuerySummary]
    name: str | None = None
    guid: str | None = None
    summary: dict[str, int] = field(default_factory=dict)
    thresholds: tuple[tuple[str, int], ...] = ()
    suppressed: tuple[str, ...] = ()


def parse_ibqueryerrors(text: str) -> Parsed[PortCounter | IbPort | QuerySummary]:
    """Read all counters, `port ALL` being those of a node together, links with `-r`, and the summary."""
    reader = _Reader(Parsed())
    for number, line in numbered(without_escapes(text)):
        if found := _NODE.fullmatch(line):
            reader.name, reader.guid = found["name"].strip() or None, guid(found["guid"] or "")
        elif found := _PORT.fullmatch(line):
            if not _counters(reader, found):
                reader.parsed.cannot_read(number, line, "not all of it is a counter")
        elif found := _LINK.fullmatch(line):
            port = read_link_line(found["link"], reader.name, None, reader.guid)
            if port:
                reader.parsed.add(port)
            else:
                reader.parsed.cannot_read(number, line)
        elif words := complaint(line):
            reader.parsed.not_applicable("ibqueryerrors", words)
        elif not _of_summary(reader, line) and line.strip() and not prompt_of(line):
            reader.parsed.cannot_read(number, line)
    _finish(reader)
    return reader.parsed


def _counters(reader: _Reader, port: re.Match[str]) -> bool:
    """Keep what one line counts; False where something else stands in it too."""
    read = 0
    for found in _COUNTER.finditer(port["counters"]):
        read += len(found[0])
        name, attribute = kernel_name(found[1]), EXTENDED if found[3] else CLASSIC
        reader.parsed.add(
            PortCounter(
                name=name,
                count=saturating(name, int(found[2]), attribute),
                port=None if port["port"] == "ALL" else int(port["port"]),
                attribute=attribute,
                guid=guid(port["guid"]),
                node_name=reader.name,
            )
        )
    return read == len(port["counters"].rstrip())


def _of_summary(reader: _Reader, line: str) -> bool:
    if found := _NODES.fullmatch(line):
        reader.summary |= {"nodes_checked": int(found[1]), "bad_nodes": int(found[2])}
    elif found := _PORTS.fullmatch(line):
        reader.summary |= {"ports_checked": int(found[1]), "bad_ports": int(found[2])}
    elif found := _FAILURES.fullmatch(line):
        reader.summary["query_failures"] = int(found[1])
    elif found := _THRESHOLDS.fullmatch(line):
        reader.thresholds = tuple((kernel_name(one[1]), int(one[2])) for one in _THRESHOLD.finditer(found[1]))
    elif found := _SUPPRESSED.fullmatch(line):
        reader.suppressed = tuple(kernel_name(name) for name in found[1].replace(",", " ").split())
    else:
        return False
    return True


def _finish(reader: _Reader) -> None:
    if reader.summary:
        summary = {"nodes_checked": None, "bad_nodes": None} | reader.summary
        reader.parsed.add(QuerySummary(**summary, thresholds=reader.thresholds, suppressed=reader.suppressed))


TOOL = Tool(
    "ibqueryerrors",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_ibqueryerrors,
    file_names=("*ibqueryerrors*",),
)
