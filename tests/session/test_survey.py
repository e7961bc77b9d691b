"""A survey asks live nodes for what rules judge by, keeps the answers, and lets the rules read them."""

from __future__ import annotations

import math

from lanescope.evidence.case import Case
from lanescope.incident.source import CommandOutput
from lanescope.session.session import Session, running
from lanescope.session.survey import SURVEY
from lanescope.sim.scenario import load_scenario
from lanescope.sim.source import WorldSource
from lanescope.sim.world import World

SCENARIO = """
platform = "h100_hgx"
nodes = 2
seed = 1
"""
KILLED = (
    "x nvidia-fabricmanager.service - NVIDIA fabric manager service\n"
    "     Active: failed (Result: signal) since Tue 10:00:00 UTC; 2 days ago\n"
)


class Asked(WorldSource):
    """Nodes whose first one has no fabric manager any more; what else is asked, they lack."""

    def __init__(self, world):
        super().__init__(world, pace=math.inf)
        self.asked = []

    async def run_command(self, node, argv, deadline):
        self.asked.append((str(node), tuple(argv)))
        is_killed = argv[0] == "systemctl" and node == self.nodes[0]
        text = KILLED.encode() if is_killed else b""
        return CommandOutput(node, tuple(argv), 0 if is_killed else 127, text, b"", 1.0, 2.0)


async def test_settings_of_live_nodes_become_findings_with_their_outputs_as_evidence(tmp_path):
    path = tmp_path / "it.toml"
    path.write_text(SCENARIO)
    source = Asked(World(load_scenario(path)))
    session = Session(source, Case.create(tmp_path / "cases"))
    async with running(session):
        assert await session.until(lambda seen: seen.up() == 2, 20.0)
        told = []
        assert await session.survey(told.append) == 2
        assert await session.until(lambda seen: any("fm-not-running" in one.fault_class for one in seen.findings), 10.0)
        snapshot = session.snapshot()
    (found,) = [one for one in snapshot.findings if one.fault_class == "nvlink-fabric/fm-not-running"]
    assert found.component.node == source.nodes[0]
    commands = dict(snapshot.commands)
    assert all(commands[id_].argv[0] == "systemctl" for id_ in found.evidence)
    assert sorted(source.asked) == sorted((str(node), argv) for node in source.nodes for argv in SURVEY)
    assert told[-1] == "asked 2 of 2 nodes"
