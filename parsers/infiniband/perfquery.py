"""`perfquery`, plain, `-x`, `-l`, `-a`, `--rcverr`, `--xmtdisc`: counters of one port or of several in turn.

Source: captures infiniband/perfquery-*; rdma-core perfquery.c and libibmad/fields.c; the older names from OFED 1.x.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .complaints import complaint
from .counters import CLASSIC, EXTENDED, PortCounter, kernel_name, saturating

_HEADER = re.compile(
    r"\s{0,8}#? ?(?P<what>Port[A-Za-z -]{0,60}|SwPort[A-Za-z]{0,40}) counters: "
    r"(?P<where>[^\n]{1,120}?) port (?P<port>\d{1,3})(?: \(CapMask:[^)]{0,80}\))?\s{0,8}"
)
_SAMPLES = re.compile(r"\s{0,8}# PortSamplesControl: .{1,200}")
_VALUE = re.compile(r"\s{0,8}([A-Z][A-Za-z0-9]{1,60}):\.{0,80}\s{0,8}(\d{1,20}|0x[0-9a-fA-F]{1,16})\s{0,8}")
_MARKS = re.compile(
    r"^[ \t]{0,8}#? ?(?:Sw)?Port[A-Za-z -]{0,60} counters: [^\n]{1,120}? port \d{1,3}|^[ \t]{0,8}PortSelect:\.{3,40}\d"
    r"|^[ \t]{0,8}SymbolError(?:s|Counter):\.{3,40}\d",
    re.MULTILINE,
)
_LID = re.compile(r"Lid (\d{1,6})")
_ATTRIBUTES = {"Port": CLASSIC, "Port extended": EXTENDED}
_ALL_PORTS = 255


@dataclass(frozen=True, slots=True)
class _Block:
    """Whose counters follow."""

    attribute: str = ""
    lid: int | None = None
    port: int | None = None
    counts: bool = True
    """False of blocks whose values are settings."""


def parse_perfquery(text: str) -> Parsed[PortCounter]:
    """Read all blocks; port 255 stands for all ports of the node together."""
    parsed = Parsed[PortCounter]()
    block = _Block()
    for number, line in numbered(without_escapes(text)):
        if found := _HEADER.fullmatch(line):
            block = _block(found)
        elif _SAMPLES.fullmatch(line):
            block = _Block(counts=False)
        elif found := _VALUE.fullmatch(line):
            block = _take(parsed, block, found[1], found[2], (number, line))
        elif words := complaint(line):
            parsed.not_applicable("perfquery", words)
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _block(header: re.Match[str]) -> _Block:
    lid, port = _LID.match(header["where"]), int(header["port"])
    attribute = _ATTRIBUTES.get(header["what"], header["what"].partition(" ")[0])
    return _Block(attribute, int(lid[1]) if lid else None, None if port == _ALL_PORTS else port)


def _take(parsed: Parsed[PortCounter], block: _Block, name: str, value: str, at: tuple[int, str]) -> _Block:
    """Keep one counter; `PortSelect` names the port where the heading is lost."""
    if name == "PortSelect" and not value.startswith("0x"):
        port = None if int(value) == _ALL_PORTS else int(value)
        return block if block.attribute else _Block(port=port)
    if value.startswith("0x"):
        return block
    if not block.counts:
        parsed.cannot_read(*at, "is a setting of a kind that is not read")
        return block
    name = kernel_name(name)
    count = saturating(name, int(value), block.attribute or CLASSIC)
    parsed.add(PortCounter(name, count, block.port, block.attribute, lid=block.lid))
    return block


TOOL = Tool(
    "perfquery",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_perfquery,
    file_names=("*perfquery*",),
)
