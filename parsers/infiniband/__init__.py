"""Outputs of InfiniBand and Ethernet tools."""

from __future__ import annotations

from ..tool import Tool
from . import (
    ethtool,
    ethtool_settings,
    ibdiagnet,
    iblinkinfo,
    ibnetdiscover,
    ibnetdiscover_ports,
    ibnodes,
    ibqueryerrors,
    ibstat,
    ibstatus,
    ibswinfo,
    ibv_devinfo,
    ip_link,
    ip_text,
    mlxlink,
    perfquery,
    roce_settings,
    show_gids,
    sysfs_files,
)

TOOLS: tuple[Tool, ...] = (
    ibstat.TOOL,
    ibstatus.TOOL,
    perfquery.TOOL,
    ibqueryerrors.TOOL,
    iblinkinfo.TOOL,
    ibnetdiscover.TOOL,
    ibnetdiscover_ports.TOOL,
    ibnodes.TOOL,
    ibdiagnet.TOOL,
    ibswinfo.TOOL,
    mlxlink.TOOL,
    ethtool.TOOL,
    ethtool_settings.TOOL,
    show_gids.TOOL,
    ip_link.TOOL,
    ip_text.TOOL,
    ibv_devinfo.TOOL,
    *roce_settings.TOOLS,
    sysfs_files.LINES,
    sysfs_files.MANIFEST,
)
