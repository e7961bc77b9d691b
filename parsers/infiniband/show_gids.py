"""`show_gids`: the GIDs of RDMA ports, which RoCE traffic is addressed by.

Tabs separate the columns, several in a row where one is empty; expanded to blanks in a paste.
Source: captures infiniband/show_gids-*; the script of MLNX_OFED and of rdma-core.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class Gid:
    """One entry of a port's GID table."""

    device: str
    port: int
    index: int
    gid: str
    """Eight groups of four hex digits."""
    ipv4: str | None
    """Of a GID that maps an IPv4 address."""
    version: str
    """`v1` (IB or RoCE v1) or `v2` (RoCE v2)."""
    netdev: str | None
    """None on InfiniBand."""

    @property
    def is_link_local(self) -> bool:
        """Whether it reaches no further than the link."""
        return self.gid.startswith("fe80:")


_ROW = re.compile(
    r"\s{0,8}([\w.-]{2,40})\s{1,12}(\d{1,3})\s{1,12}(\d{1,4})\s{1,12}([0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){7})\s{1,40}"
    r"(?:(\d{1,3}(?:\.\d{1,3}){3})\s{1,12})?(v[12])(?:\s{1,12}([\w.@-]{1,40}))?\s{0,12}"
)
_HEADING = re.compile(r"\s{0,8}DEV\s{1,12}PORT\s{1,12}INDEX\s{1,12}GID\b.{0,120}")
_RULE = re.compile(r"[\s-]{3,160}")
_FOUND = re.compile(r"\s{0,8}n_gids_found=(\d{1,6})\s{0,8}")
_MARKS = re.compile(r"^[ \t]{0,8}DEV[ \t]{1,12}PORT[ \t]{1,12}INDEX[ \t]{1,12}GID\b|^n_gids_found=\d", re.MULTILINE)


def parse_show_gids(text: str) -> Parsed[Gid]:
    """Read all entries; a count that differs from what was read is noted on its line."""
    parsed = Parsed[Gid]()
    before = 0
    for number, line in numbered(without_escapes(text)):
        if found := _ROW.fullmatch(line):
            device, port, index, gid, ipv4, version, netdev = found.groups()
            parsed.add(Gid(device, int(port), int(index), gid.lower(), ipv4, version, netdev))
        elif found := _FOUND.fullmatch(line):
            read, before = len(parsed.readings) - before, len(parsed.readings)
            if int(found[1]) != read:
                parsed.cannot_read(number, line, f"{read} were read")
        elif not _HEADING.fullmatch(line) and not _RULE.fullmatch(line) and line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


TOOL = Tool(
    "show_gids", lambda head: bool(_MARKS.search(without_escapes(head))), parse_show_gids, file_names=("*show_gids*",)
)
