"""NCCL's debug log (`NCCL_DEBUG=INFO`), of one process or of a whole job in one file, other programs' lines in between.

Most lines of such a file are chatter or not NCCL's and are passed over; a line that opens as one of those read here and
then breaks off is noted as unread. PyTorch's watchdog writes to the same place and is read along.
Source: captures nccl/nccl-info-*, nccl/nccl-warn-*; NVIDIA/nccl src/debug.cc and where the lines' readers name theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from ..parsed import Parsed, numbered
from ..plain import without_escapes
from ..tool import NumberedLines, Tool
from . import log_messages as messages
from .log_channels import read_channel, read_ring, read_tree
from .log_latest import Latest
from .log_line import FromProcess, LogLine, has_nccl_lines, nccl_lines
from .log_warnings import read_return, read_warning
from .pytorch_watchdog import Watchdog, WatchdogState, WatchdogTimeout

NcclLogReading: TypeAlias = FromProcess | messages.NcclVersion | WatchdogTimeout | WatchdogState
Reader: TypeAlias = Callable[[LogLine], Iterator[FromProcess]]

_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (re.compile(r"Channel \d{1,4}[ /:]"), read_channel),
    (re.compile(r"Trees? \[?\d"), read_tree),
    (re.compile(r"Ring \d"), read_ring),
    (re.compile(r"(?:\[Rank \d{1,7}\] )?(?:ncclComm\w{1,40} )?comm \S{1,40} rank "), messages.read_communicator),
    (re.compile(r"\d{1,5} coll channels"), messages.read_channel_counts),
    (re.compile(r"Using network |NET/[\w -]{1,40} ?: Using \["), messages.read_network),
    (
        re.compile(r"DMA-BUF is |(?:NET/\w{1,20} ?: )?GPU Direct RDMA (?:Enabled|Disabled) for .{0,30}HCA"),
        messages.read_gdr,
    ),
    (re.compile(r"MNNVL (?:busId|\d cliqueId) "), messages.read_fabric),
    (re.compile(r"NVLS (?:multicast support is|Creat\w{1,3} Multicast group) "), messages.read_nvls),
    (re.compile(r"Connected (?:all|NVLS) "), messages.read_connected),
    (re.compile(r"NCCL_\w{1,60} set "), messages.read_setting),
    (re.compile(r"Init timings - "), messages.read_init_time),
)
"""How a line opens that is read, and who reads it."""
_NCCL_TESTS = re.compile(
    r"^#\s{0,16}(?:nThread \d|size\s{1,24}count\s|Out of bounds values\s{0,8}:|Avg bus bandwidth\s{0,8}:)", re.MULTILINE
)


def parse_nccl_log(text: str) -> Parsed[NcclLogReading]:
    """Read a log that is at hand as a whole."""
    return read_nccl_log(numbered(text))


def read_nccl_log(lines: NumberedLines) -> Parsed[NcclLogReading]:
    """Read a log line by line; what each process called last comes at the end."""
    parsed = Parsed[NcclLogReading]()
    latest, watchdog = Latest(), Watchdog(parsed)
    for number, line in lines:
        watchdog.take(number, line)
        ours = list(nccl_lines(line))
        for one in ours:
            _read_line(number, one, latest, parsed)
        if not ours and "NCCL version " in line and (version := messages.read_version(without_escapes(line))):
            parsed.add(version)
    watchdog.end()
    for reading in latest.readings():
        parsed.add(reading)
    return parsed


def _read_line(number: int, line: LogLine, latest: Latest, parsed: Parsed[NcclLogReading]) -> None:
    if line.level == "WARN":
        for warning in read_warning(line):
            parsed.add(warning)
    elif not latest.take(line):
        _read_message(number, line, parsed)


def _read_message(number: int, line: LogLine, parsed: Parsed[NcclLogReading]) -> None:
    if " -> " in line.text and (passed_on := next(read_return(line), None)):
        parsed.add(passed_on)
        return
    if line.text.startswith("NCCL version ") and (version := messages.read_version(line.text, line.host)):
        parsed.add(version)
        return
    for opens, read in _READERS:
        if opens.match(line.text):
            readings = list(read(line))
            for reading in readings:
                parsed.add(reading)
            if not readings:
                parsed.cannot_read(number, line.text, "breaks off")
            return


def _is_nccl_log(head: str) -> bool:
    """Lines of nccl-tests stand between the table's rows of their own tool."""
    return has_nccl_lines(head) and not _NCCL_TESTS.search(head)


NCCL_LOG = Tool(
    name="NCCL_DEBUG=INFO",
    recognizes=_is_nccl_log,
    parse=parse_nccl_log,
    parse_lines=read_nccl_log,
    file_names=("nccl*.log", "nccl-debug*", "nccl*.txt", "*nccl*debug*"),
)
