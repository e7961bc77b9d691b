"""A declared fault: which part, how it behaves, what it moves and writes, and what a good diagnosis calls it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..incident.ids import ComponentId
from .network import is_of_network, network_kind


@dataclass(frozen=True, slots=True)
class Counter:
    """How a fault moves one counter of its part."""

    rate: float
    """Steps per second while the fault is on, on top of one step for each bad trial that moves it."""
    trials: float
    """Share of the bad trials in which it moves at all."""


@dataclass(frozen=True, slots=True)
class Line:
    """A kernel log line a fault writes."""

    text: str
    """Template; `loglines.py` lists the words in braces."""
    on: ComponentId
    """The part it speaks of: the fault's own, or a victim, on this node or another."""
    after: float
    """Seconds after the fault, or its burst, begins."""
    share: float
    """Share of the bursts that write it."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a good diagnosis names."""

    component: ComponentId
    fault_class: str
    """`family/kind`, or a family where what can be seen doesn't tell more."""
    how: str
    """`finding`: shows while looking. `localize`: takes probing."""

    def met_by(self, component: str, fault_class: str) -> bool:
        """Whether a verdict or finding names this part and this class."""
        family, _, kind = self.fault_class.partition("/")
        found_family, _, found_kind = fault_class.partition("/")
        return component == self.component and family == found_family and (not kind or kind == found_kind)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with the simulated world. Times are seconds since the world began."""

    component: ComponentId
    kind: str
    """`hard`: gone. `degraded`: slower all the time. `intermittent`: slower now and then."""
    duty: float = 1.0
    """Share of time it is on."""
    burst: float = math.inf
    """Mean seconds it stays on."""
    when: str = "always"
    """`load`: its time runs only while the node is probed, by its load clock; that of a part of the network by the
    later clock of a transfer's two nodes. `always`: its time is the wall's."""
    slowdown: float = 0.0
    """Share of the part's traffic lost while it is on."""
    share: str = "stripe"
    """For a part that carries a share of a copy. `stripe`: only that share is slower. `gate`: all waits for it."""
    width: int = 0
    """Lanes a PCIe link has left while it is on; 0: all."""
    generation: int = 0
    """PCIe generation a link falls to while it is on; 0: its best."""
    counters: Mapping[str, Counter] | None = None
    log: tuple[Line, ...] = ()
    since: float = -3600.0
    until: float = math.inf
    expect: Expectation | None = None

    @property
    def of_network(self) -> bool:
        """Whether it sits in the network between nodes: a leaf, a spine, an uplink, a cable."""
        return is_of_network(self.component)

    @property
    def node(self) -> str:
        """The node it sits in; empty for one of the network."""
        return "" if self.of_network else self.component.node

    @property
    def part_kind(self) -> str:
        """What sort of part it sits in."""
        return part_kind(self.component)

    @property
    def within(self) -> str:
        """The part, as a path within its node."""
        return self.component.within

    @property
    def takes_all(self) -> bool:
        """Whether nothing passes while it is on: a port that has it is down."""
        return self.kind == "hard" or self.slowdown >= 1.0

    @property
    def under_load(self) -> bool:
        """Whether its time runs only while the node is probed."""
        return self.when == "load"

    def in_words(self) -> str:
        """One line for people."""
        behaves = {"hard": "gone", "degraded": "slower all the time", "intermittent": "slower now and then"}[self.kind]
        details = [behaves]
        if self.kind == "intermittent":
            clock = "of the time it is loaded" if self.under_load else "of the time"
            details.append(f"{self.duty:.3g} {clock}, {_duration(self.burst)} at a time")
        if self.width:
            details.append(f"x{self.width} wide")
        if self.generation:
            details.append(f"generation {self.generation}")
        if self.slowdown and self.kind != "hard":
            striped = self.part_kind in ("nvlink", "nvswitch", "spine", "uplink")
            details.append(f"loses {self.slowdown:.0%} of its traffic{f' ({self.share})' if striped else ''}")
        details += [f"moves {name}" for name in self.counters or {}]
        return f"{self.component} {self.kind}: {', '.join(details)}"


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:g} s"


def part_kind(component: ComponentId) -> str:
    """What sort of part it is, those of the network told apart: `leaf`, `spine`, `uplink`, `cable`."""
    return network_kind(component) if is_of_network(component) else component.kind


def diagnosis(component: ComponentId, kind: str, narrowed: bool, slowed: bool, takes: bool) -> tuple[str, str]:
    """Class (word of classes.toml) and how it is found, for a fault that says nothing about it.

    `narrowed`: its PCIe link lost width; `slowed`: its PCIe link lost speed. `takes`: it takes some of the traffic and
    leaves some, so that a NIC's port stays up.
    """
    if component.kind == "nic" and takes:
        return "net-link", "localize"
    if component.kind in ("pcie", "bridge"):
        if kind == "intermittent":
            return "pcie-link", "localize"
        if narrowed or slowed:
            return "pcie-link/width-degraded" if narrowed else "pcie-link/speed-degraded", "finding"
        return "pcie-link", "localize"
    return _DIAGNOSES[part_kind(component), kind]


_DIAGNOSES = {
    ("nvlink", "hard"): ("nvlink-link/down", "finding"),
    ("nvlink", "degraded"): ("nvlink-link", "localize"),
    ("nvlink", "intermittent"): ("nvlink-link/marginal", "localize"),
    ("nvswitch", "hard"): ("nvlink-fabric/switch-fatal", "finding"),
    ("nvswitch", "degraded"): ("nvlink-fabric", "localize"),
    ("nvswitch", "intermittent"): ("nvlink-fabric", "localize"),
    ("gpu", "hard"): ("gpu-off-bus", "finding"),
    ("gpu", "degraded"): ("straggler/gpu", "localize"),
    ("gpu", "intermittent"): ("straggler/gpu", "localize"),
    ("hbm", "degraded"): ("gpu-memory", "finding"),
    ("nic", "hard"): ("net-link/down", "finding"),
    ("nic", "degraded"): ("net-link", "finding"),
    ("nic", "intermittent"): ("net-link", "finding"),
    ("cable", "hard"): ("net-link/down", "localize"),
    ("cable", "degraded"): ("net-link", "localize"),
    ("cable", "intermittent"): ("net-link", "localize"),
    ("uplink", "hard"): ("net-link", "localize"),
    ("uplink", "degraded"): ("net-link", "localize"),
    ("uplink", "intermittent"): ("net-link", "localize"),
    ("leaf", "hard"): ("net-fabric", "localize"),
    ("leaf", "degraded"): ("net-fabric", "localize"),
    ("leaf", "intermittent"): ("net-fabric", "localize"),
    ("spine", "hard"): ("net-fabric", "localize"),
    ("spine", "degraded"): ("net-fabric", "localize"),
    ("spine", "intermittent"): ("net-fabric", "localize"),
    ("numa", "degraded"): ("straggler/node", "localize"),
    ("numa", "intermittent"): ("straggler/node", "localize"),
    ("host", "degraded"): ("straggler/node", "localize"),
    ("host", "intermittent"): ("straggler/node", "localize"),
}

_OF_A_NIC = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "local_link_integrity_errors",
    "packet_seq_err",
    "local_ack_timeout_err",
    "out_of_sequence",
)

COUNTERS_OF: Mapping[str, tuple[str, ...]] = {
    "nvlink": ("recovery_errors", "replay_errors"),
    "pcie": ("replays", "aer_correctable", "aer_nonfatal", "aer_fatal"),
    "bridge": ("aer_correctable", "aer_nonfatal", "aer_fatal"),
    "hbm": ("ecc_corrected", "ecc_uncorrected", "remapped_correctable", "remapped_uncorrectable"),
    "nic": _OF_A_NIC,
    "cable": _OF_A_NIC,
    "leaf": _OF_A_NIC,
    "spine": _OF_A_NIC,
    "uplink": _OF_A_NIC,
}
"""Counters that a fault can move, by the kind of its part. A cable moves those of its NIC; leaves, spines and uplinks
those of both NICs of a transfer that crosses them."""


def kinds_of(part: str) -> list[str]:
    """Kinds of fault that a kind of part can have; empty where it can't have any."""
    if part in ("pcie", "bridge"):
        return ["degraded", "intermittent"]
    return [kind for owner, kind in _DIAGNOSES if owner == part]


def parts_with_faults() -> list[str]:
    """Kinds of part that can have a fault."""
    return sorted({owner for owner, _ in _DIAGNOSES} | {"pcie", "bridge"})
