"""Reading what the node program `cuda_copy` answers: windows of a bandwidth, and counters at their edges.

The answer comes from a node: any value may be missing or of the wrong kind. Such a line is not used, and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..incident.errors import ProbeError, Unparsable
from ..incident.events import Trial
from ..incident.findings import CounterMove
from ..incident.ids import ComponentId, lane_id
from ..incident.source import Task, TaskOutput
from ..topology.fabric import Fabric, canonical_address
from .probe import Measured

PROGRAM = "cuda_copy"
WINDOWS = 16
WINDOW_MS = 30.0
WARM_MS = 40.0
COPY_BYTES = 64 << 20
FEWEST_WINDOWS = 8
MOST_WINDOWS = 4096
COUNTERS = ("replay_errors", "recovery_errors", "crc_errors", "replays")


def copy_task(trial: Trial, op: str, fabric: Fabric) -> Task:
    """The task that copies between a trial's targets; raises ProbeError for a GPU without a known bus address."""
    addresses = []
    for target in trial.targets:
        address = fabric.bus_address(target)
        if address is None:
            raise ProbeError(f"{target} can't be probed: its PCI bus address is not known; read the node's facts again")
        addresses.append(address)
    arguments = {
        "op": op,
        "gpus": addresses,
        "windows": WINDOWS,
        "window_ms": WINDOW_MS,
        "warm_ms": WARM_MS,
        "bytes": COPY_BYTES,
    }
    return Task(trial.id, PROGRAM, arguments)


def read_copy(output: TaskOutput, trial: Trial, fabric: Fabric, counted: Sequence[ComponentId]) -> Measured:
    """Windows and counter moves of one task; raises Unparsable when too few windows can be used."""
    lines = [line for line in output.lines if isinstance(line, Mapping)]
    rates, late, bad = _rates(lines)
    if len(rates) < FEWEST_WINDOWS:
        raise Unparsable(
            f"{trial.id} on {trial.node} gave {len(rates)} usable windows of {len(rates) + late + bad}, and "
            f"{FEWEST_WINDOWS} are needed ({late} late, {bad} unreadable); run it again on a quieter node"
        )
    moves = tuple(_moves(lines, trial, fabric, frozenset(counted)))
    return Measured(tuple(rates), moves, _measured_by(lines, len(rates), late, bad))


def head_of(output: TaskOutput) -> Mapping[str, Any]:
    """The program's first line: what it found before it copied; empty where it is missing."""
    return _first(output.lines, "head")


def _rates(lines: Iterable[Mapping[str, Any]]) -> tuple[list[float], int, int]:
    """GB/s of the usable windows by number; how many were late; how many can't be read."""
    found: dict[int, float] = {}
    late = bad = 0
    for line in lines:
        if "w" not in line:
            continue
        window, rate = line["w"], _number(line.get("gbps"))
        if type(window) is not int or not 0 <= window < MOST_WINDOWS or window in found or not rate > 0:
            bad += 1
        elif line.get("late"):
            late += 1
        else:
            found[window] = rate
    return [found[window] for window in sorted(found)], late, bad


def _moves(
    lines: Iterable[Mapping[str, Any]], trial: Trial, fabric: Fabric, counted: frozenset[ComponentId]
) -> Iterator[CounterMove]:
    """Counters of the parts the trial loaded; anything else the node names is not ours."""
    gpus = {fabric.bus_address(gpu): gpu for gpu in trial.targets}
    seen = set()
    for line in lines:
        rows = line.get("counters")
        for row in rows if isinstance(rows, list | tuple) else ():
            move = _move(row, gpus) if isinstance(row, Mapping) else None
            if move is None or move.component not in counted or (move.component, move.counter) in seen:
                continue
            seen.add((move.component, move.counter))
            yield move


def _move(row: Mapping[str, Any], gpus: Mapping[str | None, ComponentId]) -> CounterMove | None:
    """One row of the `counters` line; None where it is not one."""
    bus, lane, name = row.get("gpu"), row.get("lane"), row.get("name")
    before, after = _number(row.get("before")), _number(row.get("after"))
    if not isinstance(bus, str) or not isinstance(name, str) or name not in COUNTERS:
        return None
    gpu = gpus.get(canonical_address(bus))
    if gpu is None or not (before >= 0 and after >= 0):
        return None
    if lane is None:
        return CounterMove(component=gpu / "pcie", counter=name, before=before, after=after)
    if type(lane) is not int or not 0 <= lane < 64:
        return None
    return CounterMove(component=lane_id(gpu, lane), counter=name, before=before, after=after)


def _measured_by(lines: Iterable[Mapping[str, Any]], used: int, late: int, bad: int) -> str:
    """`cuda_copy, CUDA driver 13.0`, and how many windows were left out and why."""
    said = PROGRAM
    driver = _number(_first(lines, "head").get("driver"))
    if 1000 <= driver < 1_000_000:
        said += f", CUDA driver {int(driver) // 1000}.{int(driver) % 1000 // 10}"
    if late or bad:
        said += f"; {used} of {used + late + bad} windows used: {late} began late, {bad} unreadable"
    return said


def _first(lines: Iterable[Mapping[str, Any]], key: str) -> Mapping[str, Any]:
    for line in lines:
        if isinstance(line, Mapping) and isinstance(line.get(key), Mapping):
            found: Mapping[str, Any] = line[key]
            return found
    return {}


def _number(value: object) -> float:
    """A finite number as a float; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        number = float(value)
    except OverflowError:
        return math.nan
    return number if math.isfinite(number) else math.nan
