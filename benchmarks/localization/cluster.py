"""A cluster to search, as the engine knows it: fabric, hypotheses, probes. Made once a process and size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache

import numpy as np

from ...incident.ids import ComponentId, NodeId
from ...incident.platforms import Platform, platform
from ...probes.catalogue import CATALOGUE
from ...probes.localize.compile import compile_parts
from ...probes.localize.parts import Ints, Parts
from ...probes.probe import Aim, Probe, Targets
from ...sim.copy_program import LANE_COUNTERS
from ...sim.faults import COUNTERS_OF
from ...sim.ledger import Key
from ...sim.request import NET
from ...sim.scenario import Scenario
from ...sim.wiring import Wiring
from ...sim.world import World
from ...topology.fabric import Fabric
from ...topology.sources.platform import fabric_of
from ..network import fabric_of_world

PLATFORM = "h100_hgx"
OPERATIONS: Mapping[str, str] = {"p2p": "p2p", "h2d": "h2d", "net_pair": NET}
"""Probes that the world can run, and what it calls each."""
READ: Mapping[str, tuple[str, ...]] = {"nvlink": LANE_COUNTERS, "pcie": ("replays",), "nic": COUNTERS_OF["nic"]}
"""Counters that trials read, by kind of part."""
STATIC = Wiring()

CounterRow = tuple[ComponentId, str, Key]
"""A counter: its part, its name, and both as the world calls them."""
Shot = tuple[str, Targets]
"""A trial to run: the probe's name, and what it is aimed at."""


class Cluster:
    """Nodes of one platform and what is known of them before any probe."""

    def __init__(self, names: tuple[str, ...], wiring: Wiring, knows_network: bool) -> None:
        self.names = names
        self.wiring = wiring
        self._knows_network = knows_network
        self._expected: dict[str, float] = {}
        self._counters: dict[tuple[str, ComponentId], tuple[CounterRow, ...]] = {}
        self._numbered: Ints = np.zeros(0, dtype=np.int64)

    @cached_property
    def platform(self) -> Platform:
        """What all nodes are."""
        return platform(PLATFORM)

    @cached_property
    def fabric(self) -> Fabric:
        """Parts and wires: of the nodes as the data sheet has them, of the network as its switches tell."""
        if not self._knows_network:
            return fabric_of(self.names, self.platform)
        return fabric_of_world(World(Scenario("", self.platform, self.names, wiring=self.wiring), began=0.0))

    @cached_property
    def probes(self) -> Mapping[str, Probe]:
        """Those that a search may choose and the world can run."""
        return {name: probe for name, probe in CATALOGUE.items() if probe.searches and name in OPERATIONS}

    @cached_property
    def parts(self) -> Parts:
        """The hypotheses: in them strategies name parts and runs are judged."""
        return compile_parts(self.fabric, self.nodes, self.probes.values())

    @cached_property
    def across(self) -> Probe | None:
        """The probe between nodes; None where the world runs none."""
        if len(self.names) == 1:
            return None
        return next((probe for probe in self.probes.values() if probe.aim is Aim.ACROSS), None)

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """All nodes in order."""
        return tuple(NodeId(name) for name in self.names)

    def gpus(self, node: NodeId) -> tuple[ComponentId, ...]:
        """The GPUs of a node by index."""
        return self.fabric.gpus(node)

    def columns(self, shot: Shot) -> Ints:
        """The classes of parts that a trial crosses, each once. Nothing is kept of it: there are a million trials."""
        numbers, _ = self.parts.ways.of(self.probes[shot[0]], shot[1])
        columns: Ints = np.unique(self._column_of()[numbers])
        return columns[columns >= 0]

    def expected(self, probe: str) -> float:
        """GB/s of a healthy trial by the data sheet: the same for all, as all nodes are of one platform."""
        if probe not in self._expected:
            targets = self.gpus(self.nodes[0])[: 1 if self.probes[probe].aim is Aim.GPU else 2]
            self._expected[probe] = self.probes[probe].expected(self.fabric, targets)
        return self._expected[probe]

    def counters(self, shot: Shot) -> Iterator[CounterRow]:
        """The counters that a trial reads."""
        for target in shot[1]:
            rows = self._counters.get((shot[0], target))
            if rows is None:
                rows = self._counters[shot[0], target] = tuple(self._read_at(shot[0], target))
            yield from rows

    def _read_at(self, probe: str, target: ComponentId) -> Iterator[CounterRow]:
        for part in self.probes[probe].counted(self.fabric, (target,)):
            for name in READ.get(part.kind, ()):
                yield part, name, (part.within, name)

    def _column_of(self) -> Ints:
        """Class of every part by the number that its ways count it by; -1 where it is none of the hypotheses."""
        components = self.parts.ways.components
        if len(self._numbered) < len(components):
            index, column = self.parts.index, self.parts.column
            found = [int(column[index[part]]) if part in index else -1 for part in components]
            self._numbered = np.array(found, dtype=np.int64)
        return self._numbered


@lru_cache(maxsize=3)
def cluster_of(nodes: int, wiring: Wiring = STATIC, knows_network: bool = True) -> Cluster:
    """So many nodes, `sim1` and on."""
    return Cluster(tuple(f"sim{number}" for number in range(1, nodes + 1)), wiring, knows_network)
