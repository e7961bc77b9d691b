"""The lines that the node program `cuda_copy` prints, made from the world instead of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ..incident.source import Task
from .arguments import MEASURED, bad_task, numbers
from .crossing import OPERATIONS
from .hardware import Hardware
from .ledger import CudaError, Transfer
from .program import Line, Party, Wanted
from .readings import Readings

LANE_COUNTERS = ("replay_errors", "recovery_errors", "crc_errors")
LIMITS = (*MEASURED, ("bytes", 64 << 20, 4096, 1 << 30))


@dataclass(frozen=True)
class CopyTask:
    """The arguments of one run, checked, with its GPUs by name."""

    operation: str
    gpus: tuple[str, ...]
    windows: int
    window_ms: float
    warm_ms: float
    bytes: int


class CopyProgram:
    """Copies within one node."""

    start_seconds = 0.0

    def read(self, task: Task, hardware: Hardware) -> CopyTask | CudaError:
        """The copy that a task asks for, or what the program would answer to arguments that fit nothing."""
        return read_task(task, hardware)

    def wanted(self, parties: Sequence[Party]) -> Wanted:
        """The copy of the one task."""
        (party,) = parties
        plan: CopyTask = party.plan
        ends = tuple(f"{party.node}/{gpu}" for gpu in plan.gpus)
        return Wanted(plan.operation, ends, plan.windows, plan.window_ms, plan.warm_ms)

    def lines(self, party: Party, transfer: Transfer, before: Readings, seconds: float) -> Iterator[Line]:
        """Head, warm-up, windows, counters, foot, end."""
        return lines_of(party.plan, transfer, before, party.hardware, seconds)


def read_task(task: Task, hardware: Hardware) -> CopyTask | CudaError:
    """The copy that a task asks for, or what the program would answer to arguments that fit nothing."""
    arguments = task.arguments
    operation, buses = arguments.get("op"), arguments.get("gpus")
    ends = OPERATIONS.get(operation, 0) if isinstance(operation, str) else 0
    if not isinstance(operation, str) or not isinstance(buses, list | tuple) or not ends or len(buses) != ends:
        return bad_task("op and gpus do not fit each other")
    gpus = [hardware.gpu_at(bus) if isinstance(bus, str) else None for bus in buses]
    names = tuple(gpu.name for gpu in gpus if gpu is not None)
    if len(set(names)) != len(buses):
        return CudaError("cuDeviceGetByPCIBusId", "CUDA_ERROR_INVALID_DEVICE", 101, "invalid device ordinal")
    found = numbers(arguments, LIMITS)
    if not found:
        return bad_task("a number is out of its range")
    return CopyTask(operation, names, int(found["windows"]), found["window_ms"], found["warm_ms"], int(found["bytes"]))


def lines_of(
    task: CopyTask, transfer: Transfer, before: Readings, hardware: Hardware, seconds: float
) -> Iterator[Line]:
    """Its lines: head, warm-up, windows, counters, foot, end. `seconds`: node time, launch included."""
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
    yield {"foot": foot_of(transfer.gbps)}
    yield {"end": "done", "seconds": round(seconds, 6)}


def counters_of(
    task: CopyTask, transfer: Transfer, before: Readings, hardware: Hardware
) -> list[dict[str, str | int | None]]:
    """Counters of what the copy loads, at its edges; one that can't be read is absent."""
    by_lanes = task.operation == "p2p"
    return [
        row for gpu in task.gpus for row in gpu_rows(gpu, transfer, before, hardware, lanes=by_lanes, link=not by_lanes)
    ]


def gpu_rows(
    name: str, transfer: Transfer, before: Readings, hardware: Hardware, *, lanes: bool, link: bool
) -> Iterator[dict[str, str | int | None]]:
    """Rows of a GPU's lanes and of its PCIe link, as asked for."""
    numbered: list[tuple[int | None, str]] = []
    if lanes:
        numbered += [(lane, counter) for lane in hardware.lanes() for counter in LANE_COUNTERS]
    if link:
        numbered.append((None, "replays"))
    for lane, counter in numbered:
        key = (f"{name}/pcie" if lane is None else f"{name}/nvlink{lane}", counter)
        if key in before:
            at = int(before[key])
            yield {
                "gpu": hardware.gpu(name).address,
                "lane": lane,
                "name": counter,
                "before": at,
                "after": at + transfer.steps.get(key, 0),
            }


def foot_of(gbps: Sequence[float]) -> dict[str, float | int]:
    """What all windows say together."""
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
