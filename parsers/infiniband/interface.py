"""A network interface as the kernel knows it, whichever tool or file told of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface; None for what the source does not tell."""

    name: str
    state: str | None = None
    """`UP`, `DOWN`, `UNKNOWN`."""
    carrier: bool | None = None
    """Whether there is a signal on the wire."""
    mtu: int | None = None
    link_type: str | None = None
    """`ether`, `infiniband`, `loopback`."""
    address: str | None = None
    """6 bytes, 20 of an InfiniBand interface."""
    bond: str | None = None
    """The bond it belongs to."""
    speed_mbps: int | None = None
    """What the driver says; it may go on saying so when the link is gone."""
    bus_address: str | None = None
