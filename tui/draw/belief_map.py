"""Where belief lies: summed by node and network switch, and part by part on one node's drawing.

A class of parts that no probe tells apart counts once, where the part that stands for it is, so that the map adds up to
the belief; the other parts of the class are marked as its equals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...incident.findings import Suspect
from ...incident.ids import ComponentId, NodeId
from ...topology.components import PcieSwitch
from ...topology.fabric import Fabric
from .words import label

SHOWN_FROM = 0.005
"""Belief below this is a dot."""


@dataclass(frozen=True)
class Heat:
    """One cell: what is believed of the parts in it."""

    share: float = 0.0
    is_equal: bool = False
    """Holds a part that no probe tells from one that is suspected elsewhere."""
    is_convicted: bool = False
    is_unknown: bool = False
    """Nobody says whether there is such a part."""


@dataclass(frozen=True)
class Span:
    """A cell over the columns `first` to `last`."""

    first: int
    last: int
    heat: Heat


@dataclass(frozen=True)
class HeatRow:
    """One row of a node's drawing."""

    label: str
    kind: str
    """`rail`, `gpu`, `pcie`, `bridge`, `nic`: how it is drawn."""
    spans: tuple[Span, ...]
    own: Heat | None = None
    """Of what the row itself stands for: the NVSwitch of a rail."""
    names: tuple[str, ...] = ()
    """What stands in each column, where that differs from column to column."""


@dataclass(frozen=True)
class NodeHeat:
    """The drawing of one node."""

    node: NodeId
    total: float
    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    beside: tuple[tuple[str, Heat], ...]
    """Parts without a column: the host, its sockets, NICs apart, whatever else is suspected there."""
    is_convicted: bool = False
    """A part of it was convicted: what is believed is of a further fault."""

    @property
    def has_equals(self) -> bool:
        """Whether any cell is marked as equal to one that is suspected."""
        cells = [span.heat for row in self.rows for span in row.spans]
        cells += [row.own for row in self.rows if row.own] + [heat for _, heat in self.beside]
        return any(cell.is_equal and cell.share < SHOWN_FROM and not cell.is_convicted for cell in cells)


@dataclass(frozen=True)
class Place:
    """A node, or a network switch, with what is believed of all its parts together."""

    name: str
    share: float
    is_convicted: bool


@dataclass(frozen=True)
class FleetHeat:
    """Everything that was probed, from above."""

    nodes: tuple[tuple[NodeId, Place], ...]
    leaves: tuple[Place, ...]
    spines: tuple[Place, ...]
    switches: tuple[Place, ...]
    """Network switches of which nobody says whether they are leaf or spine."""
    uplinks: Place | None
    """All cables between network switches together; None where none is known."""

    @property
    def knows_network(self) -> bool:
        """Whether any network switch is known."""
        return bool(self.leaves or self.spines or self.switches)


def fleet_heat(
    fabric: Fabric, nodes: Iterable[NodeId], suspects: Sequence[Suspect], convicted: Collection[ComponentId]
) -> FleetHeat:
    """Summed belief of nodes and network switches."""
    held: dict[str, float] = {}
    for suspect in suspects:
        owner = _owner(fabric, suspect.component)
        held[owner] = held.get(owner, 0.0) + suspect.posterior
    guilty = {_owner(fabric, part) for part in convicted}
    tiers: dict[str, list[Place]] = {}
    for switch in fabric.netswitches:
        tier = str(fabric.facts(switch).get("tier", ""))
        tiers.setdefault(tier, []).append(Place(switch, held.get(switch, 0.0), switch in guilty))
    uplinks = "uplink" in held or any(fabric.uplinks(switch) for switch in fabric.netswitches)
    return FleetHeat(
        tuple((node, Place(node, held.get(node, 0.0), node in guilty)) for node in nodes),
        tuple(tiers.pop("leaf", ())),
        tuple(tiers.pop("spine", ())),
        tuple(place for places in tiers.values() for place in places),
        Place("uplinks", held.get("uplink", 0.0), "uplink" in guilty) if uplinks else None,
    )


def _owner(fabric: Fabric, part: ComponentId) -> str:
    """The node or network switch a part is counted with; all cables between switches are one."""
    return "uplink" if part.kind == "uplink" else str(part.node)


def node_heat(
    fabric: Fabric,
    node: NodeId,
    suspects: Sequence[Suspect],
    convicted: Collection[ComponentId],
    alternatives: Collection[ComponentId] = (),
) -> NodeHeat:
    """One node as rails and drops, with what is believed of each lane bundle, NVSwitch, GPU, bridge and NIC.

    `alternatives`: parts that no probe tells from a convicted one."""
    ground = _Ground(fabric, node)
    heats = _heats(ground, node, suspects, convicted)
    for key in {ground.key_of(part) for part in alternatives if part.node == node}:
        heats[key] = replace(heats.get(key, Heat()), is_equal=True)
    rows = [*ground.rails(heats), ground.row("GPU", "gpu", heats), ground.row("PCIe", "pcie", heats)]
    rows += [ground.bridges(heats), *ground.nics(heats)]
    total = sum(suspect.posterior for suspect in suspects if suspect.component.node == node)
    return NodeHeat(
        node,
        total,
        tuple(label(gpu) for gpu in ground.gpus),
        tuple(row for row in rows if row.spans),
        tuple(ground.beside(heats)),
        any(part.node == node for part in convicted),
    )


Key = tuple[str, str]
"""The kind of cell and what it belongs to."""


def _heats(
    ground: _Ground, node: NodeId, suspects: Iterable[Suspect], convicted: Collection[ComponentId]
) -> dict[Key, Heat]:
    found: dict[Key, Heat] = {}
    for suspect in suspects:
        if suspect.component.node == node:
            key = ground.key_of(suspect.component)
            heat = found.get(key, Heat())
            found[key] = replace(heat, share=heat.share + suspect.posterior)
        if suspect.posterior >= SHOWN_FROM:
            for key in {ground.key_of(part) for part in suspect.members if part.node == node}:
                found[key] = replace(found.get(key, Heat()), is_equal=True)
    for part in convicted:
        if part.node == node:
            key = ground.key_of(part)
            found[key] = replace(found.get(key, Heat()), is_convicted=True)
    return found


class _Ground:
    """Where the parts of one node stand on its drawing."""

    def __init__(self, fabric: Fabric, node: NodeId) -> None:
        self.fabric, self.node = fabric, node
        self.groups: tuple[PcieSwitch, ...] = fabric.groups(node)
        self.gpus = tuple(gpu for group in self.groups for gpu in group.gpus)
        self.under: list[ComponentId | None] = []
        self.apart: list[ComponentId] = []
        for group in self.groups:
            below = group.nics[: len(group.gpus)] if group.id is not None else ()
            self.under += [*below, *[None] * (len(group.gpus) - len(below))]
            self.apart += group.nics[len(below) :]

    @cached_property
    def has_lanes(self) -> bool:
        """Whether any GPU here is known to have NVLinks."""
        return any(self.fabric.lane_counts(gpu) for gpu in self.gpus)

    def key_of(self, part: ComponentId) -> Key:
        """The cell a part stands in."""
        match part.kind:
            case "gpu" | "nvswitch" | "nic" | "host" | "numa":
                return part.kind, part
            case "hbm" | "c2c":
                return "gpu", part.parent
            case "nvlink":
                end = self.fabric.far_end(part)
                return "rail", f"{part.parent} {end.part if end is not None else ''}"
            case "port" if part.parent.kind == "nvswitch":
                return "nvswitch", part.parent
            case "pcie":
                return "pcie", part.parent
            case "cable":
                return "nic", part.node / part.partition(":")[2].partition("~")[0]
            case "bridge":
                return self._bridge(part)
            case _:
                return "other", part

    def _bridge(self, part: ComponentId) -> Key:
        """One above a single device stands with its link; one that devices share, over all of them."""
        below = [
            (number, device)
            for number, group in enumerate(self.groups)
            for device in (*group.gpus, *group.nics)
            if part in self.fabric.chain(device)
        ]
        if len(below) == 1:
            return "pcie", below[0][1]
        return ("bridge", str(below[0][0])) if below else ("other", part)

    def rails(self, heats: dict[Key, Heat]) -> list[HeatRow]:
        """A rail an NVSwitch; one for all lanes that end elsewhere."""
        switches: list[ComponentId | None] = [*self.fabric.nvswitches(self.node)]
        others = {end for kind, end in heats if kind == "rail"} - {
            f"{gpu} {switch}" for gpu in self.gpus for switch in switches
        }
        if others or (not switches and any(self.fabric.lanes(gpu) for gpu in self.gpus)):
            switches.append(None)
        return [self._rail(switch, heats) for switch in switches]

    def _rail(self, switch: ComponentId | None, heats: dict[Key, Heat]) -> HeatRow:
        spans = []
        for column, gpu in enumerate(self.gpus):
            if not self.fabric.lane_counts(gpu) and self.has_lanes:
                spans.append(Span(column, column, Heat(is_unknown=True)))
            elif switch is not None and self.fabric.lanes_to(gpu, switch):
                spans.append(Span(column, column, heats.get(("rail", f"{gpu} {switch}"), Heat())))
            elif switch is None and self.fabric.lanes(gpu):
                known = {f"{gpu} {end}" for end in self.fabric.nvswitches(self.node)}
                mine = [
                    heat
                    for (kind, end), heat in heats.items()
                    if kind == "rail" and end.startswith(f"{gpu} ") and end not in known
                ]
                spans.append(Span(column, column, _together(mine)))
        own = None if switch is None else heats.get(("nvswitch", switch), Heat())
        return HeatRow("NVLink" if switch is None else label(switch), "rail", tuple(spans), own)

    def row(self, title: str, kind: str, heats: dict[Key, Heat]) -> HeatRow:
        """A cell a GPU."""
        spans = (Span(column, column, heats.get((kind, gpu), Heat())) for column, gpu in enumerate(self.gpus))
        return HeatRow(title, kind, tuple(spans))

    def bridges(self, heats: dict[Key, Heat]) -> HeatRow:
        """A cell a PCIe switch, over the GPUs below it."""
        spans, column = [], 0
        for number, group in enumerate(self.groups):
            if group.gpus and group.id is not None:
                heat = heats.get(("bridge", str(number)), Heat())
                spans.append(Span(column, column + len(group.gpus) - 1, heat))
            column += len(group.gpus)
        return HeatRow("bridge", "bridge", tuple(spans))

    def nics(self, heats: dict[Key, Heat]) -> list[HeatRow]:
        """The NIC below each GPU, with its PCIe link and its cable."""
        found = [(column, nic) for column, nic in enumerate(self.under) if nic is not None]
        names = tuple("" if nic is None else nic.name for nic in self.under)
        links = tuple(Span(column, column, heats.get(("pcie", nic), Heat())) for column, nic in found)
        cards = tuple(Span(column, column, heats.get(("nic", nic), Heat())) for column, nic in found)
        return [HeatRow("NIC PCIe", "pcie", links), HeatRow("NIC", "nic", cards, names=names)]

    def beside(self, heats: dict[Key, Heat]) -> list[tuple[str, Heat]]:
        """The host and its sockets; NICs apart and other parts that something is believed of."""
        found = [("host", _together([heats.get(("host", self.node / "host"), Heat())]))]
        found += [(label(socket), heats.get(("numa", socket), Heat())) for socket in self.fabric.sockets(self.node)]
        for nic in self.apart:
            mine = [heats[key] for key in (("nic", str(nic)), ("pcie", str(nic))) if key in heats]
            if mine:
                found.append((nic.name, _together(mine)))
        shown = {str(part) for part in (*self.gpus, *self.fabric.nvswitches(self.node))}
        shown |= {str(nic) for nic in self.under if nic is not None} | {str(nic) for nic in self.apart}
        for (kind, part), heat in heats.items():
            if kind == "other" or (kind in ("gpu", "nic", "pcie", "nvswitch") and part not in shown):
                found.append((label(ComponentId(part)), heat))
        return found


def _together(heats: Iterable[Heat]) -> Heat:
    some = list(heats)
    return Heat(
        sum(heat.share for heat in some),
        any(heat.is_equal for heat in some),
        any(heat.is_convicted for heat in some),
    )
