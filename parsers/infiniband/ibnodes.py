"""`ibnodes`, `ibhosts`, `ibswitches`, `ibnetdiscover -l`: the nodes of the fabric in a list.

Source: rdma-core ibnetdiscover.c list_node; scripts/ibhosts.in, ibswitches.in.
"""

from __future__ import annotations

import re

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .complaints import complaint
from .ibnetdiscover import KINDS, IbNode

_NODE = re.compile(
    r"\s{0,8}(?P<kind>Switch|Ca|Router)\s{1,8}: 0x(?P<guid>[0-9a-f]{16}) ports (?P<ports>\d{1,4})"
    r"(?: devid 0x(?P<device>[0-9a-f]{1,8}) vendid 0x(?P<vendor>[0-9a-f]{1,8}))? \"(?P<name>[^\"]{0,200})\""
    r"(?: (?:enhanced|base) port 0 lid (?P<lid>\d{1,6}) lmc \d{1,3})?\s{0,8}"
)
_MARKS = re.compile(
    r"^[ \t]{0,8}(?:Switch|Ca|Router)[ \t]{1,8}: 0x[0-9a-f]{16} ports \d{1,4} [^\n\"]{0,60}\"", re.MULTILINE
)


def parse_ibnodes(text: str) -> Parsed[IbNode]:
    """Read all nodes."""
    parsed = Parsed[IbNode]()
    for number, line in numbered(without_escapes(text)):
        if found := _NODE.fullmatch(line):
            parsed.add(
                IbNode(
                    guid=found["guid"],
                    kind=KINDS[found["kind"]],
                    name=found["name"].strip() or None,
                    ports=int(found["ports"]),
                    lid=int(found["lid"]) if found["lid"] else None,
                    vendor_id=int(found["vendor"], 16) if found["vendor"] else None,
                    device_id=int(found["device"], 16) if found["device"] else None,
                )
            )
        elif words := complaint(line):
            parsed.not_applicable("ibnodes", words)
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


TOOL = Tool(
    "ibnodes",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_ibnodes,
    file_names=("*ibnodes*", "*ibhosts*", "*ibswitches*"),
    unconfirmed="rdma-core infiniband-diags/ibnetdiscover.c",
)
