"""A scenario gives the same verdict however its nodes are reached."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from lanescope.evidence.case import Case
from lanescope.fleet.source import SshSource
from lanescope.incident.events import VerdictReached
from lanescope.incident.ids import ComponentId
from lanescope.incident.source import Source
from lanescope.session.headless import localize
from lanescope.session.session import Session, running
from lanescope.sim.fleet import SimFleet
from lanescope.sim.scenario import Scenario, load_scenario
from lanescope.sim.source import WorldSource
from lanescope.sim.world import World

from .worlds import ready

LANE = ComponentId("sim3/gpu5/nvlink7")


async def verdict_of(source: Source, case: Path) -> VerdictReached:
    session = Session(source, Case.create(case.parent, case.name))
    async with running(session):
        await ready(session)
        assert await session.until(lambda _: session.fabric().far_end(LANE) is not None, 20)
        await localize(session, source.nodes, None, lambda _: None)
        reached = session.snapshot().verdict
    assert reached is not None
    return reached


def a_lane_that_often_recovers() -> Scenario:
    """The demo's first nodes, its lane bad so often that no verdict hangs on how long a launch takes."""
    demo = load_scenario(Path(str(files("lanescope.sim.scenarios") / "demo.toml")))
    (fault,) = (fault for fault in demo.faults if fault.component == LANE)
    return replace(demo, nodes=demo.nodes[:3], faults=(replace(fault, duty=0.3),), speed=20.0)


async def test_nodes_in_process_and_nodes_behind_ssh_give_the_same_verdict(tmp_path: Path) -> None:
    scenario = a_lane_that_often_recovers()
    async with SimFleet(scenario) as fleet:
        own = tmp_path / "own_known_hosts"
        ssh = SshSource([LANE.node], ssh_config=fleet.ssh_config, known_hosts=fleet.known_hosts, own_known_hosts=own)
        over_ssh = await verdict_of(ssh, tmp_path / "ssh")
    in_process = await verdict_of(WorldSource(World(scenario), nodes=[LANE.node]), tmp_path / "world")
    assert (over_ssh.outcome, in_process.outcome) == ("localized", "localized")
    (left,), (right,) = over_ssh.verdicts, in_process.verdicts
    assert left.component == right.component == LANE
    assert (left.fault_class, left.by, left.fru, left.drop) == (right.fault_class, right.by, right.fru, right.drop)
