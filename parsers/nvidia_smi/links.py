"""The outputs of nvidia-smi that tell how GPUs are linked."""

from __future__ import annotations

from ..tool import Tool
from .nvlink import (
    parse_nvlink_errors,
    parse_nvlink_remotes,
    parse_nvlink_status,
    prints_errors,
    prints_nvlink_5_errors,
    prints_remotes,
    prints_states,
)
from .p2p import parse_peer_access, prints_peer_access
from .topo import parse_topo_matrix, prints_matrix

LINKS: tuple[Tool, ...] = (
    Tool("nvidia-smi nvlink -s", prints_states, parse_nvlink_status, file_names=("*nvlink*s*", "*nvlink*status*")),
    Tool("nvidia-smi nvlink -e", prints_errors, parse_nvlink_errors, file_names=("*nvlink*e*", "*nvlink*error*")),
    Tool(
        "nvidia-smi nvlink -e (NVLink 5)",
        prints_nvlink_5_errors,
        parse_nvlink_errors,
        file_names=("*nvlink*e*", "*nvlink*error*"),
        unconfirmed="nvidia-smi manual of driver 610, change log; fields noted down on a B300 with driver 595",
    ),
    Tool(
        "nvidia-smi nvlink -R",
        prints_remotes,
        parse_nvlink_remotes,
        file_names=("*nvlink*r*", "*nvlink*remote*"),
        unconfirmed="NVSentinel's lsnvlink test data; NVIDIA/nccl issue 1617",
    ),
    Tool("nvidia-smi topo -m", prints_matrix, parse_topo_matrix, file_names=("*topo-m*", "*topo_m*", "*nvidia*topo*")),
    Tool("nvidia-smi topo -p2p", prints_peer_access, parse_peer_access, file_names=("*topo*p2p*", "*p2p*")),
)
