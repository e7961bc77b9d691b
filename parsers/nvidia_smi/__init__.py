"""Outputs of nvidia-smi."""

from __future__ import annotations

from ..tool import Tool
from .links import LINKS
from .reports import REPORTS

TOOLS: tuple[Tool, ...] = (*REPORTS, *LINKS)
