"""What is asked of the world: one timed transfer."""

from __future__ import annotations

import msgspec

NET = "net"
"""Operation of a transfer from NIC to NIC, between two nodes or within one."""


class Request(msgspec.Struct, frozen=True, gc=False):
    """A transfer to be timed."""

    operation: str
    """`h2d`, `d2h`, `p2p` within a node; `net` by the NICs beside two GPUs."""
    ends: tuple[str, ...]
    """GPUs, source first, as `sim1/gpu3`."""
    starts: tuple[float, ...]
    """Load clock of each end's node when it starts, the warm-up first; of a copy within a node one is enough."""
    window_s: float
    windows: int
    nonce: int
    """Different for every transfer of the source's node."""
    at: float
    """True time when it starts, seconds since the epoch."""
    warm_s: float = 0.0
    both_ways: bool = False
    """Of `net`: whether as much goes back at the same time."""
