"""Somebody else's traffic: on the NICs of a node."""

from __future__ import annotations

from .onoff import OnOff
from .surroundings import Surroundings

TENANT_BURST = 20.0
"""Mean seconds of somebody else's traffic on a NIC."""
TENANT_TAKES = 0.12
"""Share of the bandwidth of a host copy below a common switch, or of a transfer by that NIC, lost to it."""


class Tenants:
    """When the NICs of a node carry somebody else's traffic."""

    def __init__(self, seed: int, node: str, world: Surroundings) -> None:
        self._keys = (seed, node)
        self._share = world.tenants
        self._known: dict[str, OnOff] = {}

    def of(self, nic: str) -> OnOff | None:
        """In simulated seconds since the world began; None where there are no tenants."""
        if self._share and nic not in self._known:
            self._known[nic] = OnOff(self._share, TENANT_BURST, "tenant", *self._keys, nic)
        return self._known.get(nic)
