"""All rules. Each is a small function from a scene to findings, in a file of its own; adding one is adding it here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...incident.findings import Finding
from ..scene import Scene
from .acs_redirect import acs_redirect
from .address_translation import address_translation
from .below_equals import below_equals
from .contradictions import contradictions
from .counters_rising import counters_rising
from .drift import drift
from .driver_silent import driver_silent
from .fabric_manager import fabric_manager
from .failed_tests import failed_tests
from .gids import gids
from .gpu_gone import gpu_gone
from .gpu_throttle import gpu_throttle
from .gpudirect_missing import gpudirect_missing
from .gpus_lost import gpus_lost
from .host_limits import host_limits
from .hung_domains import hung_domains
from .idle_link_speed import idle_link_speed
from .leaf_down import leaf_down
from .link_down import link_down
from .links_by_design import links_by_design
from .links_inactive import links_inactive
from .links_moving import links_moving
from .links_slow import links_slow
from .lossy_roce import lossy_roce
from .memory_counted import memory_counted
from .memory_degrading import memory_degrading
from .memory_errors import memory_errors
from .mig_mode import mig_mode
from .mtu import mtu
from .nccl_complaints import nccl_complaints
from .nic_affinity import nic_affinity
from .node_states import node_states
from .parts_missing import parts_missing
from .pcie_errors import pcie_errors
from .pcie_narrow import pcie_narrow
from .pcie_slow import pcie_slow
from .peers_slower import peers_slower
from .port_down import port_down
from .port_flaps import port_flaps
from .port_speed import port_speed
from .slow_pairs import slow_pairs
from .storage import storage
from .switch_arbitration import switch_arbitration
from .sxids import sxids
from .xids import xids

Rule = Callable[[Scene], Iterator[Finding]]

ORIGINS: tuple[Rule, ...] = (gpu_gone, node_states, hung_domains)
"""Rules whose findings explain others."""
EVERY_TICK: frozenset[Rule] = frozenset(
    {
        *ORIGINS, link_down, leaf_down, port_down, pcie_narrow, pcie_slow, memory_errors, gpu_throttle, gpus_lost,
        xids, sxids, counters_rising, links_moving, port_speed, parts_missing,
    }
)  # fmt: skip
"""Rules that look at streamed values. What the others look at changes only with facts, outputs and log lines."""
RULES: tuple[Rule, ...] = (
    *ORIGINS,
    gpus_lost,
    driver_silent,
    fabric_manager,
    link_down,
    links_inactive,
    leaf_down,
    port_down,
    pcie_narrow,
    pcie_slow,
    pcie_errors,
    memory_degrading,
    memory_counted,
    memory_errors,
    gpu_throttle,
    xids,
    sxids,
    counters_rising,
    links_moving,
    links_slow,
    failed_tests,
    slow_pairs,
    below_equals,
    parts_missing,
    acs_redirect,
    address_translation,
    peers_slower,
    switch_arbitration,
    idle_link_speed,
    nic_affinity,
    links_by_design,
    gpudirect_missing,
    mtu,
    gids,
    lossy_roce,
    port_speed,
    port_flaps,
    host_limits,
    nccl_complaints,
    storage,
    drift,
    mig_mode,
    contradictions,
)
"""In the order of judgement: of two findings with one key the first stands."""
