"""Runs of installed tools as probes read them: made up, captured, aimed."""

from __future__ import annotations

from pathlib import Path

import pytest
from lanescope.incident.events import Trial
from lanescope.incident.ids import ComponentId, NodeId, host_id
from lanescope.incident.source import TaskOutput
from lanescope.probes.catalogue import probe_named

N0, N1 = NodeId("n0"), NodeId("n1")
DATA = Path(__file__).parents[1] / "data"
CAPTURES = Path(__file__).parents[3] / "shared" / "captures"
TOOLS = (
    *("rdma_loopback", "gpu_nic", "gpu_nic_dmabuf", "rdma_write", "rdma_write_both", "rdma_read", "rdma_write_gpu"),
    *("rdma_write_gpu_dmabuf", "rdma_latency", "nvbandwidth_p2p", "nvbandwidth_h2d", "nccl_tests_allreduce"),
    *("nccl_tests_sendrecv", "nccl_tests_alltoall", "dcgm_diag_1", "dcgm_diag_2", "dcgm_diag_3", "fabric_state"),
)
ENDS = {
    "rdma_loopback": ("n0/mlx5_4",),
    "gpu_nic": ("n0/gpu0", "n0/mlx5_0"),
    "gpu_nic_dmabuf": ("n0/gpu0", "n0/mlx5_0"),
    "rdma_write_gpu": ("n0/gpu0", "n1/gpu7"),
    "rdma_write_gpu_dmabuf": ("n0/gpu0", "n1/gpu7"),
    **dict.fromkeys(("rdma_write", "rdma_write_both", "rdma_read", "rdma_latency"), ("n0/mlx5_0", "n1/mlx5_0")),
}


def captured(name: str) -> str:
    found = CAPTURES / name
    if not found.is_file():
        pytest.skip(f"the shared capture {name} is not here")
    return found.read_text("utf-8", "replace")


def trial_of(name: str, *ends: str) -> Trial:
    targets = tuple(ComponentId(end) for end in ends or ENDS.get(name, (host_id(N0),)))
    return Trial(id="R1T1", probe=name, node=targets[0].node, targets=targets, seconds=1.0)


def ran(text: str = "", status: int | None = 0, err: str = "", rows=(), tool: str = "/usr/bin/ib_write_bw"):
    """What a run of a tool says, its output in pieces."""
    cut = len(text) // 2
    lines = [{"head": {"tool": tool, "argv": [tool]}}, {"out": text[:cut]}, {"out": text[cut:]}, {"err": err}]
    lines += [{"counters": list(rows)}] if rows else []
    lines += [{"exit": status}, {"end": "done", "seconds": 1.0}] if status is not None else []
    return TaskOutput("R1T1", tuple(lines), 100.0, 101.0, 1.0)


def read(hgx, name: str, *outputs: TaskOutput, ends: tuple[str, ...] = ()):
    return probe_named(name).read(outputs, trial_of(name, *ends), hgx)


def crossed(way):
    return {crossing.component for crossing in way}
