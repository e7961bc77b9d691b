"""What the engine believes before it has measured anything, and when it stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Settings:
    """Thresholds and priors of one investigation. Seconds are probing seconds as the nodes measure them."""

    budget: float = 300.0
    """Seconds after which it ends undecided."""
    convict: float = 0.99
    """Posterior from which bandwidth names a part."""
    convict_by_counters: float = 0.95
    """The same where counters alone do, who name nothing surer than `likely`."""
    convict_unprompted: float = 0.9
    """What that posterior must still be without standing counters and findings: they steer, never decide."""
    healthy: float = 0.95
    """Probability of `no fault` from which everything may be called healthy ..."""
    missed: float = 0.02
    """... if besides the mean likelihood ratio of every kind of fault is down to this."""
    rest_healthy: float = 0.9
    """Probability of `no further fault` that ends the search after a first one was named."""
    rest_missed: float = 0.1
    """The mean likelihood ratio of every kind of fault down to which the rest must have been probed then."""
    rest_patience: float = 60.0
    """Seconds after the last verdict at which the search for further faults ends, whatever it has excluded by then."""
    no_fault: float = 0.5
    """Probability of `no fault` before the first probe."""
    strikes: int = 3
    """Trials in which a counter must have moved before it may convict."""
    patience: float = 30.0
    """Seconds spent on telling apart parts of a convicted group that only counters can tell apart."""
    prior_cap: float = 5.0
    """Nats that standing counters and findings may add to a part, or take from it."""
    overhead: float = 0.5
    """Seconds a round takes beside its longest trial, until it has been measured."""
    noise: float = 0.04
    """Standard deviation of the log of a window's bandwidth, until it has been learnt."""
    outliers: float = 0.003
    """Share of windows that are low for no reason, until it has been learnt."""
    drained: bool = False
    """Nobody else uses the nodes: then small lasting losses of paths that jobs and storage use too may be a fault."""
    seed: int = 1
    """Of the draws that break ties between equally good rounds."""


FAULT_RATES: Mapping[str, float] = MappingProxyType(
    {
        "gpu": 10.0,
        "nvlink": 0.11,
        "nvswitch": 1.0,
        "pcie": 1.0,
        "bridge": 0.5,
        "numa": 0.5,
        "host": 1.0,
        "nic": 3.0,
        "cable": 6.0,
        "leaf": 2.0,
        "spine": 1.0,
        "uplink": 3.0,
    }
)
"""How often parts fail relative to each other; in the proportions of a published training run (GPU, memory, links)."""

OTHER_RATE = 0.5
"""For kinds of part that stand in no list."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One way in which a part can be at fault."""

    duty: float
    """Share of time it is on."""
    low: float
    """Least share of its traffic lost while it is on ..."""
    high: float
    """... and most; uniform in between."""
    prior: float


MODES: tuple[Mode, ...] = (
    Mode(1.0, 0.93, 0.99, 0.20),
    Mode(1.0, 0.10, 0.20, 0.10),
    Mode(1.0, 0.20, 0.35, 0.10),
    Mode(1.0, 0.35, 0.60, 0.10),
    Mode(0.5, 0.25, 0.99, 0.125),
    Mode(0.2, 0.25, 0.99, 0.125),
    Mode(0.05, 0.25, 0.99, 0.125),
    Mode(0.02, 0.25, 0.99, 0.125),
)
"""Hard, three bands of degraded, and intermittent with four duties."""

STEP_RATES: tuple[float, ...] = (0.9, 0.5, 0.25, 0.1, 0.05)
"""How often the counter of a part at fault may step: share of the trials that load it."""

RAISES_COUNTER = 0.7
"""Share of the faults of a part with counters that move one of them."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """What standing counters and findings say before any probe: nats by component."""

    nats: Mapping[str, float] = field(default_factory=dict)

    def of(self, component: str, cap: float) -> float:
        """The nats of a component, within the cap."""
        return max(-cap, min(cap, self.nats.get(component, 0.0)))
