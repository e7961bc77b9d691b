"""`nvidia-smi topo -p2p`: whether GPUs can reach each other's memory, by the driver's own account.

The letters behind the option (`r`, `w`, `n`, `a`, `p`: read, write, NVLink, atomics, PCIe) are not in the output.
Source: capture nvidia-smi/topo-p2p-*; the manual of driver 610 for `DR`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from .matrix import PEER_CELL, Heading, heading_of


@dataclass(frozen=True, slots=True)
class PeerAccess:
    """Whether one GPU can reach another."""

    here: str
    there: str
    status: str
    """`OK`; `CNS`, `GNS`, `TNS`, `NS`: not supported by chipset, GPU, topology, at all; `DR` disabled; `U` unknown."""

    @property
    def possible(self) -> bool | None:
        """None where the driver does not know."""
        return None if self.status == "U" else self.status == "OK"


_LEGEND = re.compile(r"\s*(?:Legend:|(?:X|OK|CNS|GNS|TNS|NS|DR|U)\s+= \S.*)\s*$")


def parse_peer_access(text: str) -> Parsed[PeerAccess]:
    """Read the matrix; a row with more or fewer cells than headings is noted as unread."""
    parsed = Parsed[PeerAccess]()
    heading: Heading | None = None
    for number, line in numbered(without_escapes(text)):
        if found := heading_of(line):
            heading = found
        elif not line.strip() or _LEGEND.match(line) or prompt_of(line):
            continue
        elif not heading:
            parsed.cannot_read(number, line, "stands above a heading that begins with a GPU")
        elif statuses := _row(line.split(), heading.devices):
            here = line.split()[0]
            for there, status in statuses.items():
                if there != here:
                    parsed.add(PeerAccess(here, there, status))
        else:
            parsed.cannot_read(number, line, f"has not one status for each of {len(heading.devices)} columns")
    return parsed


def prints_peer_access(head: str) -> bool:
    """True of a text with a heading and a row of statuses below it, not all of which are X."""
    heading: Heading | None = None
    for _, line in numbered(without_escapes(head)):
        if found := heading_of(line):
            heading = found
        elif heading and _row(line.split(), heading.devices):
            return not heading.affinities
    return False


def _row(words: list[str], devices: tuple[str, ...]) -> dict[str, str]:
    """Status by device; empty where the cells don't fit or the row's own column does not say X."""
    if len(words) != len(devices) + 1 or not all(PEER_CELL.fullmatch(word) for word in words[1:]):
        return {}
    statuses = dict(zip(devices, words[1:], strict=True))
    return statuses if [there for there, status in statuses.items() if status == "X"] == words[:1] else {}
