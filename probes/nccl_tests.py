"""nccl-tests over all GPUs of a node: bus bandwidth of large messages, and whether the data arrived right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId, host_id
from ..incident.source import Task, TaskOutput
from ..parsers.bandwidth.nccl_tests import (
    CollectiveFailure,
    CollectiveReading,
    CollectiveRun,
    CollectiveSummary,
    CollectiveTime,
    parse_nccl_tests,
)
from ..topology.fabric import Fabric
from ..topology.paths import Path
from .nccl_ways import all_by_default
from .probe import CUDA, Aim, Disturbs, Measure, Measured, Need, Targets
from .tool_output import ToolOutput, addresses, check_words, no_result, tool_output, tool_task

PACKAGE = "nccl-tests"
SIZE = "8G"
"""At which published bus bandwidths are measured."""
ITERATIONS = 20
WARM = 5
ALL_REDUCE = "nccl_all_reduce_busbw"


@dataclass(frozen=True, slots=True)
class NcclTest:
    """One collective. Reports the bus bandwidth out of place; data that arrived wrong are a fault however fast."""

    name: str
    title: str
    tool: Need
    metric: str
    """Of platforms.toml; empty where nobody has published one."""
    aim: Aim = Aim.NODE
    measure: Measure = Measure.BANDWIDTH
    searches: bool = False
    seconds: float = 20.0
    disturbs: Disturbs = Disturbs.GPU | Disturbs.NVLINK

    @property
    def needs(self) -> tuple[Need, ...]:
        """The tool, and what it stands on."""
        return (CUDA, self.tool)

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """The node, where it has two GPUs or more."""
        return ((host_id(node),),) if len(fabric.gpus(node)) > 1 else ()

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """What joins neighbours of a ring over the node's GPUs."""
        return all_by_default(fabric, fabric.gpus(targets[0].node))

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """Nothing: the tool runs on its own."""
        return ()

    def cost(self, targets: Targets) -> str:
        """`loads all GPUs of gpu-017 and their NVLinks for about 20 s, and takes 26 GB of memory on each`."""
        return (
            f"loads all GPUs of {targets[0].node} and their NVLinks for about {self.seconds:.0f} s, and takes 26 GB of "
            "memory on each"
        )

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """One process that drives all GPUs."""
        gpus = addresses(fabric, trial.node)
        sizes = ("-b", SIZE, "-e", SIZE, "-g", str(len(gpus)), "-n", str(ITERATIONS), "-w", str(WARM))
        return ((trial.node, tool_task(trial, [self.tool.name, *sizes], self.tool, gpus)),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """The bus bandwidth of the largest size, GB/s, and the check of the data."""
        ran = tool_output(outputs[0])
        check_words(ran, trial, self.tool.name)
        readings = parse_nccl_tests(ran.out).readings
        rows = [row for row in readings if isinstance(row, CollectiveTime) and row.busbw is not None]
        outside = [row for row in rows if not row.in_place and row.busbw]
        if not outside:
            raise no_result(_with_reason(ran, readings), trial, self.tool.name)
        best = max(outside, key=lambda row: row.size)
        assert best.busbw is not None
        check, found = _check(rows, readings)
        said = f"{self.tool.name} of {PACKAGE}{_version(readings)}, the average of {ITERATIONS} runs: one window"
        return Measured((best.busbw,), (), said, check=check, detail=f"{found}{_in_place(rows, best.size)}")

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """The published bus bandwidth of a whole node of this platform, GB/s."""
        platform = fabric.platform_of(targets[0].node)
        known = platform.expect.get(self.metric) if platform is not None else None
        if platform is None or known is None or len(fabric.gpus(targets[0].node)) != platform.gpus:
            return math.nan
        of_racks = platform.trays > 1 and self.metric == ALL_REDUCE  # published for many trays, not for one
        return math.nan if of_racks else known.value


def _check(rows: Sequence[CollectiveTime], readings: Sequence[CollectiveReading]) -> tuple[str, str]:
    """`good`, `wrong`, or empty where the data were not compared; and the words for it."""
    wrong = sum(row.wrong or 0 for row in rows)
    summary = next((row for row in readings if isinstance(row, CollectiveSummary)), None)
    if wrong or (summary is not None and summary.out_of_bounds_ok is False):
        count = wrong or (summary.out_of_bounds if summary is not None else None)
        return "wrong", f"{count or 'Some'} values arrived wrong"
    if any(row.wrong is not None for row in rows):
        return "good", "All values arrived right"
    return "", "The data were not compared"


def _in_place(rows: Sequence[CollectiveTime], size: int) -> str:
    """`; in place 478.2 GB/s.`"""
    found = next((row.busbw for row in rows if row.in_place and row.size == size), None)
    return f"; in place {found:.1f} GB/s." if found else "."


def _version(readings: Sequence[CollectiveReading]) -> str:
    found = next((row.version for row in readings if isinstance(row, CollectiveRun) and row.version), "")
    return f" {found}" if found else ""


def _with_reason(ran: ToolOutput, readings: Sequence[CollectiveReading]) -> ToolOutput:
    """The run with the test's own reason as its last words, where it gave one."""
    failures = [row for row in readings if isinstance(row, CollectiveFailure)]
    reasons = [f"{row.kind} {row.text or row.where}".strip() for row in failures]
    return ToolOutput(ran.path, reasons[0], "", ran.status, 0, ()) if reasons else ran


NCCL_TESTS_PROBES = (
    NcclTest(
        "nccl_tests_allreduce",
        "nccl-tests all-reduce over all GPUs of a node",
        Need("all_reduce_perf", PACKAGE),
        ALL_REDUCE,
    ),
    NcclTest("nccl_tests_sendrecv", "nccl-tests send and receive in a ring", Need("sendrecv_perf", PACKAGE), ""),
    NcclTest(
        "nccl_tests_alltoall",
        "nccl-tests all-to-all over all GPUs of a node",
        Need("alltoall_perf", PACKAGE),
        "nccl_alltoall_busbw",
    ),
)
