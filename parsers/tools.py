"""All tools whose output can be read, and the recognition of an output by what stands in it."""

from __future__ import annotations

from . import bandwidth, dcgm, host, infiniband, logs, nccl, nvidia_smi, pcie, platform
from .table import TABLE
from .tool import HEAD, Tool

TOOLS: tuple[Tool, ...] = (
    *nvidia_smi.TOOLS,
    *nccl.TOOLS,
    *bandwidth.TOOLS,
    *dcgm.TOOLS,
    *infiniband.TOOLS,
    *pcie.TOOLS,
    *platform.TOOLS,
    *logs.TOOLS,
    *host.TOOLS,
)
"""Logs come late, as any text may be quoted in one; then what is told by its form more than by its words."""


def recognize(text: str) -> Tool | None:
    """The tool that printed `text`, told by its beginning; a table made by hand where none is known to."""
    head = text[:HEAD]
    return next((tool for tool in (*TOOLS, TABLE) if tool.recognizes(head)), None)
