"""The probes that check GPUs, copies and memory, run as rounds against a simulated node over SSH."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lanescope.fleet.source import SshSource
from lanescope.incident.events import NodeState, NodeStateChanged, Trial, TrialEnded
from lanescope.incident.ids import NodeId
from lanescope.incident.platforms import platform
from lanescope.probes.catalogue import CATALOGUE
from lanescope.probes.probe import Measure
from lanescope.probes.run import run_round
from lanescope.sim.fleet import SimFleet
from lanescope.sim.scenario import load_scenario
from lanescope.topology.sources.platform import fabric_of

NODE = NodeId("sim1")
SCENARIO = """
platform = "h100_hgx"
nodes = 1
speed = 50.0
[world]
tenants = 0.0
herrings = 0.0
outliers = 0.0
"""


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[SshSource]:
    (tmp_path / "one.toml").write_text(SCENARIO)
    async with SimFleet(load_scenario(tmp_path / "one.toml")) as fleet:
        own = fleet.directory / "own_known_hosts"
        source = SshSource([NODE], ssh_config=fleet.ssh_config, known_hosts=fleet.known_hosts, own_known_hosts=own)
        live = asyncio.Event()
        following = asyncio.create_task(follow(source, live))
        try:
            await asyncio.wait_for(live.wait(), 30)
            yield source
        finally:
            await source.close()
            await asyncio.wait_for(following, 10)


async def follow(source: SshSource, live: asyncio.Event) -> None:
    async for item in source.events():
        if isinstance(item, NodeStateChanged) and item.state is NodeState.LIVE:
            live.set()


async def test_each_checking_probe_finds_a_healthy_node_good(source: SshSource) -> None:
    fabric = fabric_of([NODE], platform("h100_hgx"))
    ended: dict[str, TrialEnded] = {}
    for number, name in enumerate(
        ("bidir", "h2d_group", "h2d_verify", "p2p_verify", "memory_check", "checksum", "power_load")
    ):
        probe = CATALOGUE[name]
        trial = Trial(
            id=f"R{number}T1", probe=name, node=NODE, targets=probe.targets(fabric, NODE)[0], seconds=probe.seconds
        )
        (ended[name],) = await run_round(source, fabric, [trial], number, time.time)
    assert {name: trial.error for name, trial in ended.items()} == dict.fromkeys(ended, "")
    checks = {name: trial.check for name, trial in ended.items() if CATALOGUE[name].measure is Measure.CHECK}
    assert checks == dict.fromkeys(checks, "good")
    assert len(ended["h2d_group"].windows) == 16
    assert ended["bidir"].detail == "its PCIe link ran at 32.0 GT/s x16 while loaded"
    assert {move.counter for move in ended["memory_check"].moves} >= {"ecc_corrected", "remapped_uncorrectable"}
    assert " W of 700 W" in ended["power_load"].detail
