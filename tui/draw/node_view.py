"""What the node screen shows: rails, columns and crossings with their states and rates, taken from a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...incident.findings import Health
from ...incident.ids import ComponentId, NodeId
from ...incident.snapshot import NodeView, Snapshot
from ...signals.health import judged
from ...topology.components import PcieSwitch
from ...topology.fabric import Fabric
from ..theme import Mark, mark_of
from .error_rates import error_rates
from .problems import Problem, problems_of
from .words import age, label, spoken

GTS_OF_GENERATION = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}


@dataclass(frozen=True)
class Crossing:
    """The lanes between one GPU and one rail."""

    lanes: tuple[ComponentId, ...]
    up: int | None
    """None where no lane says."""
    rate: float
    """Errors a second of all its lanes."""
    mark: Mark


@dataclass(frozen=True)
class Rail:
    """An NVSwitch, or what stands for the lanes that end at no switch."""

    component: ComponentId | None
    label: str
    mark: Mark
    crossings: tuple[Crossing | None, ...]
    """One a column; None where the GPU has no lane to it."""


@dataclass(frozen=True)
class PcieLink:
    """The PCIe link above a GPU or NIC."""

    component: ComponentId
    generation: int | None
    width: int | None
    rate: float
    mark: Mark


@dataclass(frozen=True)
class Gpu:
    """One column."""

    component: ComponentId
    label: str
    mark: Mark
    reason: str
    utilization: float
    temperature: float
    power: float
    pcie: PcieLink


@dataclass(frozen=True)
class Nic:
    """One NIC below a PCIe switch."""

    component: ComponentId
    name: str
    mark: Mark
    state: str
    gbps: float
    rate: float
    pcie: PcieLink


@dataclass(frozen=True)
class Group:
    """One PCIe switch over the columns `first` to `last`."""

    label: str
    numa: int | None
    first: int
    last: int


@dataclass(frozen=True)
class NodePicture:
    """The whole node."""

    id: NodeId
    mark: Mark
    note: str
    """Why what is seen may not be true now; empty while all is well."""
    rails: tuple[Rail, ...]
    gpus: tuple[Gpu, ...]
    groups: tuple[Group, ...]
    below: tuple[Nic | None, ...]
    """The NIC drawn under each GPU."""
    apart: tuple[Nic, ...]
    """NICs without a GPU of their own."""
    problems: tuple[Problem, ...]


def node_picture(snapshot: Snapshot, fabric: Fabric, node: NodeId) -> NodePicture:
    """The node as of a snapshot, its columns ordered by PCIe switch."""
    view = snapshot.nodes[node]
    convicted = [verdict.component for verdict in snapshot.verdict.verdicts] if snapshot.verdict else []
    look = _Look(snapshot, fabric, view, error_rates(view), frozenset(convicted))
    groups = fabric.groups(node)
    gpus = [gpu for group in groups for gpu in group.gpus]
    below, apart = _place_nics(groups)
    state = judged(snapshot, node)
    problems = problems_of(snapshot, node)
    return NodePicture(
        node,
        max([mark_of(state.health), *(problem.mark for problem in problems)]),
        _note(snapshot, view, state.reason if state.health is Health.UNKNOWN else ""),
        look.rails(gpus),
        tuple(look.gpu(gpu) for gpu in gpus),
        _groups(groups),
        tuple(None if nic is None else look.nic(nic) for nic in below),
        tuple(look.nic(nic) for nic in apart),
        problems,
    )


def _note(snapshot: Snapshot, view: NodeView, silent: str) -> str:
    if silent:
        silent = spoken(silent.removeprefix(f"{view.id}: "))
        seen = f"; shown is what was seen {age(snapshot.now - view.last_heard)} ago" if view.last_heard else ""
        return silent + seen
    hung = [f"{part.domain} hangs on the node since {age(snapshot.now - part.since)}" for part in view.hung]
    return " · ".join([*hung, *(f"{domain}: {why}" for domain, why in view.unreadable.items())])


def _place_nics(groups: Sequence[PcieSwitch]) -> tuple[list[ComponentId | None], list[ComponentId]]:
    """Each group's NICs under its GPUs in order; the others apart."""
    below: list[ComponentId | None] = []
    apart: list[ComponentId] = []
    for group in groups:
        beside = min(len(group.gpus), len(group.nics)) if group.id is not None else 0
        below += [*group.nics[:beside], *[None] * (len(group.gpus) - beside)]
        apart += group.nics[beside:]
    return below, apart


def _groups(groups: Sequence[PcieSwitch]) -> tuple[Group, ...]:
    found: list[Group] = []
    column = 0
    for group in groups:
        if group.gpus and group.id is not None:
            found.append(Group(f"PCIe sw {len(found)}", group.numa, column, column + len(group.gpus) - 1))
        column += len(group.gpus)
    return tuple(found)


@dataclass(frozen=True)
class _Look:
    """One look at one node: what every part of the picture is asked of."""

    snapshot: Snapshot
    fabric: Fabric
    view: NodeView
    rates: dict[ComponentId, float]
    convicted: frozenset[ComponentId]
    """By the verdict, where there is one."""

    def mark(self, part: ComponentId) -> Mark:
        return Mark.FAIL if part in self.convicted else mark_of(judged(self.snapshot, part).health)

    def rails(self, gpus: Sequence[ComponentId]) -> tuple[Rail, ...]:
        """One rail an NVSwitch, and one for lanes that end elsewhere where there are any."""
        by_end: dict[ComponentId | None, dict[ComponentId, list[ComponentId]]] = {}
        for switch in self.fabric.nvswitches(self.view.id):
            by_end[switch] = {}
        for gpu in gpus:
            for lane in self.fabric.lanes(gpu):
                by_end.setdefault(self.fabric.switch_of(lane), {}).setdefault(gpu, []).append(lane)
        return tuple(self._rail(end, lanes, gpus) for end, lanes in by_end.items())

    def _rail(
        self, end: ComponentId | None, lanes: dict[ComponentId, list[ComponentId]], gpus: Sequence[ComponentId]
    ) -> Rail:
        crossings = tuple(self._crossing(lanes[gpu]) if gpu in lanes else None for gpu in gpus)
        mark = max((crossing.mark for crossing in crossings if crossing), default=Mark.ABSENT)
        return Rail(end, "NVLink" if end is None else label(end), mark, crossings)

    def _crossing(self, lanes: list[ComponentId]) -> Crossing:
        states = [judged(self.snapshot, lane).health for lane in lanes]
        wired = [(lane, state) for lane, state in zip(lanes, states, strict=True) if state is not Health.NOT_APPLICABLE]
        readings = [self.view.value(lane, "state") for lane, _ in wired]
        known = [reading for reading in readings if reading == reading]
        rate = sum(self.rates.get(lane, 0.0) for lane, _ in wired)
        mark = max((mark_of(state) for _, state in wired), default=Mark.ABSENT)
        if known and not any(known):
            mark = max(mark, Mark.FAIL)
        elif mark is Mark.FAIL and any(known):
            mark = Mark.WARN
        if rate > 0:
            mark = max(mark, Mark.WARN)
        if self.convicted.intersection(lanes):
            mark = Mark.FAIL
        return Crossing(tuple(lane for lane, _ in wired), sum(r == 1 for r in known) if known else None, rate, mark)

    def gpu(self, gpu: ComponentId) -> Gpu:
        state = judged(self.snapshot, gpu)
        value = self.view.value
        return Gpu(
            gpu,
            label(gpu),
            self.mark(gpu),
            state.reason,
            value(gpu, "utilization_pct"),
            value(gpu, "temperature_c"),
            value(gpu, "power_w"),
            self.pcie(gpu / "pcie"),
        )

    def nic(self, nic: ComponentId) -> Nic:
        state = judged(self.snapshot, nic)
        port = self.view.value(nic, "port_state")
        words = "?" if port != port else _PORT_STATES.get(int(port), f"state {port:.0f}")
        if state.health is Health.NOT_APPLICABLE:
            words = "off"
        return Nic(
            nic,
            nic.name,
            self.mark(nic),
            words,
            self.view.value(nic, "rate_gbps"),
            self.rates.get(nic, 0.0),
            self.pcie(nic / "pcie"),
        )

    def pcie(self, link: ComponentId) -> PcieLink:
        width, speed = self.view.value(link, "current_width"), self.view.value(link, "speed_gts")
        if width != width:
            width = self.view.value(link, "width")
        generation = GTS_OF_GENERATION.get(speed)
        if generation is None and (told := self.view.value(link, "generation")) == told:
            generation = int(told)
        return PcieLink(
            link, generation, int(width) if width == width else None, self.rates.get(link, 0.0), self.mark(link)
        )


_PORT_STATES = {1: "down", 2: "init", 3: "armed", 4: "up", 5: "defer"}
