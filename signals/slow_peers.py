"""Copies between GPUs that direct access (P2P) makes slower than over host memory: the way across is at fault.

Direct access saves a copy, so that it never ought to be slower. Source: NVIDIA/cuda-samples p2pBandwidthLatencyTest.cu,
which measures every pair both ways; capture bandwidth/p2pBandwidthLatencyTest-6gpu-p2p-slower-than-no-p2p.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..incident.ids import NodeId
from ..parsers.bandwidth.p2p_latency_test import PeerMeasure
from .readings import Output, Readings

NOISE = 0.8
"""Share of the rate without P2P below which the rate with it is slower by more than chance."""


@dataclass(frozen=True, slots=True)
class SlowPeers:
    """What one run of the test shows."""

    output: Output
    pairs: tuple[tuple[int, int], ...]
    """GPUs by CUDA index, source first."""
    measured: int
    """Pairs measured both ways."""
    slowest: tuple[float, float]
    """GB/s with and without P2P of the pair that loses most."""


def slow_peers(readings: Readings, node: NodeId) -> SlowPeers | None:
    """The first run of a node in which P2P slows some pair; None where there is none."""
    for output in readings.outputs:
        if output.node == node and (found := _of(output)):
            return found
    return None


def _of(output: Output) -> SlowPeers | None:
    measures = [one for one in output.readings if isinstance(one, PeerMeasure) and _counts(one)]
    without = {(one.here, one.there): one.value or 0.0 for one in measures if not one.p2p}
    direct: dict[tuple[int, int], float] = {}
    for one in measures:
        if one.p2p and (one.here, one.there) in without:
            direct.setdefault((one.here, one.there), one.value or 0.0)
    slow = {pair: rate / without[pair] for pair, rate in direct.items() if rate < NOISE * without[pair]}
    if not slow:
        return None
    worst = min(slow, key=lambda pair: slow[pair])
    return SlowPeers(output, tuple(slow), len(direct), (direct[worst], without[worst]))


def _counts(one: PeerMeasure) -> bool:
    return one.what == "bandwidth" and not one.local and not one.bidirectional and bool(one.value)
