"""The lines that the node program `cuda_copy` prints, made from the world instead of a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..incident.source import Task
from .crossing import OPERATIONS
from .hardware import Hardware
from .ledger import CudaError, Transfer
from .readings import Readings

LINE = Mapping[str, Any]

LANE_COUNTERS = ("replay_errors", "recovery_errors", "crc_errors")


@dataclass(frozen=True)
class CopyTask:
    """The arguments of one run, checked, with its GPUs by name."""

    operation: str
    gpus: tuple[str, ...]
    windows: int
    window_ms: float
    warm_ms: float
    bytes: int


def read_task(task: Task, hardware: Hardware) -> CopyTask | CudaError:
    """The copy that a task asks for, or what the program would answer to arguments that fit nothing."""
    arguments = task.arguments
    operation, buses = arguments.get("op"), arguments.get("gpus")
    ends = OPERATIONS.get(operation, 0) if isinstance(operation, str) else 0
    if not isinstance(operation, str) or not isinstance(buses, list | tuple) or not ends or len(buses) != ends:
        return CudaError("arguments", "BAD_TASK", 0, "op and gpus do not fit each other")
    gpus = [hardware.gpu_at(bus) if isinstance(bus, str) else None for bus in buses]
    names = tuple(gpu.name for gpu in gpus if gpu is not None)
    if len(set(names)) != len(buses):
        return CudaError("cuDeviceGetByPCIBusId", "CUDA_ERROR_INVALID_DEVICE", 101, "invalid device ordinal")
    numbers = {
        name: _number(arguments.get(name, usual), least, most)
        for name, usual, least, most in (
            ("windows", 16, 1, 1024),
            ("window_ms", 30.0, 0.1, 1000.0),
            ("warm_ms", 40.0, 0.0, 1000.0),
            ("bytes", 64 << 20, 4096, 1 << 30),
        )
    }
    if any(math.isnan(value) for value in numbers.values()):
        return CudaError("arguments", "BAD_TASK", 0, "a number is out of its range")
    return CopyTask(
        operation, names, int(numbers["windows"]), numbers["window_ms"], numbers["warm_ms"], int(numbers["bytes"])
    )


def _number(value: object, least: float, most: float) -> float:
    """The number; NaN where it is none or out of range."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
    return float(value) if fits and isinstance(value, int | float) else math.nan


def lines_of(
    task: CopyTask, transfer: Transfer, before: Readings, hardware: Hardware, seconds: float
) -> Iterator[LINE]:
    """Its lines: head, warm-up, windows, counters, foot, end. `seconds`: node time, launch included."""
    if transfer.error is not None:
        yield from lines_of_error(transfer.error, seconds)
        return
    devices = [{"bus": hardware.gpu(name).address, "name": "NVIDIA H100 80GB HBM3"} for name in task.gpus]
    yield {
        "head": {
            "op": task.operation,
            "bytes": task.bytes,
            "windows": task.windows,
            "driver": 12080,
            "devices": devices,
        }
    }
    copy_ms = task.bytes / transfer.gbps[0] * 1e-6
    copies = max(1, round(task.window_ms / copy_ms))
    yield {"warm": {"copies_per_window": copies, "copy_ms": round(copy_ms, 4)}}
    for window, gbps in enumerate(transfer.gbps):
        ms = copies * task.bytes / gbps * 1e-6
        yield {"w": window, "ms": round(ms, 4), "t": round(window * task.window_ms, 3), "gbps": round(gbps, 3)}
    yield {"counters": counters_of(task, transfer, before, hardware)}
    yield {"foot": _foot(transfer.gbps)}
    yield {"end": "done", "seconds": round(seconds, 6)}


def lines_of_error(error: CudaError, seconds: float) -> Iterator[LINE]:
    """The lines of a task that failed."""
    yield {"error": {"call": error.call, "name": error.name, "code": error.code, "text": error.text}}
    yield {"end": "failed", "seconds": round(seconds, 6)}


def counters_of(
    task: CopyTask, transfer: Transfer, before: Readings, hardware: Hardware
) -> list[dict[str, str | int | None]]:
    """Counters of what the copy loads, at its edges; one that can't be read is absent."""
    rows: list[dict[str, str | int | None]] = []
    for name in task.gpus:
        bus = hardware.gpu(name).address
        parts: Sequence[tuple[int | None, str]]
        if task.operation == "p2p":
            parts = [(lane, counter) for lane in hardware.lanes() for counter in LANE_COUNTERS]
        else:
            parts = [(None, "replays")]
        for lane, counter in parts:
            key = (f"{name}/pcie" if lane is None else f"{name}/nvlink{lane}", counter)
            if key in before:
                at = int(before[key])
                step = transfer.steps.get(key, 0)
                rows.append({"gpu": bus, "lane": lane, "name": counter, "before": at, "after": at + step})
    return rows


def _foot(gbps: Sequence[float]) -> dict[str, float | int]:
    middle = median(gbps)
    spread = median(abs(rate - middle) for rate in gbps)
    return {
        "median": round(middle, 3),
        "min": round(min(gbps), 3),
        "max": round(max(gbps), 3),
        "mad_pct": round(100 * 1.4826 * spread / middle, 2),
        "windows": len(gbps),
        "late": 0,
    }
