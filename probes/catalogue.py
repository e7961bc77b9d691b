"""All probes, by name."""

from __future__ import annotations

from collections.abc import Mapping

from .h2d import HostToDeviceCopy
from .p2p import PeerCopy
from .probe import Probe

_PROBES: tuple[Probe, ...] = (PeerCopy(), HostToDeviceCopy())

CATALOGUE: Mapping[str, Probe] = {probe.name: probe for probe in _PROBES}
