"""`ibstatus`: the ports of this machine's adapters, as /sys shows them.

Source: rdma-core infiniband-diags/scripts/ibstatus.
"""

from __future__ import annotations

import re

from ..parsed import Missing, Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .ibstat import HcaPort
from .port_words import guid, means_no_rate, phys_state, port_rate, port_state

_PORT = re.compile(r"\s{0,8}Infiniband device '([\w.-]{1,64})' port (\d{1,3}) status:\s{0,8}")
_VALUE = re.compile(r"\s{0,40}([a-z][a-z _]{2,20}):\s{0,20}(.{0,200})")
_MARKS = re.compile(r"^[ \t]{0,8}Infiniband device '[\w.-]{1,64}' port \d{1,3} status:", re.MULTILINE)
_FATAL = re.compile(r"\s{0,8}Fatal error: {1,4}(.{1,300})")
_LID = re.compile(r"0x([0-9a-f]{1,5})")
_KNOWN = frozenset({"default gid", "base lid", "sm lid", "state", "phys state", "physical state", "rate", "link_layer"})


def parse_ibstatus(text: str) -> Parsed[HcaPort]:
    """Read all ports; a file that could not be read shows as `unknown` and is None."""
    parsed = Parsed[HcaPort]()
    port: tuple[str, int] | None = None
    values: dict[str, str] = {}
    for number, line in numbered(without_escapes(text)):
        if found := _PORT.fullmatch(line):
            _finish(parsed, port, values)
            port, values = (found[1], int(found[2])), {}
        elif port and (found := _VALUE.fullmatch(line)) and found[1] in _KNOWN:
            values[found[1]] = found[2].strip()
        elif found := _FATAL.fullmatch(line):
            parsed.not_applicable("ibstatus", found[1])
        elif line.strip() and not prompt_of(line):
            parsed.cannot_read(number, line)
    _finish(parsed, port, values)
    return parsed


def _finish(parsed: Parsed[HcaPort], port: tuple[str, int] | None, values: dict[str, str]) -> None:
    if not port:
        return
    state = port_state(values.get("state", ""))
    physical = phys_state(values.get("phys state") or values.get("physical state", ""))
    rate = port_rate(values.get("rate", ""))
    down = means_no_rate(state, physical)
    layer = values.get("link_layer") or None
    parsed.add(
        HcaPort(
            device=port[0],
            port=port[1],
            state=state,
            phys_state=physical,
            rate_gbps=rate.gbps if rate and not down else None,
            printed_gbps=rate.gbps if rate else None,
            link_layer="InfiniBand" if layer == "IB" else layer,
            lid=_lid(values.get("base lid", "")),
            port_guid=_port_guid(values.get("default gid", "")) if layer != "Ethernet" else None,
            width=rate.width if rate and not down else None,
            speed=rate.speed if rate and not down else None,
            sm_lid=_lid(values.get("sm lid", "")),
            missing={"rate_gbps": Missing.NOT_APPLICABLE} if down else {},
        )
    )


def _lid(text: str) -> int | None:
    found = _LID.fullmatch(text)
    return (int(found[1], 16) or None) if found else None


def _port_guid(gid: str) -> str | None:
    """The second half of a port's first GID."""
    return guid(gid[-19:]) if len(gid) == 39 else None


TOOL = Tool(
    "ibstatus",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_ibstatus,
    file_names=("*ibstatus*",),
    unconfirmed="rdma-core infiniband-diags/scripts/ibstatus",
)
