"""What a transfer crosses: the world's own table, kept apart from the engine's so that a wrong path there shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from .hardware import Hardware

OPERATIONS: Mapping[str, int] = {"h2d": 1, "d2h": 1, "p2p": 2}
"""How many GPUs a copy names."""


@lru_cache(maxsize=8192)
def crossed(hardware: Hardware, operation: str, ends: tuple[str, ...]) -> Mapping[str, float]:
    """Parts within the node that a copy between `ends` crosses, with the share of its traffic each carries."""
    parts = _peer_copy(hardware, *ends) if operation == "p2p" else _host_copy(hardware, *ends)
    shares: dict[str, float] = {}
    for part, share in parts:
        shares[part] = max(share, shares.get(part, 0.0))
    return shares


def _host_copy(hardware: Hardware, name: str) -> Iterator[tuple[str, float]]:
    """Host memory, socket, root port, switch, link, GPU: in a row, each carries all."""
    gpu = hardware.gpu(name)
    yield "host", 1.0
    yield f"numa{gpu.numa}", 1.0
    for bridge in gpu.path:
        yield f"pcie/{bridge}", 1.0
    yield f"{name}/pcie", 1.0
    yield name, 1.0


def _peer_copy(hardware: Hardware, source: str, target: str) -> Iterator[tuple[str, float]]:
    """Out over all lanes of one GPU, through the NVSwitches they end at, in over all lanes of the other."""
    counts = hardware.platform.switch_lanes
    total = sum(counts)
    yield "host", 1.0
    for name in (source, target):
        yield name, 1.0
        for lane in hardware.lanes():
            yield f"{name}/nvlink{lane}", 1.0 / total
    for switch, lanes in enumerate(counts):
        yield f"nvswitch{switch}", lanes / total


def shared_with(hardware: Hardware, operation: str, ends: tuple[str, ...], others: Mapping[str, int]) -> int:
    """How many copies at once, this one included, squeeze through the narrowest part of the way.

    `others`: for every part with a queue of its own (GPU, PCIe link), how many of the copies cross it.
    """
    ways = [others.get(part, 1) for part in crossed(hardware, operation, ends) if has_queue(part)]
    return max(ways, default=1)


def has_queue(part: str) -> bool:
    """Whether two copies across a part halve each other: GPUs and PCIe links do; sockets and NVSwitches have room."""
    return part.startswith(("gpu", "pcie/")) and "nvlink" not in part
