"""What a probe is: targets, a way through the fabric, a node program, a reading of its answer, an expectation.

One file a probe; adding one is adding such a file and its line in the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import Protocol, TypeAlias

from ..incident.events import Trial
from ..incident.findings import CounterMove
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path

Targets: TypeAlias = tuple[ComponentId, ...]
"""What one trial is aimed at, in the probe's own order: source and destination, or one GPU."""


class Disturbs(Flag):
    """What a probe takes from whoever else uses the node."""

    GPU = auto()
    NVLINK = auto()
    PCIE = auto()
    HOST_MEMORY = auto()


@dataclass(frozen=True, slots=True)
class Measured:
    """What a trial measured."""

    windows: tuple[float, ...]
    """GB/s of each usable sub-window, in the order of time."""
    moves: tuple[CounterMove, ...]
    """The counters read at the trial's edges, also those that stood still."""
    measured_by: str
    """The program and the driver under it, and what of its answer was not used."""


class Probe(Protocol):
    """One kind of probe."""

    @property
    def name(self) -> str:
        """Its name in the catalogue: `p2p`."""

    @property
    def title(self) -> str:
        """What it does, for people."""

    @property
    def seconds(self) -> float:
        """How long one trial loads its targets."""

    @property
    def disturbs(self) -> Disturbs:
        """What it takes from others meanwhile."""

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """All targets of a node it can be aimed at."""

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """What its transfers cross, and which share of them."""

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """The parts whose counters are read at its edges."""

    def cost(self, targets: Targets) -> str:
        """What one trial does to the node, as the operator is asked to agree to it."""

    def task(self, trial: Trial, fabric: Fabric) -> Task:
        """The run of a node program that carries out a trial; raises ProbeError where a target can't be addressed."""

    def read(self, output: TaskOutput, trial: Trial, fabric: Fabric) -> Measured:
        """Read the program's answer; raises Unparsable with a sentence when it is no measurement."""

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """GB/s of healthy parts; NaN where nobody has measured this platform."""


def parts_in_words(targets: Sequence[ComponentId]) -> str:
    """`GPU3 and GPU5 of gpu-017`."""
    names = " and ".join(target.name.upper() for target in targets)
    return f"{names} of {targets[0].node}"
