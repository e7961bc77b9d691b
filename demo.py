"""The demo: a simulated fleet with declared faults, walked with or without a screen, judged by what was declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from .evidence.verify import Verification, verify
from .incident.ids import ComponentId
from .incident.snapshot import Snapshot
from .session.headless import localize, settle
from .session.session import Session
from .sim.faults import Expectation
from .sim.scenario import Scenario, load_scenario

Progress = Callable[[str], None]


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
    await settle(session, progress)
    await localize(session, session.source.nodes, None, progress)
    written = await session.bundle(out, progress=progress)
    path = Path(written.path)
    return path, verify(path)


def hint(snapshot: Snapshot) -> str:
    """The next step for a newcomer, from the fleet to the verdict to the bundle."""
    if snapshot.bundle:
        return f"Done. Anyone can check it: lanescope verify {snapshot.bundle}"
    if snapshot.verdict is not None and snapshot.verdict.outcome == "localized":
        return (
            "A verdict: read why it convicts and what it can't tell apart, then press b to write the evidence bundle."
        )
    if snapshot.verdict is not None:
        return "Probing ended without a verdict: press b to keep the evidence, or p to go on."
    if snapshot.rounds:
        return (
            "Rounds of probes narrow the suspects; the cell's number is the belief in per cent. Wait for the verdict."
        )
    if snapshot.findings:
        return "Two faults already show below; one hides. Press p to localize it: you are asked before any probe runs."
    return "A simulated fleet of eight nodes is coming up; the first findings appear within seconds."
