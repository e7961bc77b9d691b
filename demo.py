"""The demo: a simulated fleet with declared faults, walked with or without a screen, judged by what was declared."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from .evidence.verify import Verification, verify
from .fleet.source import SshSource
from .incident.errors import NodeError
from .incident.events import NodeState
from .incident.ids import ComponentId, NodeId
from .incident.snapshot import Snapshot
from .incident.source import CommandOutput, Intake, Task, TaskOutput
from .session.headless import localize, settle
from .session.session import Session
from .sim.faults import Expectation
from .sim.fleet import READY_WITHIN, SimFleet
from .sim.scenario import Scenario, load_scenario

Progress = Callable[[str], None]


class DemoFleet:
    """A simulated fleet that is served for one session, from its first look on: screens need not wait for it."""

    kind = "ssh"

    def __init__(self, scenario: Scenario) -> None:
        self.nodes = tuple(NodeId(name) for name in scenario.nodes)
        self._scenario = scenario
        self._served = contextlib.AsyncExitStack()
        self._source: SshSource | None = None

    async def events(self) -> AsyncIterator[Intake]:
        """Serve the fleet, then follow it over SSH."""
        fleet = await self._served.enter_async_context(SimFleet(self._scenario))
        self._source = SshSource(fleet.hosts, ssh_config=fleet.ssh_config, known_hosts=fleet.known_hosts)
        async for item in self._source.events():
            yield item

    async def run_command(self, node: NodeId, argv: Sequence[str], deadline: float) -> CommandOutput:
        """On the node, as soon as there is one."""
        return await self._up().run_command(node, argv, deadline)

    async def run_tasks(self, node: NodeId, tasks: Sequence[Task], deadline: float) -> tuple[TaskOutput, ...]:
        """On the node, as soon as there is one."""
        return await self._up().run_tasks(node, tasks, deadline)

    async def run_joint(
        self, tasks: Mapping[NodeId, Sequence[Task]], deadline: float
    ) -> Mapping[NodeId, tuple[TaskOutput, ...]]:
        """On several nodes, as soon as there are some."""
        return await self._up().run_joint(tasks, deadline)

    async def close(self) -> None:
        """End what runs on the nodes, then the nodes."""
        if self._source is not None:
            await self._source.close()
        await self._served.aclose()

    def _up(self) -> SshSource:
        if self._source is None:
            raise NodeError("the simulated fleet is still coming up; wait until its nodes are live")
        return self._source


def demo_scenario() -> Scenario:
    """Eight nodes with one intermittent NVLink lane, one NIC at half width, one GPU off the bus."""
    return load_scenario(Path(str(files("lanescope.sim.scenarios") / "demo.toml")))


@dataclass(frozen=True)
class Judgement:
    """What was named against what the scenario declares."""

    named: tuple[Expectation, ...]
    missed: tuple[Expectation, ...]
    surplus: tuple[tuple[ComponentId, str], ...]
    """Innocent parts that were called faulty, with the class they were called."""

    @property
    def is_right(self) -> bool:
        """Every declared fault and no other was named."""
        return not self.missed and not self.surplus

    def sentence(self) -> str:
        """The judgement, to be read out."""
        if self.is_right:
            return f"all {len(self.named)} declared faults were named, and nothing else"
        parts = [f"missed: {one.component} ({one.fault_class})" for one in self.missed]
        parts += [f"wrongly named: {component} ({word})" for component, word in self.surplus]
        return "; ".join(parts)


def judge_demo(snapshot: Snapshot, expected: tuple[Expectation, ...]) -> Judgement:
    """Compare verdicts and standing fault findings with the declared faults."""
    found = [(finding.component, finding.fault_class) for finding in snapshot.findings if finding.is_fault]
    verdicts = (
        [] if snapshot.verdict is None else [(one.component, one.fault_class) for one in snapshot.verdict.verdicts]
    )

    def is_named(one: Expectation) -> bool:
        claims = verdicts if one.how == "localize" else [*found, *verdicts]
        return any(one.met_by(*claim) for claim in claims)

    def is_declared(claim: tuple[ComponentId, str]) -> bool:
        return any(one.component == claim[0] for one in expected)

    return Judgement(
        named=tuple(one for one in expected if is_named(one)),
        missed=tuple(one for one in expected if not is_named(one)),
        surplus=tuple(claim for claim in (*found, *verdicts) if not is_declared(claim)),
    )


async def walk(session: Session, out: Path | None, progress: Progress) -> tuple[Path, Verification]:
    """Settle, localize over all nodes, write the bundle and verify it."""
    await session.until(_is_reachable, READY_WITHIN)
    await settle(session, progress)
    await localize(session, session.source.nodes, None, progress)
    written = await session.bundle(out, progress=progress)
    path = Path(written.path)
    return path, verify(path)


def _is_reachable(snapshot: Snapshot) -> bool:
    """Whether the first nodes of a fleet that is coming up were spoken to."""
    return any(view.state is not NodeState.IDLE for view in snapshot.nodes.values())


def hint(snapshot: Snapshot) -> str:
    """The next step for a newcomer on the fleet screen, from the fleet to the verdict to the bundle."""
    if snapshot.bundle:
        return f"Done: q leaves. Anyone can check the bundle: lanescope verify {snapshot.bundle}"
    if snapshot.verdict is not None and snapshot.verdict.outcome == "localized":
        return "There is a verdict: s shows why it convicts. Then press b to write the evidence bundle."
    if snapshot.verdict is not None:
        return "Probing ended without a verdict: press b to keep the evidence, or p to go on."
    if snapshot.rounds:
        return "Rounds of probes narrow the suspects: s shows them."
    if count := sum(finding.is_fault for finding in snapshot.findings):
        shown = "One fault shows" if count == 1 else f"{count} faults show"
        return f"{shown} below: n goes to the next, enter opens it. One more hides: p finds it, asking first."
    return "A simulated fleet of eight nodes is coming up; the first findings appear within seconds."
