"""What a transfer crosses: the world's own table, kept apart from the engine's so that a wrong path there shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from .board import Board
from .hardware import Hardware

OPERATIONS: Mapping[str, int] = {"h2d": 1, "d2h": 1, "p2p": 2}
"""How many GPUs a copy names."""


def crossed(hardware: Hardware, operation: str, ends: tuple[str, ...]) -> Mapping[str, float]:
    """Parts within the node that a copy between `ends` crosses, with the share of its traffic each carries."""
    return _crossed(hardware.board, operation, ends)


@lru_cache(maxsize=4096)
def _crossed(board: Board, operation: str, ends: tuple[str, ...]) -> Mapping[str, float]:
    """The same in all nodes of a kind."""
    parts = _peer_copy(board, *ends) if operation == "p2p" else _host_copy(board, *ends)
    shares: dict[str, float] = {}
    for part, share in parts:
        shares[part] = max(share, shares.get(part, 0.0))
    return shares


def _host_copy(board: Board, name: str) -> Iterator[tuple[str, float]]:
    """Host memory, socket, root port, switch, link, GPU: in a row, each carries all."""
    gpu = board.gpu(name)
    yield "host", 1.0
    yield f"numa{gpu.numa}", 1.0
    for bridge in gpu.path:
        yield f"pcie/{bridge}", 1.0
    yield f"{name}/pcie", 1.0
    yield name, 1.0


def _peer_copy(board: Board, source: str, target: str) -> Iterator[tuple[str, float]]:
    """Out over all lanes of one GPU, through the NVSwitches they end at, in over all lanes of the other."""
    counts = board.platform.switch_lanes
    total = sum(counts)
    yield "host", 1.0
    for name in (source, target):
        yield name, 1.0
        for lane in range(board.platform.lanes_per_gpu):
            yield f"{name}/nvlink{lane}", 1.0 / total
    for switch, lanes in enumerate(counts):
        yield f"nvswitch{switch}", lanes / total
