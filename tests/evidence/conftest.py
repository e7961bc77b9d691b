"""A small incident with everything a bundle holds: samples, logs, commands, facts, a finding, a belief, a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from lanescope.evidence.case import Case
from lanescope.incident.events import (
    BeliefUpdated,
    CommandEnded,
    Entry,
    Event,
    Fact,
    FactsRead,
    Field,
    FindingRaised,
    LogRead,
    NodeState,
    NodeStateChanged,
    SampleTaken,
    SchemaDeclared,
    SessionOpened,
    Ticked,
    Trial,
    TrialEnded,
    VerdictReached,
)
from lanescope.incident.findings import Confidence, CounterMove, Finding, Severity, Suspect, Verdict
from lanescope.incident.fold import Incident
from lanescope.incident.ids import ComponentId, NodeId, gpu_id, lane_id
from lanescope.incident.snapshot import Snapshot

BEGIN = 1_790_000_000.0
N1, N2, N3 = NodeId("n1"), NodeId("n/2 \x1b[2J"), NodeId("n3")
LANE = lane_id(gpu_id(N1, 3), 7)
GRAPH = {"platforms": {"n1": "h100_hgx"}, "parts": [{"id": str(LANE)}], "edges": []}


@dataclass
class SmallIncident:
    """A case being written, with the fold beside it."""

    case: Case
    incident: Incident
    begin: float = BEGIN
    lane: ComponentId = LANE
    node: NodeId = N1
    graph: dict[str, object] = field(default_factory=lambda: GRAPH)
    seq: int = 0
    samples: dict[NodeId, int] = field(default_factory=dict)

    def take(self, event: Event) -> str:
        self.seq += 1
        if isinstance(event, SampleTaken):
            number = self.samples[event.node] = self.samples.get(event.node, 0) + 1
            entry = Entry(self.seq, f"{event.node}#{number}", event)
        else:
            entry = Entry(self.seq, f"J{self.seq}", event)
        self.case.append(entry)
        self.incident.apply(entry)
        return entry.id

    def run(self, node: NodeId, argv: tuple[str, ...], stdout: bytes, **how: object) -> str:
        stderr = how.pop("stderr", b"")
        values = {"exit_status": 0, "started": BEGIN + 5, "ended": BEGIN + 5.5, **how}
        out, err = self.case.keep(stdout), self.case.keep(stderr)
        return self.take(CommandEnded(time=BEGIN + 6, node=node, argv=argv, stdout=out, stderr=err, **values))

    @property
    def snapshot(self) -> Snapshot:
        return self.incident.snapshot()


@pytest.fixture(scope="session")
def small_incident() -> Callable[[Path], SmallIncident]:
    """Make one in a folder; its case is open."""
    return _small_incident


def _small_incident(folder: Path, id_: str = "c1") -> SmallIncident:
    """Three nodes: one with all kinds of events, one with a hostile name and failing commands, one that refused."""
    made = SmallIncident(Case.create(folder, id_), Incident())
    made.take(SessionOpened(time=BEGIN, case=id_, version="0", hosts=(N1, N2, N3), source="sim"))
    made.take(NodeStateChanged(time=BEGIN, node=N1, state=NodeState.LIVE))
    made.take(NodeStateChanged(time=BEGIN, node=N2, state=NodeState.LIVE))
    made.take(NodeStateChanged(time=BEGIN, node=N3, state=NodeState.FAILED, reason="no such user", code="refused"))
    made.take(_facts())
    fields = (Field(LANE, "recovery_errors"), Field(LANE, "state"), Field(gpu_id(N1, 0), "power_w"))
    made.take(SchemaDeclared(time=BEGIN, node=N1, domain="nvml", schema="a", fields=fields))
    for second in range(70):
        values = np.array([float(second // 9), 1.0, 300.125 + second])
        made.take(SampleTaken(BEGIN + second, N1, "nvml", "a", values))
        made.take(SampleTaken(BEGIN + second, N2, "ib", "b", values[:1]))
        made.take(SampleTaken(BEGIN + second, N1, "ib", "b", values[:1]))
        made.take(Ticked(time=BEGIN + second))
    made.take(LogRead(time=BEGIN + 4, node=N1, source="kmsg", text="NVRM: Xid (PCI:0000:19:00): 79, pid=1"))
    made.run(N1, ("nvidia-smi", "topo", "-m"), b"GPU0 X NV18\n")
    _failing_commands(made)
    _conclusions(made)
    return made


def _facts() -> FactsRead:
    facts = (
        Fact(gpu_id(N1, 3), "serial", "1650123456789"),
        Fact(gpu_id(N1, 3), "vbios", "96.00.74"),
        Fact(gpu_id(N1, 3), "bus_address", "0000:19:00.0"),
    )
    return FactsRead(time=BEGIN, node=N1, source="nvml", facts=facts)


def _failing_commands(made: SmallIncident) -> None:
    made.run(N2, ("nvidia-smi", "-q"), b"", exit_status=None, why="no answer within its deadline of 20 s")
    made.run(N2, ("ibstat",), b"", exit_status=127, stderr=b"sh: ibstat: not found\n")
    made.run(N2, ("dmesg",), b"", exit_status=1, stderr=b"dmesg: read kernel buffer failed: Operation not permitted\n")
    made.run(N2, ("lspci", "-vvv"), b"x" * 5000, truncated=True)
    made.run(N2, ("lspci", "-vvv"), b"", exit_status=1, stderr=b"lspci: bad\n")


def _conclusions(made: SmallIncident) -> None:
    trial = Trial(id="R1T1", probe="p2p", node=N1, targets=(gpu_id(N1, 3), gpu_id(N1, 4)), seconds=0.5)
    move = CounterMove(component=LANE, counter="recovery_errors", before=3, after=9)
    ended = made.take(
        TrialEnded(
            time=BEGIN + 60,
            trial=trial,
            round=1,
            windows=(361.0, 310.5, 360.0),
            moves=(move,),
            started=BEGIN + 59,
            ended=BEGIN + 60,
            measured_by="cuda_copy 1",
        )
    )
    finding = Finding(
        component=LANE,
        fru="gpu-module",
        fault_class="nvlink-link/marginal",
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        title="recoveries rise",
        evidence=("n1#13", ended),
        rule="counters_rising",
    )
    made.take(FindingRaised(time=BEGIN + 61, finding=finding))
    suspect = Suspect(component=LANE, members=(LANE,), posterior=0.97)
    values = dict.fromkeys(("no_fault", "noise", "outliers", "burst"), 0.01)
    made.take(BeliefUpdated(time=BEGIN + 62, round=1, suspects=(suspect,), parts=144, probes=1, seconds=0.5, **values))
    verdict = Verdict(
        component=LANE,
        fru="gpu-module",
        fault_class="nvlink-link/marginal",
        alternatives=(),
        posterior=0.97,
        confidence=Confidence.LIKELY,
        duty=(0.03, 0.08),
        drop=(0.0, 0.0),
        by="counters",
        why=("it moved",),
        next="swap the module",
        evidence=(ended,),
    )
    made.take(
        VerdictReached(
            time=BEGIN + 63,
            outcome="localized",
            verdicts=(verdict,),
            excludes=(),
            untestable=(),
            reason="likely",
            rounds=1,
            probes=1,
            seconds=0.5,
        )
    )
