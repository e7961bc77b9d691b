"""Several transfers of one trial as one path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..incident.ids import ComponentId
from ..topology.paths import Crossing, Path


def largest_shares(ways: Iterable[Path]) -> Path:
    """Transfers one after the other: each part with the largest share that any of them has of it."""
    parts: dict[ComponentId, Crossing] = {}
    for crossing in (crossing for way in ways for crossing in way):
        known = parts.get(crossing.component)
        if known is None or crossing.share > known.share:
            parts[crossing.component] = crossing
    return tuple(parts.values())


def summed_shares(ways: Sequence[Path]) -> Path:
    """Equal transfers at once: each part with its share of all bytes, 1 where all of them cross it."""
    shares: dict[ComponentId, float] = {}
    for crossing in (crossing for way in ways for crossing in way):
        shares[crossing.component] = shares.get(crossing.component, 0.0) + crossing.share / len(ways)
    return tuple(Crossing(part, min(1.0, share)) for part, share in shares.items())
