"""nvbandwidth on all GPUs of a node: between every two of them, or from host memory to each. The slowest counts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId, host_id
from ..incident.source import Task, TaskOutput
from ..parsers import bandwidth
from ..parsers.bandwidth.nvbandwidth import (
    NvbandwidthCell,
    NvbandwidthDevice,
    NvbandwidthReading,
    NvbandwidthTest,
    NvbandwidthVersions,
)
from ..topology.fabric import Fabric
from ..topology.paths import Path, host_copy_path, peer_copy_path
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Need, Targets
from .rdma_ways import joined
from .tool_output import ToolOutput, addresses, check_words, no_result, tool_output, tool_task

TOOL = Need("nvbandwidth", "nvbandwidth")
GPU_SIDE = "GPU"


def all_pairs(fabric: Fabric, node: NodeId) -> Path:
    """What copies between all GPUs of a node cross."""
    return joined(*(peer_copy_path(fabric, *pair) for pair in permutations(fabric.gpus(node), 2)))


def all_from_host(fabric: Fabric, node: NodeId) -> Path:
    """What copies from host memory to all GPUs of a node cross."""
    return joined(*(host_copy_path(fabric, gpu) for gpu in fabric.gpus(node)))


@dataclass(frozen=True, slots=True)
class Nvbandwidth:
    """One of its tests; reports the slowest cell of the matrix, since its average hides a slow pair."""

    name: str
    title: str
    test: str
    metric: str
    way: Callable[[Fabric, NodeId], Path]
    loads: str
    disturbs: Disturbs
    seconds: float
    fewest: int
    """GPUs that a node must have."""
    aim: Aim = Aim.NODE
    measure: Measure = Measure.BANDWIDTH
    searches: bool = False
    needs: tuple[Need, ...] = (CUDA, TOOL)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """The node, where it has GPUs enough."""
        return ((host_id(node),),) if len(fabric.gpus(node)) >= self.fewest else ()

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """What the copies of all cells cross, one after the other."""
        return self.way(fabric, targets[0].node)

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """Nothing: the tool runs on its own."""
        return ()

    def cost(self, targets: Targets) -> str:
        """`loads all GPUs of gpu-017 and their NVLinks for about 15 s`."""
        return f"loads all GPUs of {targets[0].node} and {self.loads} for about {self.seconds:.0f} s"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of one test."""
        argv = [TOOL.name, "-t", self.test]
        return ((trial.node, tool_task(trial, argv, TOOL, addresses(fabric, trial.node))),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """The slowest cell, GB/s, and which it is. Raises Unparsable where the test was waived or failed."""
        ran = tool_output(outputs[0])
        check_words(ran, trial, TOOL.name)
        readings = _readings(ran)
        cells = [row for row in readings if isinstance(row, NvbandwidthCell) and row.unit == "GB/s"]
        measured = [(row.value, row) for row in cells if row.value is not None and row.value > 0]
        if not measured or ran.status != 0:
            raise no_result(_with_reason(ran, readings), trial, TOOL.name)
        lowest, slowest = min(measured, key=lambda pair: pair[0])
        median = statistics.median(value for value, _ in measured)
        detail = (
            f"Slowest of {len(measured)}: {_ends(slowest, readings, trial.node, fabric)}, {lowest:.1f} GB/s; "
            f"the median is {median:.1f} GB/s."
        )
        said = f"{_version(readings)}, the slowest cell of a matrix of averages: one window"
        return Measured((lowest,), (), said, detail=detail)

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """What this test shows on this platform, GB/s."""
        platform = fabric.platform_of(targets[0].node)
        known = platform.expect.get(self.metric) if platform is not None else None
        return math.nan if known is None else known.value


def _readings(ran: ToolOutput) -> list[NvbandwidthReading]:
    tool = next((tool for tool in bandwidth.TOOLS if "nvbandwidth" in tool.name and tool.recognizes(ran.out)), None)
    return [] if tool is None else tool.parse(ran.out).readings


def _with_reason(ran: ToolOutput, readings: Sequence[NvbandwidthReading]) -> ToolOutput:
    """The run with the tool's own reason as its last words, where it gave one."""
    reasons = [row.why or row.status for row in readings if isinstance(row, NvbandwidthTest) and row.status != "passed"]
    return ToolOutput(ran.path, reasons[0], "", ran.status, 0, ()) if reasons and not ran.err else ran


def _ends(cell: NvbandwidthCell, readings: Sequence[NvbandwidthReading], node: NodeId, fabric: Fabric) -> str:
    """`gpu2 to gpu5`; devices by bus address where the tool prints them."""
    row, column = (
        _device(side, number, readings, node, fabric)
        for side, number in ((cell.row_is, cell.row), (cell.column_is, cell.column))
    )
    return f"{column} to {row}" if cell.direction == "<-" else f"{row} to {column}"


def _device(side: str, number: int, readings: Sequence[NvbandwidthReading], node: NodeId, fabric: Fabric) -> str:
    if side != GPU_SIDE:
        return "host memory"
    for row in readings:
        if isinstance(row, NvbandwidthDevice) and row.index == number and row.bus_address:
            part = fabric.component_at(node, row.bus_address)
            return f"device {number}" if part is None else part.name
    return f"device {number}"


def _version(readings: Sequence[NvbandwidthReading]) -> str:
    found = next((row for row in readings if isinstance(row, NvbandwidthVersions)), None)
    if found is None or not found.version:
        return TOOL.name
    return f"{TOOL.name} {found.version}" + (f", driver {found.driver}" if found.driver else "")


NVBANDWIDTH_PROBES = (
    Nvbandwidth(
        name="nvbandwidth_p2p",
        title="nvbandwidth between all GPUs of a node",
        test="device_to_device_memcpy_write_ce",
        metric="nvbandwidth_d2d_write_ce",
        way=all_pairs,
        loads="their NVLinks",
        disturbs=Disturbs.GPU | Disturbs.NVLINK,
        seconds=20.0,
        fewest=2,
    ),
    Nvbandwidth(
        name="nvbandwidth_h2d",
        title="nvbandwidth from host memory to all GPUs of a node",
        test="host_to_device_memcpy_ce",
        metric="h2d_pinned",
        way=all_from_host,
        loads="their PCIe links",
        disturbs=Disturbs.GPU | Disturbs.PCIE | Disturbs.HOST_MEMORY,
        seconds=10.0,
        fewest=1,
    ),
)
