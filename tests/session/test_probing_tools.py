"""Probes that drive tools, run on simulated nodes over SSH: from a person's word to the tool and back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lanescope.evidence.case import Case
from lanescope.fleet.source import SshSource
from lanescope.probes.catalogue import probe_named
from lanescope.session.probe_targets import aimed_at
from lanescope.session.probing import Aimed, Judgement, Outcome, run_probe
from lanescope.session.session import Session, running
from lanescope.sim.fleet import SimFleet
from lanescope.sim.scenario import load_scenario

from .worlds import ready

SCENARIO = """
platform = "h100_hgx"
nodes = 2
speed = 200.0
[world]
tenants = 0.0
noise = 0.005
outliers = 0.0
[[fault]]
component = "sim1/gpu2/pcie"
kind = "degraded"
width = 8
"""

RUNS = {
    ("rdma_loopback", "sim1/mlx5_0"): Judgement.GOOD,
    ("rdma_write@gid=3,tc=106", "sim1/mlx5_0,sim2/mlx5_0"): Judgement.GOOD,
    ("rdma_read", "sim2/mlx5_0,sim1/mlx5_0"): Judgement.GOOD,
    ("rdma_write_both", "sim1/mlx5_0,sim2/mlx5_0"): Judgement.GOOD,
    ("rdma_write_gpu", "sim1/gpu0,sim2/gpu0"): Judgement.GOOD,
    ("rdma_latency", "sim1/mlx5_0,sim2/mlx5_0"): Judgement.MEASURED,
    ("gpu_nic", "sim1/gpu0,sim1/mlx5_0"): Judgement.GOOD,
    ("gpu_nic", "sim1/gpu2,sim1/mlx5_4"): Judgement.SLOW,
    ("nvbandwidth_h2d", "sim1"): Judgement.SLOW,
    ("nvbandwidth_h2d", "sim2"): Judgement.GOOD,
    ("nccl_tests_allreduce", "sim2"): Judgement.GOOD,
    ("dcgm_diag_1", "sim1"): Judgement.GOOD,
    ("dcgm_diag_2", "sim1"): Judgement.WRONG,
    ("fabric_state", "sim2"): Judgement.GOOD,
}
"""Probe and `--at` -> what comes out."""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Outcome]:
    """All of RUNS, in one session."""
    return asyncio.run(measured(tmp_path_factory.mktemp("tools")))


async def measured(folder: Path) -> dict[tuple[str, str], Outcome]:
    (folder / "s.toml").write_text(SCENARIO, "utf-8")
    found: dict[tuple[str, str], Outcome] = {}
    async with SimFleet(load_scenario(folder / "s.toml")) as fleet:
        own = folder / "own_known_hosts"
        source = SshSource(
            ["sim1", "sim2"], ssh_config=fleet.ssh_config, known_hosts=fleet.known_hosts, own_known_hosts=own
        )
        session = Session(source, Case.create(folder, "c1"))
        async with running(session):
            await ready(session)
            assert await session.until(lambda _: all(session.fabric().nics(node) for node in source.nodes), 20)
            for name, at in RUNS:
                probe, fabric = probe_named(name), session.fabric()
                targets = aimed_at(fabric, probe, source.nodes, at)
                aimed = Aimed(probe, targets, probe.expected(fabric, targets))
                found[name, at] = await run_probe(session, aimed, 1, lambda _: None)
    return found


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run[0]} at {run[1].replace('/', '-')}")
def test_the_tool_is_run_where_it_was_aimed_and_what_it_says_is_judged(
    outcomes: dict[tuple[str, str], Outcome], run: tuple[str, str]
) -> None:
    (ended,) = outcomes[run].runs
    assert ended.trial.error == ""
    assert ended.trial.measured_by
    assert outcomes[run].judgement is RUNS[run], ended.trial
