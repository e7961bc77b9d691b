"""Which log a text is, told from the form of its lines."""

from __future__ import annotations

import re
from collections import Counter

from ..parsed import numbered
from .fabric_manager import is_of_fabric_manager
from .log_stamp import split_head

MOST_LINES = 400
"""Lines that are looked at."""

_OF_DMESG = re.compile(
    r"\[ {0,8}\d{1,9}\.\d{6}\]"
    r"|\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\]"
    r"|<\d{1,3}>\[ {0,8}\d"
    r"|\d{1,4},\d{1,20},\d{1,20},[^;\s]{1,64};"
    r"|kern {1,3}:[a-z]{2,8} {0,3}: "
)
_OF_DRIVERS = re.compile(
    r"NVRM: |nvidia-nvswitch\d{1,3}: S?Xid|nvidia-nvswitch\d{1,3}: |mlx5_core[: ]|pcieport [0-9a-f]{4}:|nvidia-peermem "
    r"|NETDEV WATCHDOG: |nfs: server |Lustre(?:Error)?: |(?:lib)?ceph: "
)
_OF_FABRIC_MANAGER = re.compile(r"\[[A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d\] \[[A-Z]{3,12}\] \[tid \d{1,10}\] ")
_OF_OTHERS = ("NCCL INFO", "NCCL WARN", "NCCL ERROR", "ProcessGroupNCCL")


def is_kernel_log(head: str) -> bool:
    """dmesg in all its forms, `journalctl -k`, /dev/kmsg, pstore, or bare messages of the drivers."""
    forms = _forms(head)
    return _is_log(forms) and forms["kernel"] > 0 and not forms["program"] and not forms["fabric manager"]


def is_syslog(head: str) -> bool:
    """syslog or the journal with the lines of several programs."""
    forms = _forms(head)
    return _is_log(forms) and (forms["program"] > 0 or min(forms["kernel"], forms["fabric manager"]) > 0)


def is_fabric_manager_journal(head: str) -> bool:
    """The journal of the fabric manager's unit alone."""
    forms = _forms(head)
    return _is_log(forms) and forms["fabric manager"] > 0 and not forms["kernel"] and not forms["program"]


def is_fabric_manager_log(head: str) -> bool:
    """/var/log/fabricmanager.log."""
    return any(_OF_FABRIC_MANAGER.match(line) for _, line in _lines(head))


def _is_log(forms: Counter[str]) -> bool:
    logged = forms["kernel"] + forms["program"] + forms["fabric manager"]
    return logged > 0 and 2 * logged >= forms.total()


def _forms(head: str) -> Counter[str]:
    return Counter(_form(line) for _, line in _lines(head) if line.strip())


def _lines(head: str) -> list[tuple[int, str]]:
    return [(number, line[:1024]) for number, line in numbered(head) if number <= MOST_LINES]


def _form(line: str) -> str:
    if any(mark in line for mark in _OF_OTHERS):
        return "other"
    taken = split_head(line)
    if taken.program == "kernel":
        return "kernel"
    if taken.program:
        return "fabric manager" if is_of_fabric_manager(taken) else "program"
    if _OF_DMESG.search(line[:160]) or _OF_DRIVERS.match(taken.message):
        return "kernel"
    return "other"
