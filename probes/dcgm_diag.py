"""DCGM's diagnostic of a node, levels 1 to 3: good, or which test failed on which GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..incident.errors import NotTested
from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId, host_id
from ..incident.source import Task, TaskOutput
from ..parsers import dcgm
from ..parsers.dcgm.diag import DiagMessage, DiagMetadata, DiagNotRun, DiagReading, DiagResult, DiagStatus
from ..topology.fabric import Fabric
from ..topology.paths import Crossing, Path, host_copy_path
from .nvbandwidth import all_pairs
from .probe import Aim, Disturbs, Measure, Measured, Need, Targets
from .rdma_ways import joined
from .tool_output import ToolOutput, addresses, check_words, no_result, tool_output, tool_task

DCGMI = Need("dcgmi", "datacenter-gpu-manager")
NO_ENGINE = ("unable to establish a connection", "host engine is not running", "connection to the host engine")
"""How dcgmi says that nv-hostengine does not run."""
SHOWN = 3
"""Failures named in the sentence; the rest is counted."""
LONGEST_MESSAGE = 240


@dataclass(frozen=True, slots=True)
class DcgmDiag:
    """One level of `dcgmi diag`. Tests that DCGM skipped say nothing of their part, and warnings are told."""

    level: int
    title: str
    seconds: float
    loads: str
    disturbs: Disturbs
    aim: Aim = Aim.NODE
    measure: Measure = Measure.CHECK
    searches: bool = False
    needs: tuple[Need, ...] = (DCGMI,)

    @property
    def name(self) -> str:
        """`dcgm_diag_2`."""
        return f"dcgm_diag_{self.level}"

    def targets(self, fabric: Fabric, node: NodeId) -> tuple[Targets, ...]:
        """The node, where it has a GPU."""
        return ((host_id(node),),) if fabric.gpus(node) else ()

    def exercises(self, fabric: Fabric, targets: Targets) -> Path:
        """The GPUs; from level 2 on their PCIe links too, and from level 3 on what is between them."""
        node = targets[0].node
        gpus = tuple(Crossing(part, 1.0) for part in (*fabric.gpus(node), host_id(node)))
        links = [host_copy_path(fabric, gpu) for gpu in fabric.gpus(node)] if self.level > 1 else []
        return joined(gpus, *links, all_pairs(fabric, node) if self.level > 2 else ())

    def counted(self, fabric: Fabric, targets: Targets) -> tuple[ComponentId, ...]:
        """Nothing: the tool runs on its own."""
        return ()

    def cost(self, targets: Targets) -> str:
        """`loads all GPUs of gpu-017 up to their power limit for about 15 min`."""
        minutes = self.seconds / 60
        long = f"{self.seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} min"
        return f"{self.loads} of {targets[0].node} for about {long}"

    def tasks(self, trial: Trial, fabric: Fabric) -> tuple[tuple[NodeId, Task], ...]:
        """A run of the level on all GPUs, answered in JSON."""
        argv = [DCGMI.name, "diag", "-r", str(self.level), "-j"]
        return ((trial.node, tool_task(trial, argv, DCGMI, addresses(fabric, trial.node))),)

    def read(self, outputs: Sequence[TaskOutput], trial: Trial, fabric: Fabric) -> Measured:
        """Whether anything failed. Raises NotTested where no test ran, Unparsable where dcgmi said nothing of tests."""
        ran = tool_output(outputs[0])
        if any(words in f"{ran.out}\n{ran.err}".lower() for words in NO_ENGINE):
            raise NotTested(f"{trial.node}: not tested: DCGM's host engine does not run there (systemd: nvidia-dcgm)")
        check_words(ran, trial, DCGMI.name)
        readings = _readings(ran)
        broke_off = next((row.reason for row in readings if isinstance(row, DiagNotRun)), "")
        results = [row for row in readings if isinstance(row, DiagResult)]
        if broke_off and not results:
            raise NotTested(f"{trial.node}: not tested: {broke_off[:LONGEST_MESSAGE]}")
        if not results:
            raise no_result(ran, trial, DCGMI.name)
        if all(row.status in (DiagStatus.SKIP, DiagStatus.NOT_RUN) for row in results):
            raise NotTested(f"{trial.node}: not tested: DCGM skipped all {len(_tests(results))} tests")
        failed = [row for row in results if row.status is DiagStatus.FAIL]
        check = "wrong" if failed else "good"
        detail = _failures(failed, readings) if failed else _passes(results)
        return Measured((), (), f"dcgmi diag -r {self.level}{_version(readings)}", check=check, detail=detail)

    def expected(self, fabric: Fabric, targets: Targets) -> float:
        """NaN: it measures nothing."""
        return math.nan


def _readings(ran: ToolOutput) -> list[DiagReading]:
    tool = next((tool for tool in dcgm.TOOLS if "diag" in tool.name and tool.recognizes(ran.out)), None)
    return [] if tool is None else tool.parse(ran.out).readings


def _tests(results: Sequence[DiagResult]) -> dict[str, None]:
    """Names of tests, each once."""
    return dict.fromkeys(row.test for row in results)


def _failures(failed: Sequence[DiagResult], readings: Sequence[DiagReading]) -> str:
    """`GPU Memory failed on GPU 0: thermal violations totaling 13.3 seconds...`."""
    found: dict[str, list[int]] = {}
    for row in failed:
        found.setdefault(row.test, []).extend([] if row.gpu is None else [row.gpu])
    said = []
    for test, gpus in list(found.items())[:SHOWN]:
        where = f" on GPU {', '.join(map(str, dict.fromkeys(gpus)))}" if gpus else ""
        why = _message(test, gpus, readings)
        said.append(f"{test} failed{where}" + (f": {why}" if why else ""))
    more = len(found) - SHOWN
    return "; ".join(said) + (f"; and {more} more" if more > 0 else "") + "."


def _message(test: str, gpus: Sequence[int], readings: Sequence[DiagReading]) -> str:
    """What DCGM says of a failure: of the GPUs that failed, else of the test."""
    messages = [row for row in readings if isinstance(row, DiagMessage) and row.test == test and row.kind != "Info"]
    ours = [row for row in messages if row.gpu in gpus] or messages
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in ours[0].text).split()) if ours else ""
    return text[:LONGEST_MESSAGE].rstrip(". ")


def _passes(results: Sequence[DiagResult]) -> str:
    """`7 tests passed; skipped: PCIe; warned: Environment Variables.`"""
    by_status = {
        status: list(_tests([row for row in results if row.status is status]))
        for status in (DiagStatus.PASS, DiagStatus.SKIP, DiagStatus.NOT_RUN, DiagStatus.WARN)
    }
    said = [f"{len(by_status[DiagStatus.PASS])} tests passed"]
    skipped = [*by_status[DiagStatus.SKIP], *by_status[DiagStatus.NOT_RUN]]
    said += [f"skipped: {', '.join(skipped)}"] if skipped else []
    said += [f"warned: {', '.join(by_status[DiagStatus.WARN])}"] if by_status[DiagStatus.WARN] else []
    return "; ".join(said) + "."


def _version(readings: Sequence[DiagReading]) -> str:
    found = {row.name: row.value for row in readings if isinstance(row, DiagMetadata)}
    version, driver = found.get("DCGM Version", ""), found.get("Driver Version Detected", "")
    return (f", DCGM {version}" if version else "") + (f", driver {driver}" if driver else "")


DCGM_PROBES = (
    DcgmDiag(1, "DCGM diagnostic, software checks", 15.0, "runs short checks on all GPUs", Disturbs.GPU),
    DcgmDiag(
        2,
        "DCGM diagnostic with PCIe and GPU memory",
        150.0,
        "loads all GPUs, their memory and their PCIe links",
        Disturbs.GPU | Disturbs.PCIE | Disturbs.HOST_MEMORY,
    ),
    DcgmDiag(
        3,
        "DCGM diagnostic with stress",
        900.0,
        "loads all GPUs, up to their power limit, their memory and links",
        Disturbs.GPU | Disturbs.NVLINK | Disturbs.PCIE | Disturbs.HOST_MEMORY | Disturbs.POWER,
    ),
)
