"""Logs: of the kernel, the fabric manager, syslog and the journal."""

from __future__ import annotations

from ..tool import Tool
from .fabric_manager import parse_fabric_manager_lines, parse_fabric_manager_log
from .recognition import is_fabric_manager_journal, is_fabric_manager_log, is_kernel_log, is_syslog
from .system_log import parse_system_lines, parse_system_log

TOOLS: tuple[Tool, ...] = (
    Tool(
        "fabricmanager.log",
        is_fabric_manager_log,
        parse_fabric_manager_log,
        parse_fabric_manager_lines,
        file_names=("fabricmanager*.log*",),
    ),
    Tool(
        "journalctl -u nvidia-fabricmanager",
        is_fabric_manager_journal,
        parse_system_log,
        parse_system_lines,
        file_names=("*fabricmanager*journal*", "journal*fabricmanager*"),
    ),
    Tool(
        "kernel log",
        is_kernel_log,
        parse_system_log,
        parse_system_lines,
        file_names=("*dmesg*", "kern*.log*", "*kmsg*", "*kernel*log*", "*pstore*"),
    ),
    Tool(
        "syslog",
        is_syslog,
        parse_system_log,
        parse_system_lines,
        file_names=("syslog*", "messages*", "journal*"),
    ),
)
