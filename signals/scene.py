"""What the rules look at in one tick: the snapshot, the fabric, and what several rules need worked out once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..incident.ids import ComponentId, NodeId
from ..incident.snapshot import Snapshot
from ..topology.fabric import Fabric
from .dead_ports import DeadPort, dead_ports, leaves_down
from .down_lanes import DownLanes, down_lanes
from .gone import Gone, gone_gpus
from .logs import Burst
from .readings import NOTHING_READ, Readings
from .timeline import timeline
from .told_links import ToldLink, told_links


@dataclass(frozen=True)
class Scene:
    """One moment, as the rules see it."""

    snapshot: Snapshot
    fabric: Fabric
    readings: Readings = NOTHING_READ
    """What tools printed: in handed-in files, and on live nodes."""

    @cached_property
    def bursts(self) -> tuple[Burst, ...]:
        """The log lines of all nodes on one clock."""
        return timeline(self.snapshot)

    @cached_property
    def gone(self) -> tuple[Gone, ...]:
        """GPUs off the bus with their followers."""
        return gone_gpus(tuple(self.snapshot.nodes.values()), self.bursts)

    @cached_property
    def down(self) -> Mapping[NodeId, DownLanes]:
        """NVLinks that are down though they ought to be up, by node."""
        lost = [gone.gpu for gone in self.gone if not gone.answers_again]
        found = {view.id: down_lanes(view, self.bursts, lost) for view in self.snapshot.nodes.values()}
        return {node: lanes for node, lanes in found.items() if lanes is not None}

    @cached_property
    def dead_ports(self) -> tuple[DeadPort, ...]:
        """Network ports that ought to be up and are not."""
        return tuple(dead_ports(self.snapshot.nodes.values()))

    @cached_property
    def leaves_down(self) -> Mapping[ComponentId, tuple[DeadPort, ...]]:
        """Leaves behind which most known ports of several nodes are down, with these ports."""
        return leaves_down(self.dead_ports, self.fabric)

    @cached_property
    def told_links(self) -> tuple[ToldLink, ...]:
        """PCIe links that outputs and boot messages tell to run below what an end of them could."""
        return told_links(self.readings, self.fabric, self.bursts)

    @cached_property
    def slow(self) -> tuple[int, ...]:
        """What changes only with facts, outputs and log lines, as identities: equal while none of these came in."""
        views = self.snapshot.nodes.values()
        ends = (id(end) for view in views for end in (view.facts, *view.logs[:1], *view.logs[-1:]))
        return (id(self.readings), id(self.fabric), *ends, *(len(view.logs) for view in views))

    def with_told_links(self, told: tuple[ToldLink, ...]) -> Scene:
        """The same with the links that a scene of equal `slow` worked out: making them costs most."""
        self.__dict__["told_links"] = told
        return self

    @cached_property
    def open_bursts(self) -> tuple[Burst, ...]:
        """The log lines that nothing else explains: no GPU off the bus, no link that is down."""
        explained = {id(burst) for gone in self.gone for burst in gone.followers}
        explained |= {id(burst) for down in self.down.values() for burst in down.told}
        return tuple(
            burst
            for burst in self.bursts
            if id(burst) not in explained and not any(gone.holds(burst.component) for gone in self.gone)
        )

    def is_gone(self, component: ComponentId) -> bool:
        """Whether the part is a GPU off the bus, or a part of one: whatever else it shows is a consequence."""
        return any(gone.holds(component) for gone in self.gone if not gone.answers_again)

    def is_down(self, component: ComponentId) -> bool:
        """Whether the part is an NVLink that is down: its counters only say so again."""
        lanes = self.down.get(component.node)
        return lanes is not None and component in lanes.lanes
