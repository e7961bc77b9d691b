"""Random incidents, cut anywhere: what comes back out of a case folder is what went in."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lanescope.evidence.case import Case, entries
from lanescope.incident.events import (
    ClockMeasured,
    DomainHung,
    Entry,
    Event,
    Fact,
    FactsRead,
    Field,
    FindingCleared,
    FindingRaised,
    LogRead,
    NodeState,
    NodeStateChanged,
    NoteWritten,
    SampleTaken,
    SchemaDeclared,
    SessionOpened,
    Ticked,
)
from lanescope.incident.findings import Confidence, Finding, Severity
from lanescope.incident.fold import Incident
from lanescope.incident.ids import NodeId, gpu_id
from lanescope.incident.snapshot import Snapshot, same

NODES = tuple(NodeId(name) for name in ("n01", "rack-2.node/3", "ŋ04"))
BEGIN = 1_790_000_000.0
TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
WHOLE = st.integers(-(2**60), 2**60).map(float)
READING = st.one_of(st.floats(width=64), WHOLE, st.decimals(-1000, 1000, places=3).map(float), st.just(float("nan")))

node = st.sampled_from(NODES)
domain = st.sampled_from(("nvml", "ib"))


@st.composite
def vectors(draw: st.DrawFn) -> np.ndarray:
    """Read-only values of up to five fields."""
    values = np.array(draw(st.lists(READING, max_size=5)), dtype=np.float64)
    values.flags.writeable = False
    return values


def finding(at: NodeId, evidence: str) -> Finding:
    """A finding on a GPU of a node."""
    return Finding(
        component=gpu_id(at, 0),
        fru="gpu-module",
        fault_class="gpu-off-bus",
        severity=Severity.CRITICAL,
        confidence=Confidence.LIKELY,
        title="the GPU is gone",
        evidence=(evidence,),
        rule="gpu_gone",
    )


EVENT = st.one_of(
    st.builds(
        lambda t, n, d, s, v: SampleTaken(t, n, d, s, v), st.just(0.0), node, domain, st.sampled_from("ab"), vectors()
    ),
    st.builds(Ticked, time=st.just(0.0)),
    st.builds(NodeStateChanged, time=st.just(0.0), node=node, state=st.sampled_from(NodeState), reason=TEXT),
    st.builds(LogRead, time=st.just(0.0), node=node, source=st.just("kmsg"), text=TEXT, node_time=st.none() | WHOLE),
    st.builds(NoteWritten, time=st.just(0.0), text=TEXT, by=TEXT),
    st.builds(ClockMeasured, time=st.just(0.0), node=node, offset=st.floats(-9, 9), uncertainty=st.floats(0, 1)),
    st.builds(
        DomainHung, time=st.just(0.0), node=node, domain=domain, seconds=st.floats(0, 9), process_state=TEXT, wchan=TEXT
    ),
    st.builds(
        SchemaDeclared,
        time=st.just(0.0),
        node=node,
        domain=domain,
        schema=st.sampled_from("ab"),
        fields=st.lists(st.builds(Field, component=node.map(lambda n: gpu_id(n, 1)), name=TEXT), max_size=5).map(tuple),
    ),
    st.builds(
        FactsRead,
        time=st.just(0.0),
        node=node,
        source=TEXT,
        facts=st.lists(
            st.builds(
                Fact,
                component=node.map(lambda n: gpu_id(n, 1)),
                key=TEXT,
                value=st.none() | st.booleans() | TEXT | st.integers(-(2**62), 2**62) | st.floats(-1e9, 1e9),
            ),
            max_size=4,
        ).map(tuple),
    ),
    st.builds(lambda n: FindingRaised(time=0.0, finding=finding(n, "J1")), node),
    st.builds(lambda n: FindingCleared(time=0.0, key=finding(n, "J1").key), node),
)


@st.composite
def incidents(draw: st.DrawFn, at_least: int = 0) -> list[Entry]:
    """Entries numbered as at intake, with times that mostly go on and sometimes jump."""
    events = draw(st.lists(EVENT, min_size=at_least, max_size=40))
    steps = draw(
        st.lists(st.sampled_from((0.0, 0.25, 1.0, 1.0, 59.5, -3.0)), min_size=len(events), max_size=len(events))
    )
    opened = SessionOpened(time=BEGIN, case="C1", version="0", hosts=NODES[:2], source="sim")
    made, counts, time = [Entry(1, "J1", opened)], dict.fromkeys(NODES, 0), BEGIN
    for seq, (event, step) in enumerate(zip(events, steps, strict=True), 2):
        time += step
        made.append(_numbered(seq, event, time, counts))
    return made


def _numbered(seq: int, event: Event, time: float, counts: dict[NodeId, int]) -> Entry:
    if isinstance(event, SampleTaken):
        counts[event.node] += 1
        moved = SampleTaken(time, event.node, event.domain, event.schema, event.values)
        return Entry(seq, f"{event.node}#{counts[event.node]}", moved)
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    return Entry(seq, f"J{seq}", type(event)(**{**fields, "time": time}))


few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def fold(log: list[Entry]) -> Snapshot:
    incident = Incident()
    for entry in log:
        incident.apply(entry)
    return incident.snapshot()


def alike(left: Entry, right: Entry) -> bool:
    """Equal to the bit, also where the values are NaN."""
    if (left.seq, left.id) != (right.seq, right.id):
        return False
    one, other = left.event, right.event
    if isinstance(one, SampleTaken) and isinstance(other, SampleTaken):
        heads = [(event.time, event.node, event.domain, event.schema) for event in (one, other)]
        return heads[0] == heads[1] and one.values.tobytes() == other.values.tobytes()
    return one == other


def write(folder: str, log: list[Entry], closed: bool = True) -> Path:
    case = Case.create(Path(folder), "c1")
    for entry in log:
        case.append(entry)
    if closed:
        case.close()
    else:
        case.cut().__exit__(None, None, None)
    return case.path


@few
@given(log=incidents(), closed=st.booleans())
def test_entries_come_back_exactly_as_appended_from_a_closed_and_from_an_open_case(log, closed):
    with tempfile.TemporaryDirectory() as folder:
        back = list(entries(write(folder, log, closed)))
    assert len(back) == len(log)
    assert all(alike(one, other) for one, other in zip(log, back, strict=True))


@few
@given(log=incidents())
def test_the_fold_of_journal_and_recording_is_the_live_snapshot(log):
    with tempfile.TemporaryDirectory() as folder:
        assert same(fold(list(entries(write(folder, log)))), fold(log))


@few
@given(log=incidents(at_least=5), closed=st.booleans(), data=st.data())
def test_a_file_cut_anywhere_costs_entries_but_never_changes_one_or_raises(log, closed, data):
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, log, closed)
        victims = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "case.json")
        victim = data.draw(st.sampled_from(victims))
        size = victim.stat().st_size
        os.truncate(victim, data.draw(st.integers(0, size)))
        damage: list[str] = []
        back = list(entries(path, damage))
    appended = {entry.seq: entry for entry in log}
    assert [entry.seq for entry in back] == sorted(entry.seq for entry in back)
    assert all(alike(entry, appended[entry.seq]) for entry in back)
    if victim.name == "journal.jsonl":
        kept = [entry.seq for entry in back if not isinstance(entry.event, SampleTaken)]
        written = [entry.seq for entry in log if not isinstance(entry.event, SampleTaken)]
        assert kept == written[: len(kept)], "the journal loses its end alone"
