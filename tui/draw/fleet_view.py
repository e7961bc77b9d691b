"""What the fleet screen shows: each node's state and one value a GPU, taken from a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from statistics import fmean as mean

from ...incident.events import NodeState
from ...incident.findings import Health
from ...incident.ids import ComponentId, NodeId
from ...incident.snapshot import NodeView, Snapshot
from ...signals.health import judged
from ...topology.fabric import Fabric
from ..theme import Mark, mark_of
from .error_rates import error_rates
from .problems import Problem, is_coming, problems_of
from .words import age, plural, short


class Metric(Enum):
    """What the cells of the grid say, besides trouble."""

    HEALTH = "health"
    LOAD = "load, 0 to 100 %"
    TEMPERATURE = "temperature, 30 to 95 °C"
    ERRORS = "errors a second, full from 10"

    @property
    def title(self) -> str:
        """In words, with its scale."""
        return self.value

    @property
    def following(self) -> Metric:
        """The next one round."""
        every = list(Metric)
        return every[(every.index(self) + 1) % len(every)]


@dataclass(frozen=True)
class GpuCell:
    """One GPU in the grid."""

    mark: Mark
    level: float | None = None
    """0..1 of the metric; None draws the mark."""


@dataclass(frozen=True)
class FleetNode:
    """One row of the grid."""

    id: NodeId
    name: str
    mark: Mark
    state: str
    """Shown where there is no GPU to show."""
    cells: tuple[GpuCell, ...]
    summary: tuple[str, ...] = ()
    """What a row of its own has room for, most telling first."""


@dataclass(frozen=True)
class FleetView:
    """The whole screen."""

    nodes: tuple[FleetNode, ...]
    total: int
    problems: tuple[Problem, ...]
    metric: Metric = Metric.HEALTH
    coming: int = 0
    """Nodes still on their way up."""


SUMMARIES_UP_TO = 16
"""Nodes that are each given a row of their own with a summary."""


def fleet_view(
    snapshot: Snapshot, fabric: Fabric, metric: Metric = Metric.HEALTH, pattern: str = "", faults_only: bool = False
) -> FleetView:
    """The fleet as of a snapshot; `pattern` keeps nodes whose name or problems hold it (`!`: those whose don't)."""
    problems = problems_of(snapshot)
    worst: dict[NodeId, Mark] = {}
    said = {node: str(node) for node in snapshot.nodes}
    for problem in problems:
        worst[problem.node] = max(worst.get(problem.node, Mark.OK), problem.mark)
        said[problem.node] = f"{said.get(problem.node, problem.node)} {problem.where} {problem.text}"
    nodes = [
        _node(snapshot, fabric, view, metric, worst.get(node, Mark.OK))
        for node, view in snapshot.nodes.items()
        if matches(said[node], pattern) and (not faults_only or node in worst)
    ]
    if len(nodes) <= SUMMARIES_UP_TO:
        nodes = [replace(node, summary=tuple(_summary(snapshot, fabric, snapshot.nodes[node.id]))) for node in nodes]
    shown = {node.id for node in nodes}
    kept = tuple(problem for problem in problems if problem.node in shown or not pattern)
    coming = sum(is_coming(view) for view in snapshot.nodes.values())
    return FleetView(tuple(nodes), len(snapshot.nodes), kept, metric, coming)


def matches(text: str, pattern: str) -> bool:
    """Whether a `/` filter keeps the text: it holds the pattern, in any case of letters; `!` inverts."""
    wanted = pattern.removeprefix("!").lower()
    if not wanted:
        return True
    return (wanted in text.lower()) is not pattern.startswith("!")


def _node(snapshot: Snapshot, fabric: Fabric, view: NodeView, metric: Metric, worst: Mark) -> FleetNode:
    mark = worst if is_coming(view) else max(worst, mark_of(judged(snapshot, view.id).health))
    state = str(view.state) if view.state is not NodeState.LIVE else "no GPUs seen"
    rates = error_rates(view) if metric is Metric.ERRORS else {}
    cells = tuple(_cell(snapshot, view, gpu, metric, rates) for gpu in fabric.gpus(view.id))
    return FleetNode(view.id, str(view.id), mark, state, cells)


def _summary(snapshot: Snapshot, fabric: Fabric, view: NodeView) -> Iterator[str]:
    """Errors, load, heat and power of the whole node; why, where it says nothing."""
    if snapshot.source == "files":
        mine = [output for _, output in snapshot.outputs if output.node == view.id]
        yield f"{plural(len(mine), 'output')}, {plural(sum(output.readings for output in mine), 'reading')}"
        return
    if judged(snapshot, view.id).health is Health.UNKNOWN or view.state is not NodeState.LIVE:
        heard = f", last heard {age(snapshot.now - view.last_heard)} ago" if view.last_heard else ""
        yield f"{'waiting' if view.state is NodeState.IDLE else view.state}{heard}"
        return
    if view.hung:
        yield ", ".join(f"{part.domain} hangs for {age(snapshot.now - part.since)}" for part in view.hung)
        return
    if not view.series:
        yield "live, no readings yet"
        return
    rate = sum(error_rates(view).values())
    yield f"+{short(rate)} errors/s" if rate > 0 else "no errors now"
    gpus = fabric.gpus(view.id)
    for name, form, fold in (
        ("utilization_pct", "{:>3.0f} % busy", mean),
        ("temperature_c", "up to {:.0f} °C", max),
        ("power_w", "{:>5.0f} W", sum),
    ):
        values = [value for gpu in gpus if (value := view.value(gpu, name)) == value]
        if values:
            yield form.format(fold(values))
    used = [nic for nic in fabric.nics(view.id) if judged(snapshot, nic).health is not Health.NOT_APPLICABLE]
    if used:
        yield f"NICs {sum(view.value(nic, 'port_state') == 4 for nic in used)}/{len(used)} up"
    if (driver := view.fact(view.id, "driver_version")) is not None:
        yield f"driver {driver}"


def _is_convicted(snapshot: Snapshot, gpu: ComponentId) -> bool:
    """Whether the verdict names the GPU or a part of it."""
    verdicts = snapshot.verdict.verdicts if snapshot.verdict else ()
    return any(verdict.component == gpu or verdict.component.startswith(f"{gpu}/") for verdict in verdicts)


def _cell(
    snapshot: Snapshot, view: NodeView, gpu: ComponentId, metric: Metric, rates: dict[ComponentId, float]
) -> GpuCell:
    state = judged(snapshot, gpu).health
    if _is_convicted(snapshot, gpu):
        return GpuCell(Mark.FAIL)
    if state is not Health.OK or metric is Metric.HEALTH:
        return GpuCell(mark_of(state))
    match metric:
        case Metric.LOAD:
            level = view.value(gpu, "utilization_pct") / 100
        case Metric.TEMPERATURE:
            level = (view.value(gpu, "temperature_c") - 30) / 65
        case _:
            level = sum(value for part, value in rates.items() if part == gpu or part.startswith(f"{gpu}/")) / 10
    return GpuCell(Mark.OK if level == level else Mark.UNKNOWN, max(0.0, min(1.0, level)) if level == level else None)
