"""From the cursor on the node picture to what is known of the part under it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ...incident.findings import Health
from ...incident.ids import ComponentId
from ...incident.snapshot import NodeView, Series, Snapshot
from ...signals.counters import is_error_counter, plain_name
from ...signals.health import judged
from ...signals.rates import per_second
from ...topology.fabric import Fabric
from ..theme import Mark, mark_of
from .detail import TRACE, Detail, Trace
from .error_rates import WINDOW
from .node_layout import Cursor, row_kinds
from .node_view import NodePicture
from .words import label, spoken, whole


def selected_parts(picture: NodePicture, cursor: Cursor) -> tuple[ComponentId, ...]:
    """The parts under the cursor: the lanes of a crossing, a GPU, a PCIe link, a NIC."""
    rows = row_kinds(picture)
    kind = rows[min(cursor.row, len(rows) - 1)]
    if kind.startswith("rail"):
        crossing = picture.rails[int(kind[4:])].crossings[cursor.column]
        return crossing.lanes if crossing else ()
    if kind == "nic":
        nic = picture.below[cursor.column]
        return (nic.component,) if nic else ()
    if kind == "apart":
        return (picture.apart[cursor.column].component,)
    if not picture.gpus:
        return ()
    gpu = picture.gpus[cursor.column]
    return (gpu.component,) if kind == "gpu" else (gpu.pcie.component,)


def clamped(picture: NodePicture, cursor: Cursor) -> Cursor:
    """The nearest place that exists."""
    rows = row_kinds(picture)
    row = max(0, min(cursor.row, len(rows) - 1))
    columns = len(picture.apart) if rows[row] == "apart" else len(picture.gpus)
    return Cursor(row, max(0, min(cursor.column, columns - 1)))


def cursor_on(picture: NodePicture, component: ComponentId) -> Cursor:
    """Where a part stands on the picture; the first GPU where it has no place of its own."""
    for row in range(len(row_kinds(picture))):
        columns = max(len(picture.gpus), len(picture.apart), 1)
        for column in range(columns):
            cursor = clamped(picture, Cursor(row, column))
            parts = selected_parts(picture, cursor)
            if component in parts or (
                component.kind == "pcie" and component.parent in parts and component.parent.kind == "nic"
            ):
                return cursor
    above = component.parent
    return cursor_on(picture, above) if "/" in above else clamped(picture, Cursor(len(picture.rails), 0))


def detail_of(snapshot: Snapshot, fabric: Fabric, picture: NodePicture, cursor: Cursor) -> Detail:
    """Everything to say about what the cursor is on."""
    parts = selected_parts(picture, cursor)
    if not parts:
        return Detail("nothing here", Mark.ABSENT, "no such part on this node")
    view = snapshot.nodes[picture.id]
    if parts[0].kind == "nvlink":
        return _lanes_detail(snapshot, fabric, view, parts)
    part = parts[0]
    state = judged(snapshot, part)
    told = any(problem.text == spoken(state.reason) for problem in picture.problems)
    reason = (spoken(state.reason),) if state.reason and not told else ()
    traces = _traces(view, [part, *_inside(view, part)], part)
    mark = Mark.FAIL if _is_convicted(snapshot, part) else mark_of(state.health)
    words = "convicted" if mark is Mark.FAIL and state.health is not Health.FAILED else str(state.health)
    return Detail(label(part), mark, words, (*reason, *_facts(view, fabric, part)), traces)


def _is_convicted(snapshot: Snapshot, part: ComponentId) -> bool:
    verdicts = snapshot.verdict.verdicts if snapshot.verdict else ()
    return any(verdict.component == part for verdict in verdicts)


def _lanes_detail(snapshot: Snapshot, fabric: Fabric, view: NodeView, lanes: tuple[ComponentId, ...]) -> Detail:
    """Lanes between a GPU and its far end, each with the sum of its error counters."""
    far = fabric.far_end(lanes[0])
    marks = [Mark.FAIL if _is_convicted(snapshot, lane) else mark_of(judged(snapshot, lane).health) for lane in lanes]
    up = sum(view.value(lane, "state") == 1 for lane in lanes)
    end = label(far.part) if far else "unknown far end"
    names = {"replay_errors": "replay", "recovery_errors": "recovery", "crc_errors": "CRC"}
    traces = []
    for lane, mark in zip(lanes, marks, strict=True):
        counts = " ".join(f"{short} {whole(view.value(lane, name))}" for name, short in names.items())
        port = fabric.port_of(lane)
        far_port = f" → port {port.number}" if port else ""
        trace = _sum_of(view, [lane], f"lane {lane.number}{far_port}{_lane_state(snapshot, view, lane)}")
        traces.append(replace(trace, mark=max(mark, trace.mark), note=counts))
    traces.sort(key=_worst_first)
    speed = view.value(lanes[0], "speed_mbps")
    facts = [f"{up} of {len(lanes)} lanes up", f"{speed / 1000:.1f} GB/s each" if speed == speed else "speed unknown"]
    title = f"{label(lanes[0].parent)} ↔ {end}"
    worst = max(marks)
    return Detail(title, worst, "error counters of each lane", tuple(facts), tuple(traces))


def _lane_state(snapshot: Snapshot, view: NodeView, lane: ComponentId) -> str:
    """In a word; nothing where all is well."""
    if _is_convicted(snapshot, lane):
        return " convicted"
    state, health = view.value(lane, "state"), judged(snapshot, lane).health
    return "" if state == 1 else " down" if mark_of(health).is_loud else f" {health}"


def _inside(view: NodeView, part: ComponentId) -> list[ComponentId]:
    below = f"{part}/"
    seen = {column.component for series in view.series.values() for column in series.fields}
    return sorted((other for other in seen if other.startswith(below)), key=lambda other: (other.kind, other.number))


def _traces(view: NodeView, parts: list[ComponentId], owner: ComponentId) -> tuple[Trace, ...]:
    """One trace a part that has error counters, summed; movers first. The eighteen lanes of a GPU are one trace."""
    lanes = [part for part in parts if part.kind == "nvlink"]
    found = []
    if lanes:
        found.append(_sum_of(view, lanes, f"NVLink errors, {len(lanes)} lanes"))
    for part in parts:
        if part.kind == "nvlink":
            continue
        for series in view.series.values():
            for name in _error_names(series, part):
                what = plain_name(name).replace("PCIe ", "")
                shown = what if part == owner else f"{label(part).removeprefix(label(owner)).strip()} {what}"
                found.append(_sum_of(view, [part], shown, {name}))
    found.sort(key=_worst_first)
    return tuple(found)


def _worst_first(trace: Trace) -> tuple[float, float, float]:
    """Loudest, then fastest, then highest; what is missing comes last."""
    return -trace.mark, -np.nan_to_num(trace.per_second), -np.nan_to_num(trace.total)


def _error_names(series: Series, part: ComponentId) -> list[str]:
    return [column.name for column in series.fields if column.component == part and is_error_counter(column.name)]


def _sum_of(view: NodeView, parts: Iterable[ComponentId], title: str, names: set[str] | None = None) -> Trace:
    """The named error counters (all without names) of some parts as one trace."""
    total, speed, steps = 0.0, 0.0, np.zeros(0)
    for series in view.series.values():
        for part in parts:
            for name in _error_names(series, part):
                if names is not None and name not in names:
                    continue
                values = series.history(part, name)[-TRACE - 1 :]
                total += float(series.value(part, name))
                moving = per_second(series, part, name, WINDOW)
                speed += moving if moving == moving else 0.0
                moves = np.maximum(np.diff(values), 0.0)
                steps = moves if not steps.size else steps[-len(moves) :] + moves if len(moves) else steps
    mark = Mark.WARN if speed > 0 else Mark.OK
    if total != total and not speed > 0:
        speed = float("nan")
    return Trace(title, total, speed, tuple(float(step) for step in steps), mark)


def _facts(view: NodeView, fabric: Fabric, part: ComponentId) -> Iterable[str]:
    """What does not change by the second, then what does, each as `name value`."""
    for key, name in _FACTS:
        if (value := view.fact(part, key)) is not None:
            yield f"{name} {value}".strip()
    address = fabric.bus_address(part)
    if address and view.fact(part, "bus_address") is None:
        yield f"at {address}"
    for key, form in _READINGS:
        value = view.value(part, key)
        if value == value:
            yield form.format(value)
    if part.kind == "pcie" and (chain := fabric.chain(part.parent)):
        yield "up through " + " → ".join(link.name.removeprefix("0000:") for link in chain[1:])


_FACTS = (
    ("name", ""), ("serial", "serial"), ("bus_address", "at"), ("vbios", "VBIOS"), ("firmware", "firmware"),
    ("board_id", "board"), ("netdev", "netdev"), ("numa", "NUMA"), ("fabric_state", "fabric"),
    ("max_speed_gts", "max GT/s"), ("max_width", "max x"),
)  # fmt: skip
_READINGS = (
    ("sm_clock_mhz", "SM {:.0f} MHz"), ("memory_clock_mhz", "memory {:.0f} MHz"), ("power_limit_w", "limit {:.0f} W"),
    ("compute_processes", "{:.0f} compute processes"), ("speed_gts", "now {:.1f} GT/s"),
    ("current_width", "now x{:.0f}"), ("rate_gbps", "{:.0f} Gb/s"),
)  # fmt: skip
