"""What a probe is: targets, a way through the fabric, a node program, a reading of its answer, an expectation.

One file a probe; adding one is adding such a file and its line in the catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from typing import Protocol, TypeAlias

from ..incident.events import Trial
from ..incident.findings import CounterMove
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric
from ..topology.paths import Path

Targets: TypeAlias = tuple[ComponentId, ...]
"""What one trial is aimed at, in the probe's own order: source and destination, or one GPU."""


class Aim(StrEnum):
    """What one trial takes as its targets."""

    GPU = "gpu"
    """One GPU."""
    PAIR = "pair"
    """Two GPUs of one node, source first, or a GPU and a NIC of one node."""
    NIC = "nic"
    """One NIC."""
    ACROSS = "across"
    """Two GPUs, or two NICs, of different nodes, source first."""
    GROUP = "group"
    """Two or more GPUs, of one node or of several."""
    NODE = "node"
    """A node's host."""


class Measure(StrEnum):
    """What a trial answers with."""

    BANDWIDTH = "GB/s"
    LATENCY = "us"
    CHECK = "check"
    """Good or wrong."""


class Disturbs(Flag):
    """What a probe takes from whoever else uses the node."""

    NOTHING = 0
    GPU = auto()
    NVLINK = auto()
    PCIE = auto()
    HOST_MEMORY = auto()
    NETWORK = auto()
    POWER = auto()
    """Runs GPUs up to their power limit."""


@dataclass(frozen=True, slots=True)
class Need:
    """Something a node must have for a probe."""

    name: str
    """`libnccl.so.2`, `ib_write_bw`."""
    package: str
    """Where people get it from: `perftest`."""


CUDA = Need("libcuda.so.1", "the NVIDIA driver")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a trial measured."""

    windows: tuple[float, ...]
    """Of each usable sub-window in the order of time, in the probe's unit; one value where a tool gives an average."""
    moves: tuple[CounterMove, ...]
    """The counters read at the trial's edges, also those that stood still."""
    measured_by: str
    """The program and the driver under it, and what of its answer was not used."""
    check: str = ""
    """`good` or `wrong` for a probe that checks something."""
    detail: str = ""
    """One sentence: what the check found, or what was measured besides."""
    digests: tuple[str, ...] = ()
    """Of results that equal parts must have alike, `integer fedcba98`: one that differs computed something else."""


class Probe(Protocol):
    """One kind of probe."""

    @property
    def name(self) -> str:
        """Its name in the catalogue: `p2p`."""

    @property
    def title(self) -> str:
        """What it does, for people."""

    @property
    def aim(self) -> Aim:
        """What its trials take as targets."""

    @property
    def measure(self) -> Measure:
        """What its trials answer with."""

    @property
    def searches(self) -> bool:
        """Whether a search may choose it by itself; the others run when a person asks for them."""

    @property
    def seconds(self) -> float:
        """How long one trial loads its targets."""

    @property
    def disturbs(self) -> Disturbs:
        """What it takes from others meanwhile."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What a node must have."""

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """All targets within a node it can be aimed at; of a probe across nodes its ends there, each alone."""

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """What its transfers cross, and which share of them."""

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """The parts whose counters are read at its edges: of several targets, those of each."""

    def cost(self, targets: Targets) -> str:
        """What one trial does to the nodes, as the operator is asked to agree to it."""

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """The runs of node programs that carry out a trial, at once; raises ProbeError where a target can't be
        addressed. Their ids differ; across nodes they share a `joint` name."""

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Read the answers, in the order of the tasks, none of which failed.

        Raises Unparsable with a sentence when they are no measurement, NotTested when something needed is missing."""

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What healthy parts measure, in its unit; NaN where nobody has measured this platform."""


def addressed_gpus(fabric: Fabric, node: NodeId) -> tuple[ComponentId, ...]:
    """The GPUs of a node that a program can be aimed at: those whose bus address is known."""
    return tuple(gpu for gpu in fabric.gpus(node) if fabric.bus_address(gpu))


def parts_in_words(targets: Sequence[ComponentId]) -> str:
    """`GPU3 and GPU5 of gpu-017`."""
    names = " and ".join(target.name.upper() for target in targets)
    return f"{names} of {targets[0].node}"
