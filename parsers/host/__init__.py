"""What the node's operating system says: modules, boot parameters, services, processes; and tables made by hand."""

from __future__ import annotations

from ..tool import Tool
from . import complaints, modules, power_table, processes, services

TOOLS: tuple[Tool, ...] = (
    modules.TOOL,
    services.STATUS,
    services.IS_ACTIVE,
    power_table.TOOL,
    complaints.TOOL,
    processes.TOOL,
)
