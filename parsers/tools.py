"""All tools whose output can be read, and the recognition of an output by what stands in it."""

from __future__ import annotations

from . import bandwidth, dcgm, infiniband, logs, nccl, nvidia_smi, pcie, platform
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
)
"""Logs come last: any text may be quoted in one."""


def recognize(text: str) -> Tool | None:
    """The tool that printed `text`, told by its beginning; None where no tool is known to."""
    head = text[:HEAD]
    return next((tool for tool in TOOLS if tool.recognizes(head)), None)
