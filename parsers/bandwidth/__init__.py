"""Outputs of bandwidth, latency and burn-in tests."""

from __future__ import annotations

from ..tool import Tool
from .cuda_bandwidth_test import TOOL as CUDA_BANDWIDTH_TEST
from .gpu_burn import TOOL as GPU_BURN
from .nccl_tests import TOOL as NCCL_TESTS
from .nvbandwidth import TOOL as NVBANDWIDTH
from .nvbandwidth_json import TOOL as NVBANDWIDTH_JSON
from .p2p_latency_test import TOOL as P2P_LATENCY_TEST
from .perftest import TOOL as PERFTEST
from .perftest_json import TOOL as PERFTEST_JSON

TOOLS: tuple[Tool, ...] = (
    NCCL_TESTS,
    NVBANDWIDTH,
    NVBANDWIDTH_JSON,
    P2P_LATENCY_TEST,
    CUDA_BANDWIDTH_TEST,
    PERFTEST,
    PERFTEST_JSON,
    GPU_BURN,
)
