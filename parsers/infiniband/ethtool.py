"""`ethtool -S`: the counters of an Ethernet interface. All of them have 64 bits and never stop.

Source: capture infiniband/ethtool-S-*; ethtool(8); names of mlx5 from the kernel's ethernet/mellanox/mlx5/counters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..parsed import Parsed, numbered
from ..plain import prompt_of, without_escapes
from ..tool import Tool


@dataclass(frozen=True, slots=True)
class InterfaceCounter:
    """One counter of an interface since the driver was loaded."""

    name: str
    """As the driver names it: `rx_symbol_err_phy`, `rx_err_lane_0_phy`."""
    count: int
    lane: int | None = None
    """Lane of the module, of counters that are kept for each."""
    queue: int | None = None


_HEADING = re.compile(r"\s{0,8}NIC statistics:\s{0,8}")
_COUNTER = re.compile(r"\s{1,12}(?:\[(\d{1,5})\]:? )?([A-Za-z][\w .-]{2,80}): (-?\d{1,20})\s{0,8}")
_LANE = re.compile(r"_lane_(\d{1,3})(?:_|$)")
_QUEUE = re.compile(r"(?:^|_)(?:[rt]x|ch)(\d{1,4})_")
_ABSENT = re.compile(
    r"\s{0,8}(no stats available|Cannot get stats strings information: .{1,100})\s{0,8}", re.IGNORECASE
)
_MARKS = re.compile(
    r"^[ \t]{0,8}NIC statistics:|^[ \t]{1,12}(?:rx|tx)_(?:crc_errors|symbol_err|pcs_symbol_err|err_lane_\d{1,2}|"
    r"discards|corrected_bits|packets|bytes|vport_\w{2,40})(?:_phy)?: \d",
    re.MULTILINE,
)


def parse_ethtool_statistics(text: str) -> Parsed[InterfaceCounter]:
    """Read all counters, also those that a `grep` left of them."""
    parsed = Parsed[InterfaceCounter]()
    for number, line in numbered(without_escapes(text)):
        if found := _COUNTER.fullmatch(line):
            lane, queue = _LANE.search(found[2]), _QUEUE.search(found[2])
            own = found[1] or (queue[1] if queue else None)
            counter = InterfaceCounter(
                found[2], int(found[3]), int(lane[1]) if lane else None, int(own) if own is not None else None
            )
            parsed.add(counter)
        elif found := _ABSENT.fullmatch(line):
            parsed.not_applicable("ethtool -S", found[1])
        elif line.strip() and not _HEADING.fullmatch(line) and not prompt_of(line):
            parsed.cannot_read(number, line)
    return parsed


TOOL = Tool(
    "ethtool -S",
    lambda head: bool(_MARKS.search(without_escapes(head))),
    parse_ethtool_statistics,
    file_names=("*ethtool*",),
)
