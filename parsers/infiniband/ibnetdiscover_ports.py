"""`ibnetdiscover --ports`: every port of the fabric in a row, with the port on the other side.

A port that nothing is connected to has no other side; `4x SDR` or `4x ???` in its row is no slow link.
Source: captures infiniband/ibnetdiscover-p-*; rdma-core ibnetdiscover.c dump_ports_report.
"""

from __future__ import annotations

import re

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .complaints import complaint
from .ibnetdiscover import KINDS, IbLink, known_speed, lanes

_ROW = re.compile(
    r"\s{0,8}(?P<kind>SW|CA|RT|\?\?)\s{1,8}(?P<lid>\d{1,6})\s{1,8}(?P<port>\d{1,3})\s{1,8}0x(?P<guid>[0-9a-f]{16})"
    r"\s{1,8}(?P<width>\d{1,2}x|\?\?)\s{1,8}(?P<speed>[A-Z0-9]{3,6}|\?\?\?)\s{1,60}(?P<rest>.{1,800})"
)
_PEER = re.compile(
    r"-\s{1,8}(?P<kind>SW|CA|RT|\?\?)\s{1,8}(?P<lid>\d{1,6})\s{1,8}(?P<port>\d{1,3})\s{1,8}0x(?P<guid>[0-9a-f]{16})"
    r"\s{1,8}\(\s{0,8}'(?P<names>.{0,600})'\s{0,8}\)\s{0,8}"
)
_BETWEEN_NAMES = re.compile(r"'\s{1,4}-\s{1,4}'")
_ALONE = re.compile(r"'(?P<name>.{0,300})'\s{0,8}")
_MARKS = re.compile(
    r"^[ \t]{0,8}(?:SW|CA|RT|\?\?)[ \t]{1,8}\d{1,6}[ \t]{1,8}\d{1,3}[ \t]{1,8}0x[0-9a-f]{16}[ \t]{1,8}"
    r"(?:\d{1,2}x|\?\?)[ \t]",
    re.MULTILINE,
)


def parse_ibnetdiscover_ports(text: str) -> Parsed[IbLink]:
    """Read all rows."""
    parsed = Parsed[IbLink]()
    for number, line in numbered(without_escapes(text)):
        if (row := _ROW.fullmatch(line)) and (link := _link(row)):
            parsed.add(link)
        elif words := complaint(line):
            parsed.not_applicable("ibnetdiscover --ports", words)
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _link(row: re.Match[str]) -> IbLink | None:
    peer, alone = _PEER.fullmatch(row["rest"]), _ALONE.fullmatch(row["rest"])
    if not (peer or alone):
        return None
    names = _BETWEEN_NAMES.split(peer["names"], maxsplit=1) if peer else [alone["name"]] if alone else []
    return IbLink(
        guid=row["guid"],
        port=int(row["port"]),
        peer_guid=peer["guid"] if peer else None,
        peer_port=int(peer["port"]) if peer else None,
        width=lanes(row["width"]) if peer else None,
        speed=known_speed(row["speed"]) if peer else None,
        guid_name=names[0].strip() or None,
        peer_name=(names[1].strip() or None) if len(names) > 1 else None,
        kind=KINDS.get(row["kind"]),
        peer_kind=KINDS.get(peer["kind"]) if peer else None,
        lid=int(row["lid"]),
        peer_lid=int(peer["lid"]) if peer else None,
        port_guid=row["guid"],
        peer_port_guid=peer["guid"] if peer else None,
        printed_rate=f"{row['width']} {row['speed']}",
    )


TOOL = Tool(
    "ibnetdiscover --ports",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_ibnetdiscover_ports,
    file_names=("*ibnetdiscover*p*",),
)
