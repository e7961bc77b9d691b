"""Reading what the node program `cuda_copy` answers: windows of a bandwidth, and counters at their edges.

The answer comes from a node: any value may be missing or of the wrong kind. Such a line is not used, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..incident.errors import ProbeError, Unparsable
from ..incident.events import Trial
from ..incident.findings import CounterMove
from ..incident.ids import ComponentId, lane_id
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric, canonical_address
from .answers import driver_in_words, first_of, mappings, number
from .link_words import links_in_words
from .probe import Measured

PROGRAM = "cuda_copy"
WINDOWS = 16
WINDOW_MS = 30.0
WARM_MS = 40.0
COPY_BYTES = 64 << 20
FEWEST_WINDOWS = 8
MOST_WINDOWS = 4096
COUNTERS = ("replay_errors", "recovery_errors", "crc_errors", "replays")
MEMORY_COUNTERS = ("ecc_corrected", "ecc_uncorrected", "remapped_correctable", "remapped_uncorrectable")


def copy_task(trial: Trial, op: str, fabric: Fabric) -> Task:
    """The task that copies between a trial's targets; raises ProbeError for a GPU without a known bus address."""
    return _copy_task(trial.id, op, [bus_of(fabric, target) for target in trial.targets])


def copy_tasks(trial: Trial, op: str, fabric: Fabric) -> tuple[Task, ...]:
    """A task for each target, all at once; raises ProbeError for a GPU without a known bus address."""
    return tuple(
        _copy_task(f"{trial.id}.{place}", op, [bus_of(fabric, target)]) for place, target in enumerate(trial.targets)
    )


def bus_of(fabric: Fabric, gpu: ComponentId) -> str:
    """How a node program addresses a GPU; raises ProbeError where its bus address is not known."""
    address = fabric.bus_address(gpu)
    if address is None:
        raise ProbeError(f"{gpu} can't be probed: its PCI bus address is not known; read the node's facts again")
    return address


def _copy_task(name: str, op: str, addresses: list[str]) -> Task:
    arguments = {
        "op": op,
        "gpus": addresses,
        "windows": WINDOWS,
        "window_ms": WINDOW_MS,
        "warm_ms": WARM_MS,
        "bytes": COPY_BYTES,
    }
    return Task(name, PROGRAM, arguments)


def read_copy(output: TaskOutput, trial: Trial, fabric: Fabric, counted: Sequence[ComponentId]) -> Measured:
    """Windows and counter moves of one task, and what its PCIe links did meanwhile; raises Unparsable when too few
    windows can be used."""
    lines = mappings(output.lines)
    rates, late, bad = rates_of(lines)
    if len(rates) < FEWEST_WINDOWS:
        raise Unparsable(
            f"{trial.id} on {trial.node} gave {len(rates)} usable windows of {len(rates) + late + bad}, and "
            f"{FEWEST_WINDOWS} are needed ({late} late, {bad} unreadable); run it again on a quieter node"
        )
    windows = tuple(rates[window] for window in sorted(rates))
    moves = moves_of(lines, trial, fabric, counted)
    detail = links_in_words(first_of(lines, "foot"))
    return Measured(windows, moves, measured_by(PROGRAM, lines, len(rates), late, bad), detail=detail)


def head_of(output: TaskOutput) -> Mapping[str, Any]:
    """The program's first line: what it found before it copied; empty where it is missing."""
    return first_of(mappings(output.lines), "head")


def rates_of(lines: Iterable[Mapping[str, Any]]) -> tuple[dict[int, float], int, int]:
    """GB/s of the usable windows by number; how many were late; how many can't be read."""
    found: dict[int, float] = {}
    late = bad = 0
    for line in lines:
        if "w" not in line:
            continue
        window, rate = line["w"], number(line.get("gbps"))
        if type(window) is not int or not 0 <= window < MOST_WINDOWS or window in found or not rate > 0:
            bad += 1
        elif line.get("late"):
            late += 1
        else:
            found[window] = rate
    return found, late, bad


def moves_of(
    lines: Iterable[Mapping[str, Any]], trial: Trial, fabric: Fabric, counted: Sequence[ComponentId]
) -> tuple[CounterMove, ...]:
    """Counters of the parts the trial loaded; anything else the node names is not ours."""
    gpus = {fabric.bus_address(gpu): gpu for gpu in trial.targets}
    ours = frozenset(counted)
    found: dict[tuple[ComponentId, str], CounterMove] = {}
    for line in lines:
        rows = line.get("counters")
        for row in mappings(rows if isinstance(rows, list | tuple) else ()):
            move = _move(row, gpus)
            if move is not None and move.component in ours:
                found.setdefault((move.component, move.counter), move)
    return tuple(found.values())


def _move(row: Mapping[str, Any], gpus: Mapping[str | None, ComponentId]) -> CounterMove | None:
    """One row of the `counters` line; None where it is not one."""
    bus, lane, name = row.get("gpu"), row.get("lane"), row.get("name")
    before, after = number(row.get("before")), number(row.get("after"))
    if not isinstance(bus, str) or not isinstance(name, str) or name not in (*COUNTERS, *MEMORY_COUNTERS):
        return None
    gpu = gpus.get(canonical_address(bus))
    if gpu is None or not (before >= 0 and after >= 0):
        return None
    if lane is None:
        part = gpu / ("hbm" if name in MEMORY_COUNTERS else "pcie")
        return CounterMove(component=part, counter=name, before=before, after=after)
    if type(lane) is not int or not 0 <= lane < 64:
        return None
    return CounterMove(component=lane_id(gpu, lane), counter=name, before=before, after=after)


def measured_by(program: str, lines: Iterable[Mapping[str, Any]], used: int, late: int = 0, bad: int = 0) -> str:
    """`cuda_copy, CUDA driver 13.0`, and how many windows were left out and why."""
    said = program + driver_in_words(first_of(lines, "head"))
    if late or bad:
        said += f"; {used} of {used + late + bad} windows used: {late} began late, {bad} unreadable"
    return said
