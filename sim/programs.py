"""The node programs that the world can play, by name: one entry each."""

from __future__ import annotations

from collections.abc import Mapping

from .copy_program import CopyProgram
from .nccl_program import NcclProgram
from .network import Network
from .program import Program


def programs_of(network: Network) -> Mapping[str, Program]:
    """All programs, for nodes on this network."""
    return {"cuda_copy": CopyProgram(), "nccl": NcclProgram(network)}
