"""`setpci` asked for the control register of access control services (ACS), `ECAP_ACS+0x6.w`, of one port or more.

With -v it prints the device, where the capability stands, and the value; lists that scripts make of it hold the device
and the value. A value without a device is nobody's and not recognized.
Source: pciutils setpci.c `exec_op`; PCI Express Base Specification 6.0, 7.7.11.3 for the bits. No capture.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..pci import bus_address
from ..plain import prompt_of, without_escapes
from ..tool import Tool

BITS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
"""What each bit switches on, from the lowest, in the words of lspci."""


@dataclass(frozen=True, slots=True)
class AcsControl:
    """The register of one port."""

    address: str
    value: int

    @property
    def acs(self) -> tuple[str, ...]:
        """What is switched on."""
        return tuple(name for bit, name in enumerate(BITS) if self.value >> bit & 1)


_ADDRESS = r"(?P<address>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])"
_VERBOSE = re.compile(rf"{_ADDRESS} \(ecap 000d @[0-9a-f]{{2,4}}\) @[0-9a-f]{{2,4}} = (?P<value>[0-9a-f]{{4}})")
_NAMED = re.compile(
    rf"{_ADDRESS}[:,]? {{1,4}}(?:ECAP_ACS\+(?:0x)?0?6\.w|ACSCtl):? {{0,2}}=? {{0,2}}(?:0x)?(?P<value>[0-9a-fA-F]{{4}})"
)


def parse_acs_control(text: str) -> Parsed[AcsControl]:
    """Read the registers; a port that has no such capability prints an error, which is noted as not applicable."""
    parsed = Parsed[AcsControl]()
    for number, line in numbered(without_escapes(text)):
        said = line.strip()
        found = _of_a_port(said)
        address = bus_address(found["address"]) if found else None
        if found and address:
            parsed.add(AcsControl(address, int(found["value"], 16)))
        elif said.startswith("setpci: "):
            parsed.not_applicable("ACS", said)
        elif said and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


def _of_a_port(line: str) -> re.Match[str] | None:
    return _VERBOSE.fullmatch(line) or _NAMED.fullmatch(line)


def _recognizes(head: str) -> bool:
    return any(_of_a_port(line.strip()) for _, line in numbered(without_escapes(head)))


TOOL = Tool(
    "setpci",
    _recognizes,
    parse_acs_control,
    file_names=("*setpci*", "*acsctl*"),
    unconfirmed="pciutils setpci.c",
)
