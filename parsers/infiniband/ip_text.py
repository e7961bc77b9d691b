"""`ip link`, `ip addr` and `ifconfig` as people read them: interfaces with their MTU, whole or the lines with it.

Source: iproute2 ip/ipaddress.c print_linkinfo; net-tools ifconfig.c.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool
from .interface import Interface

_IP = re.compile(r"\d{1,6}: ([\w.:-]{1,40})(?:@[\w.-]{1,40})?: <([A-Z0-9_,-]{0,200})> mtu (\d{1,6})\b(.{0,400})")
_STATE = re.compile(r" state ([A-Z]{2,16})\b")
_MASTER = re.compile(r" master (\S{1,40})")
_LINK = re.compile(r"\s{1,8}link/(\w{1,16})(?: ([0-9a-f]{2}(?::[0-9a-f]{2}){5,19}))?.*")
_IFCONFIG = re.compile(r"([\w.:-]{1,40}): flags=\d{1,6}<([A-Z0-9_,]{0,200})>\s{1,4}mtu (\d{1,6})\s*")
_BESIDE = re.compile(
    r"\s{1,12}(?:inet6? |valid_lft |altname |RX|TX|bridge|vf \d|vxlan|bond|veth|vlan|tun|ether |infiniband |loop |"
    r"\d{1,20}(?: |$)|promiscuity |prog/|device |parent|addrgenmode).*|--"
)


def parse_ip_text(text: str) -> Parsed[Interface]:
    """Read all interfaces; addresses and statistics are passed over."""
    parsed = Parsed[Interface]()
    interface: Interface | None = None
    for number, line in numbered(without_escapes(text)):
        if begun := _interface(line):
            if interface:
                parsed.add(interface)
            interface = begun
        elif interface and (found := _LINK.fullmatch(line)):
            interface = replace(interface, link_type=found[1], address=found[2])
        elif line.strip() and not _BESIDE.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    if interface:
        parsed.add(interface)
    return parsed


def _interface(line: str) -> Interface | None:
    if found := _IP.match(line):
        flags, state, master = found[2].split(","), _STATE.search(found[4]), _MASTER.search(found[4])
        return Interface(
            name=found[1],
            state=state[1] if state else None,
            carrier="LOWER_UP" in flags,
            mtu=int(found[3]),
            bond=master[1] if master else None,
        )
    if found := _IFCONFIG.fullmatch(line):
        flags = found[2].split(",")
        return Interface(found[1], "UP" if "UP" in flags else "DOWN", "RUNNING" in flags, int(found[3]))
    return None


def _recognizes(head: str) -> bool:
    lines = [line for _, line in numbered(without_escapes(head)) if line.strip() and not prompt_of(line)]
    return bool(lines) and _interface(lines[0]) is not None


TOOL = Tool("ip link", _recognizes, parse_ip_text, file_names=("*ip-addr*", "*ip_addr*", "*ifconfig*"))
