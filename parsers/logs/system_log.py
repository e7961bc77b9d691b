"""Logs in which kernel, network and fabric manager speak: dmesg, the journal, syslog, pstore, /dev/kmsg.

All are read alike: a paste or an archive often holds several of them, from several machines.
"""

from __future__ import annotations

from typing import TypeAlias

from ..parsed import Parsed, numbered
from ..tool import NumberedLines
from .fabric_manager import FabricManagerLine, may_tell_of_fabric, take_journal_line
from .kernel_log import KernelLine, KernelLines, is_broken, may_tell
from .log_stamp import split_head

SystemLine: TypeAlias = KernelLine | FabricManagerLine


def parse_system_log(text: str) -> Parsed[SystemLine]:
    """Read a whole log in any of its time forms."""
    return parse_system_lines(numbered(text))


def parse_system_lines(lines: NumberedLines) -> Parsed[SystemLine]:
    """Read a log line by line; what is held does not grow with the lines that tell nothing."""
    parsed = Parsed[SystemLine]()
    kernel = KernelLines()
    for number, line in lines:
        of_fabric = may_tell_of_fabric(line)
        if not of_fabric and not may_tell(line):
            continue
        head = split_head(line)
        found = (take_journal_line(number, head) if of_fabric else None) or kernel.take(number, head)
        if found:
            parsed.add(found)
        elif head.is_of_the_kernel and is_broken(head.message):
            parsed.cannot_read(number, line, "an Xid or SXid line that breaks off")
    return parsed
