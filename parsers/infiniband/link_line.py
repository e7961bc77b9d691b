"""One end of a link as iblinkinfo and `ibqueryerrors -r` print it, and what stands on its other side.

    2   17[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>       4    1[  ] "n02 HCA-1" ( )

Source: captures infiniband/iblinkinfo-*; rdma-core iblinkinfo.c print_port.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .port_words import DOWN, guid, phys_state, port_state

_HERE = re.compile(
    r"\s{0,40}(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s{1,8})?(?:\"(?P<name>[^\"]{0,200})\"\s{1,8})?"
    r"(?P<lid>\d{1,6})\s{1,8}(?P<port>\d{1,3})\[\s{0,4}\d{0,4}\s{0,4}\]\s{0,8}"
)
_THERE = re.compile(
    r"\s{0,40}(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s{1,8})?(?:(?P<lid>\d{1,6})\s{1,8}(?P<port>\d{1,3}))?"
    r"\[\s{0,4}\d{0,4}\s{0,4}\]\s{0,8}\"(?P<name>[^\"]{0,200})\"(?P<notes>.{0,200})"
)
_NOT_AVAILABLE = re.compile(r"\s{0,20}\"Port not available\"\s{0,8}")
_WIDTH = re.compile(r"(\d{1,2})X")
_SPEED = re.compile(r"(\d{1,4}(?:\.\d{1,6})?) Gbps")
_COULD_BE_WIDTH = re.compile(r"Could be (\d{1,2})X")
_COULD_BE_SPEED = re.compile(r"Could be (\d{1,4}(?:\.\d{1,6})?) Gbps")
_WORD = re.compile(r"\s{0,20}(\w{2,40})")


@dataclass(frozen=True, slots=True)
class IbPort:
    """One port of a switch, an adapter or a router, with what it is connected to."""

    guid: str | None
    """Of the port, or of the switch; None where neither heading nor line names it."""
    name: str | None
    port: int
    lid: int
    width: int | None
    """Lanes; None while the port is down."""
    lane_gbps: float | None
    """Signalling rate of each lane: 25.78125 is EDR."""
    state: str | None
    phys_state: str | None
    peer_guid: str | None
    """Printed with `--line` alone."""
    peer_name: str | None
    peer_lid: int | None
    peer_port: int | None
    """None where nothing is connected, or nothing that answers."""
    could_be_width: int | None = None
    """Lanes that both sides support, where more than those in use."""
    could_be_gbps: float | None = None
    """Rate of each lane that both sides support, where higher than that in use."""
    kind: str | None = None
    """`switch`, `ca`, `router`; None where no heading tells."""


def read_link_line(line: str, name: str | None, kind: str | None, owner: str | None) -> IbPort | None:
    """The port of one line; `name`, `kind` and GUID are those of the heading above, which the line's own go before."""
    before, found, rest = line.partition("==(")
    link, arrow, after = rest.partition("==>")
    here = _HERE.fullmatch(before)
    if not (here and found and arrow):
        return None
    there = _THERE.fullmatch(after[:600])
    words, _, physical = link.partition("/")
    phys = _WORD.match(physical)
    if not phys or not (there or _NOT_AVAILABLE.fullmatch(after[:600])):
        return None
    state = port_state(words.split()[-1]) if words.split() else None
    notes = there["notes"] if there else ""
    return IbPort(
        guid=guid(here["guid"]) if here["guid"] else owner,
        name=(here["name"].strip() if here["name"] is not None else name) or None,
        port=int(here["port"]),
        lid=int(here["lid"]),
        width=_integer(_WIDTH.search(words)) if state != DOWN else None,
        lane_gbps=_float(_SPEED.search(words)) if state != DOWN else None,
        state=state,
        phys_state=phys_state(phys[1]),
        peer_guid=guid(there["guid"]) if there and there["guid"] else None,
        peer_name=(there["name"].strip() or None) if there else None,
        peer_lid=int(there["lid"]) if there and there["lid"] else None,
        peer_port=int(there["port"]) if there and there["port"] else None,
        could_be_width=_integer(_COULD_BE_WIDTH.search(notes)),
        could_be_gbps=_float(_COULD_BE_SPEED.search(notes)),
        kind=kind,
    )


def _integer(found: re.Match[str] | None) -> int | None:
    return int(found[1]) if found else None


def _float(found: re.Match[str] | None) -> float | None:
    return float(found[1]) if found else None
