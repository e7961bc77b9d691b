"""`iblinkinfo`: every link of the fabric, seen from its two ends.

By default each node heads a block of its ports; with `--line` each line names both sides with GUIDs.
Source: captures infiniband/iblinkinfo-*; rdma-core iblinkinfo.c.
"""

from __future__ import annotations

import re

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .complaints import complaint
from .link_line import IbPort, read_link_line
from .port_words import guid

__all__ = ["TOOL", "IbPort", "parse_iblinkinfo"]

_NODE = re.compile(
    r"[<>]?\s{0,8}(?P<kind>Switch|CA|Router):?\s{1,4}(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s{1,4})?(?P<name>.{0,200})"
)
_DIFFERENCE = re.compile(r"[<>] {1,8}")
_MARKS = re.compile(r"==\([^\n/]{2,80}/[^\n)]{2,40}\)[^\n]{0,60}==>")
_OF_IBQUERYERRORS = re.compile(r"^[ \t]{0,8}(?:GUID 0x[0-9a-fA-F]{1,16} port |Link info:)", re.MULTILINE)


def parse_iblinkinfo(text: str) -> Parsed[IbPort]:
    """Read all ports; one that is down and has nobody on its other side is unused or unplugged, which nobody tells."""
    parsed = Parsed[IbPort]()
    name = kind = owner = None
    for number, line in numbered(without_escapes(text)):
        if "==(" in line[:400]:
            prefix = _DIFFERENCE.match(line)
            port = read_link_line(line[prefix.end() if prefix else 0 :], name, kind, owner)
            if port:
                parsed.add(port)
            else:
                parsed.cannot_read(number, line)
        elif (found := _NODE.fullmatch(line)) and line.rstrip().endswith(":"):
            kind, name = found["kind"].lower(), found["name"].rstrip().removesuffix(":").strip() or None
            owner = guid(found["guid"]) if found["guid"] else None
        elif words := complaint(line):
            parsed.not_applicable("iblinkinfo", words)
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _recognizes(head: str) -> bool:
    plain = without_escapes(head)
    return bool(_MARKS.search(plain)) and not _OF_IBQUERYERRORS.search(plain)


TOOL = Tool("iblinkinfo", _recognizes, parse_iblinkinfo, file_names=("*iblinkinfo*",))
