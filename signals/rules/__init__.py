"""All rules. Each is a small function from a scene to findings, in a file of its own; adding one is adding it here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...incident.findings import Finding
from ..scene import Scene
from .contradictions import contradictions
from .counters_rising import counters_rising
from .gpu_gone import gpu_gone
from .hung_domains import hung_domains
from .link_down import link_down
from .memory_errors import memory_errors
from .node_states import node_states
from .parts_missing import parts_missing
from .pcie_narrow import pcie_narrow
from .pcie_slow import pcie_slow
from .port_down import port_down
from .sxids import sxids
from .xids import xids

Rule = Callable[[Scene], Iterator[Finding]]

ORIGINS: tuple[Rule, ...] = (gpu_gone, node_states, hung_domains)
"""Rules whose findings explain others."""
RULES: tuple[Rule, ...] = (
    *ORIGINS,
    link_down,
    port_down,
    pcie_narrow,
    pcie_slow,
    memory_errors,
    xids,
    sxids,
    counters_rising,
    parts_missing,
    contradictions,
)
"""In the order of judgement: of two findings with one key the first stands."""
