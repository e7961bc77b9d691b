"""What NCCL, its RAS service and PyTorch's watchdog write."""

from __future__ import annotations

from ..tool import Tool
from .graph_xml import NCCL_GRAPH
from .log import NCCL_LOG
from .pytorch_watchdog import PYTORCH_WATCHDOG
from .ras_json import RAS_JSON
from .ras_text import RAS_TEXT
from .topo_xml import NCCL_TOPOLOGY

TOOLS: tuple[Tool, ...] = (NCCL_TOPOLOGY, NCCL_GRAPH, RAS_TEXT, RAS_JSON, PYTORCH_WATCHDOG, NCCL_LOG)
