"""Outputs of DCGM and its exporter."""

from __future__ import annotations

from ..tool import Tool
from .diag_json import DIAG_JSON, DIAG_JSON_4
from .diag_text import DIAG_TEXT
from .exporter import EXPORTER
from .nvlink import NVLINK_ERRORS, NVLINK_ERRORS_JSON, NVLINK_STATUS

TOOLS: tuple[Tool, ...] = (
    DIAG_TEXT,
    DIAG_JSON,
    DIAG_JSON_4,
    NVLINK_STATUS,
    NVLINK_ERRORS_JSON,
    NVLINK_ERRORS,
    EXPORTER,
)
