"""Whether two sources that word one thing differently say the same.

Only what can't change by itself is compared: identity, wiring, widths, what a link can do. Present speeds, states and
counts are read at different times and under different load: they differ without contradicting each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from .addresses import canonical_address, canonical_guid
from .claims import Source, Value

GTS_OF_GENERATION: Mapping[int, float] = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0, 7: 128.0}
"""GT/s a lane of each PCIe generation."""

IDENTITY = {"uuid", "serial", "minor", "bus_address", "node_guid", "port_guid", "guid", "lid"}
DOMAIN = {"domain", "cluster_uuid", "clique_id"}
PLACE = {"numa", "c2c_numa", "rail", "rack", "tray", "far", "port"}
ABILITY = {"width", "max_width", "max_speed_gts", "max_rate_gbps", "link_layer"}
COMPARED = frozenset(IDENTITY | DOMAIN | PLACE | ABILITY)
"""Attributes that every source should give alike."""

CAPABILITIES = frozenset({"max_width", "max_speed_gts", "max_rate_gbps"})
"""What a link can do is the least of what its two ends can: who reads one end's registers may say more."""

READS_ONE_END = frozenset({Source.SYSFS, Source.LSPCI, Source.IBSTAT})
GUIDS = frozenset({"node_guid", "port_guid", "guid"})
ROUNDING = 0.06
"""Tools round rates: 26.562 and 25 GB/s no, 31.5 and 32 GT/s yes."""


def canonical(attribute: str, value: Value) -> Value | None:
    """A value in the one form the graph holds; None where it says nothing (`numa` of -1)."""
    match value:
        case bool():
            return None if attribute == "numa" else value
        case str() if not value.strip():
            return None
        case float() if not math.isfinite(value):
            return None
        case int() | float() if attribute == "numa":
            return int(value) if value >= 0 else None
        case str() if attribute == "numa":
            return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else None
        case str() if attribute == "bus_address":
            return canonical_address(value)
        case str() if attribute in GUIDS:
            return canonical_guid(value)
        case str():
            return value.strip()
    return value


def agree(attribute: str, stands: Value, source: Source, other: Value, other_source: Source) -> bool:
    """Whether `other`, of a source trusted less, goes together with what stands. Both are canonical."""
    if attribute not in COMPARED or Source.PLATFORM in (source, other_source):
        return True
    if isinstance(stands, str) or isinstance(other, str):
        return str(stands).lower() == str(other).lower()
    if math.isclose(stands, other, rel_tol=ROUNDING):
        return True
    ends = (source in READS_ONE_END, other_source in READS_ONE_END)
    if attribute in CAPABILITIES and ends[0] != ends[1]:
        return other > stands if ends[1] else other < stands
    return False
