"""perftest's tools: their words, the two sides of a run, and the reading of what either side prints.

A run of a given duration is timed over its middle half, and gives one average. Sources: linux-rdma/perftest
perftest_parameters.c for the options; with `-D` below 4 its margin would be 0 seconds, and it would never end.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..incident.errors import ProbeError
from ..incident.events import Trial
from ..incident.ids import ComponentId, NodeId
from ..incident.source import Task, TaskOutput
from ..parsers.bandwidth.perftest import RdmaBandwidth, RdmaFailure, RdmaLatency, RdmaRun, parse_perftest
from ..topology.fabric import Fabric
from .probe import Measured
from .rdma_ways import nic_of
from .tool_output import PROGRAM, ToolOutput, addresses, check_words, nic_moves, no_result, tool_output

PACKAGE = "perftest"
SECONDS = 4
MESSAGE_BYTES = 8 << 20
LATENCY_BYTES = 8
LATENCY_ITERATIONS = 20_000
FIRST_PORT, PORTS = 18_515, 4_000
"""Of TCP, for the two sides to find each other; 18515 is perftest's own."""
LOOPBACK = "127.0.0.1"


class Memory(StrEnum):
    """Whose memory is sent from and into."""

    HOST = "host memory"
    GPU = "GPU memory"
    """By nvidia_peermem."""
    GPU_DMABUF = "GPU memory by DMA-BUF"


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is set up; None: as perftest chooses."""

    gid_index: int | None = None
    traffic_class: int | None = None
    queue_pairs: int | None = None
    both_ways: bool = False
    memory: Memory = Memory.HOST

    def words(self) -> list[str]:
        """The options in perftest's words; the GPU's are `gpu_words`."""
        said = [] if self.gid_index is None else ["-x", str(self.gid_index)]
        said += [] if self.traffic_class is None else [f"--tclass={self.traffic_class}"]
        said += [] if self.queue_pairs is None else ["-q", str(self.queue_pairs)]
        return [*said, "-b"] if self.both_ways else said

    def gpu_words(self, address: str) -> list[str]:
        """How the GPU whose memory is used is named."""
        if self.memory is Memory.HOST:
            return []
        return [f"--use_cuda_bus_id={address}", *(["--use_cuda_dmabuf"] if self.memory is Memory.GPU_DMABUF else [])]


def bandwidth_words(tool: str) -> list[str]:
    """What every bandwidth run has in common."""
    return [tool, "-F", "--report_gbits", "-s", str(MESSAGE_BYTES), "-D", str(SECONDS)]


def latency_words(tool: str) -> list[str]:
    """What every latency run has in common."""
    return [tool, "-F", "-s", str(LATENCY_BYTES), "-n", str(LATENCY_ITERATIONS)]


@dataclass(frozen=True, slots=True)
class End:
    """One end of a run."""

    nic: ComponentId
    gpu: ComponentId | None = None
    """Whose memory is used; None for host memory."""


def end_at(fabric: Fabric, target: ComponentId) -> End:
    """The end that a target stands for: a NIC with host memory, or a GPU's memory with the GPU's own NIC.

    Raises ProbeError for a GPU whose NIC is not known."""
    nic = nic_of(fabric, target)
    if nic is None:
        raise ProbeError(f"{target} can't be probed: no NIC of {target.node} is known; read the node's facts again")
    return End(nic) if nic == target else End(nic, target)


def two_sides(
    trial: Trial, fabric: Fabric, words: Sequence[str], options: Options, ends: tuple[End, End]
) -> tuple[tuple[NodeId, Task], ...]:
    """The server at the second end and the client at the first, which writes to it (or reads from it); one trial.

    Raises ProbeError for a GPU whose bus address is not known."""
    source, destination = ends
    port = FIRST_PORT + zlib.crc32(trial.id.encode()) % PORTS
    sides: list[tuple[NodeId, Task]] = []
    for side, end in (("server", destination), ("client", source)):
        node = end.nic.node
        arguments: dict[str, Any] = {
            "argv": [
                *words,
                "-d",
                end.nic.name,
                "-p",
                str(port),
                *options.words(),
                *_memory_words(fabric, end, options),
            ],
            "package": PACKAGE,
            "gpus": addresses(fabric, node),
            "counters": [end.nic.name],
            "rendezvous": side,
            "port": port,
        }
        if side == "client" and node == destination.nic.node:
            arguments["server"] = LOOPBACK
        sides.append((node, Task(f"{trial.id}.{side}", PROGRAM, arguments, joint=trial.id)))
    return tuple(sides)


def _memory_words(fabric: Fabric, end: End, options: Options) -> list[str]:
    if end.gpu is None:
        return []
    address = fabric.bus_address(end.gpu)
    if address is None:
        raise ProbeError(f"{end.gpu} can't be probed: its PCI bus address is not known; read the node's facts again")
    return options.gpu_words(address)


def read_bandwidth(outputs: Sequence[TaskOutput], trial: Trial, counted: Sequence[ComponentId]) -> Measured:
    """The average of the largest message, GB/s: of the client, else of the server. Raises Unparsable, NotTested."""
    sides = _sides(outputs, trial)
    for _, ran in reversed(sides):
        rows = [row for row in parse_perftest(ran.out).readings if isinstance(row, RdmaBandwidth)]
        rated = [row for row in rows if row.gbps is not None and row.gbps > 0]
        if rated:
            best = max(rated, key=lambda row: row.size)
            assert best.gbps is not None
            said = f"{tool_of(ran)} of {PACKAGE}, the average of its run: one window"
            return Measured((best.gbps / 8,), nic_moves(sides, counted), said, detail=_detail(ran))
    raise _failure(sides, trial)


def read_latency(outputs: Sequence[TaskOutput], trial: Trial, counted: Sequence[ComponentId]) -> Measured:
    """The typical time of one write, microseconds, as the client took it. Raises Unparsable, NotTested."""
    sides = _sides(outputs, trial)
    for _, ran in reversed(sides):
        for row in parse_perftest(ran.out).readings:
            typical = (row.typical or row.average) if isinstance(row, RdmaLatency) else None
            if isinstance(row, RdmaLatency) and typical is not None and typical > 0:
                said = f"{tool_of(ran)} of {PACKAGE}, the typical time of {row.iterations} writes: one window"
                detail = f"{_detail(ran)} {_spread(row)}".strip()
                return Measured((typical,), nic_moves(sides, counted), said, detail=detail)
    raise _failure(sides, trial)


def tool_of(ran: ToolOutput) -> str:
    """Its name, as the node ran it."""
    return ran.path.rpartition("/")[2] or "a tool"


def _sides(outputs: Sequence[TaskOutput], trial: Trial) -> list[tuple[NodeId, ToolOutput]]:
    """Server and client with their nodes, in this order."""
    nodes = (trial.targets[-1].node, trial.targets[0].node)
    return [(node, tool_output(output)) for node, output in zip(nodes, outputs, strict=False)]


def _failure(sides: Sequence[tuple[NodeId, ToolOutput]], trial: Trial) -> ProbeError:
    """Why there is no result; raises NotTested where a build of the tool can't do what was asked."""
    for _, ran in sides:
        check_words(ran, trial, tool_of(ran), "; GPU memory needs a perftest that was built with CUDA")
    for _, ran in reversed(sides):
        if said := [row.text for row in parse_perftest(ran.out + ran.err).readings if isinstance(row, RdmaFailure)]:
            return no_result(ToolOutput(ran.path, said[0], "", ran.status, 0, ()), trial, tool_of(ran))
    return no_result(sides[-1][1], trial, tool_of(sides[-1][1])) if sides else ProbeError(f"{trial.id} gave no answer")


def _detail(ran: ToolOutput) -> str:
    """`MTU 4096, InfiniBand, GID index 3, 1 queue pair.` as far as the tool says so."""
    run = next((row for row in parse_perftest(ran.out).readings if isinstance(row, RdmaRun)), None)
    if run is None:
        return ""
    said = [f"MTU {run.mtu}"] if run.mtu else []
    said += [{"IB": "InfiniBand", "Ethernet": "RoCE"}.get(run.link, run.link)] if run.link else []
    said += [f"GID index {run.gid_index}"] if run.gid_index is not None else []
    said += [f"{run.qps} queue pair{'s' if run.qps > 1 else ''}"] if run.qps else []
    return f"{', '.join(said)}." if said else ""


def _spread(row: RdmaLatency) -> str:
    said = [
        f"{name} {value:g} us"
        for name, value in (("lowest", row.minimum), ("99 % below", row.p99), ("highest", row.maximum))
        if value is not None
    ]
    return f"{', '.join(said).capitalize()}." if said else ""
