"""What the node's operating system says: modules, boot parameters, services, processes; and tables made by hand."""

from __future__ import annotations

from ..tool import Tool
from . import (
    complaints,
    containers,
    governors,
    limits,
    module_files,
    modules,
    mounts,
    paths,
    ping,
    power_table,
    processes,
    services,
    sysctl,
    versions,
)

TOOLS: tuple[Tool, ...] = (
    modules.TOOL,
    services.STATUS,
    services.IS_ACTIVE,
    power_table.TOOL,
    complaints.TOOL,
    processes.TOOL,
    limits.TOOL,
    mounts.DISK_SPACE,
    mounts.MOUNTS,
    module_files.TOOL,
    paths.TOOL,
    sysctl.TOOL,
    governors.TOOL,
    containers.TOOL,
    ping.TOOL,
    *versions.TOOLS,
)
