"""`ip -j link` and `ip -j addr`: the network interfaces of this machine, as JSON.

Source: captures infiniband/ip-j-*; iproute2 ip/ipaddress.c.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..json_document import read_document
from ..parsed import Parsed
from ..tool import Tool
from .interface import Interface

_MARKS = re.compile(r"\A\s{0,40}\[\s{0,8}\{(?:\s{0,8}\}\s{0,8},\s{0,8}\{){0,8}\s{0,8}\"ifindex\"\s{0,4}:")


def parse_ip_link(text: str) -> Parsed[Interface]:
    """Read all interfaces; empty objects, which `ip` prints for filtered ones, are passed over."""
    parsed = Parsed[Interface]()
    for document in read_document(text, parsed, "["):
        for row in document if isinstance(document, list) else [document]:
            if isinstance(row, dict) and (interface := interface_of(row)):
                parsed.add(interface)
            elif row:
                parsed.cannot_read(1, str(row)[:80], "is no network interface")
    return parsed


def interface_of(row: Mapping[str, Any]) -> Interface | None:
    """The interface of one row of `ip -j`; None where it has no name."""
    name = row.get("ifname")
    if not isinstance(name, str) or not name:
        return None
    listed = row.get("flags")
    flags = listed if isinstance(listed, list) else None
    return Interface(
        name=name,
        state=_text(row.get("operstate")),
        carrier="LOWER_UP" in flags if flags is not None else None,
        mtu=_integer(row.get("mtu")),
        link_type=_text(row.get("link_type")),
        address=_text(row.get("address")),
        bond=_text(row.get("master")) or _text(row.get("main")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


TOOL = Tool("ip -j link", lambda head: bool(_MARKS.match(head)), parse_ip_link, file_names=("ip-j*", "*ip-link*"))
