"""The fold: events in, an immutable snapshot out."""

from __future__ import annotations

import numpy as np
from lanescope.incident.events import (
    DomainFailed,
    DomainHung,
    DomainResumed,
    Entry,
    Event,
    Fact,
    FactsRead,
    Field,
    FindingCleared,
    FindingRaised,
    NodeState,
    NodeStateChanged,
    SampleTaken,
    SchemaDeclared,
    SessionOpened,
    Ticked,
)
from lanescope.incident.findings import Confidence, Finding, Severity
from lanescope.incident.fold import HISTORY, Incident
from lanescope.incident.ids import ComponentId, NodeId, gpu_id
from lanescope.incident.snapshot import Snapshot, same

NODE = NodeId("n1")
GPU = gpu_id(NODE, 0)
FIELDS = (Field(GPU, "temperature_c"), Field(GPU, "power_w"))


def folded(*events: Event) -> Snapshot:
    incident = Incident()
    for seq, event in enumerate(events, 1):
        incident.apply(Entry(seq, f"J{seq}", event))
    return incident.snapshot()


def sample(time: float, *values: float, schema: str = "s1") -> SampleTaken:
    return SampleTaken(time=time, node=NODE, domain="nvml", schema=schema, values=np.array(values))


def schema(time: float, name: str = "s1") -> SchemaDeclared:
    return SchemaDeclared(time=time, node=NODE, domain="nvml", schema=name, fields=FIELDS)


def test_hosts_stand_in_the_snapshot_before_they_answer() -> None:
    opened = SessionOpened(time=1, case="c", version="0", hosts=(NODE,), source="ssh")
    view = folded(opened).nodes[NODE]
    assert view.state is NodeState.IDLE
    assert view.last_heard == 0


def test_the_newest_value_and_the_history_of_a_reading() -> None:
    snapshot = folded(schema(1), sample(2, 50, 300), sample(3, 51, 310))
    assert snapshot.nodes[NODE].value(GPU, "temperature_c") == 51
    assert list(snapshot.nodes[NODE].series["nvml"].history(GPU, "power_w")) == [300, 310]


def test_a_reading_nobody_declared_is_missing_and_never_zero() -> None:
    snapshot = folded(schema(1), sample(2, 50, 300))
    assert np.isnan(snapshot.nodes[NODE].value(GPU, "utilization_pct"))
    assert snapshot.nodes[NODE].series["nvml"].history(GPU, "utilization_pct").size == 0


def test_only_the_last_two_minutes_of_samples_are_held_but_the_first_stays_as_baseline() -> None:
    samples = [sample(2 + i, i, 0) for i in range(HISTORY + 10)]
    series = folded(schema(1), *samples).nodes[NODE].series["nvml"]
    assert len(series.samples) == HISTORY
    assert series.first[0] == 0
    assert series.samples[0][0] == 10


def test_a_new_schema_begins_a_new_series_and_counts_the_reset() -> None:
    series = (
        folded(schema(1), sample(2, 1, 1), schema(3, "s2"), sample(4, 9, 9, schema="s2")).nodes[NODE].series["nvml"]
    )
    assert (series.schema, series.resets, len(series.samples)) == ("s2", 1, 1)


def test_a_sample_of_an_unknown_schema_changes_nothing() -> None:
    before = folded(schema(1), sample(2, 1, 1))
    after = folded(schema(1), sample(2, 1, 1), sample(3, 9, 9, schema="other"))
    assert same(before.nodes, after.nodes)


def test_the_passing_of_time_makes_a_silent_node_stale() -> None:
    events = (schema(1), sample(2, 1, 1))
    assert not folded(*events, Ticked(time=4)).is_stale(NODE)
    assert folded(*events, Ticked(time=6)).is_stale(NODE)


def test_facts_replace_those_of_the_same_part_and_key_and_leave_the_others() -> None:
    first = FactsRead(time=1, node=NODE, source="nvml", facts=(Fact(GPU, "serial", "1"), Fact(GPU, "name", "H100")))
    second = FactsRead(time=2, node=NODE, source="nvml", facts=(Fact(GPU, "serial", "2"),))
    view = folded(first, second).nodes[NODE]
    assert (view.fact(GPU, "serial"), view.fact(GPU, "name")) == ("2", "H100")


def test_a_hung_domain_is_shown_until_it_resumes() -> None:
    hung = DomainHung(time=10, node=NODE, domain="nvml", seconds=3, process_state="D", wchan="rm_ioctl")
    assert folded(hung).nodes[NODE].hung[0].since == 7
    assert folded(hung, DomainResumed(time=11, node=NODE, domain="nvml")).nodes[NODE].hung == ()


def test_a_domain_that_can_not_be_read_says_why() -> None:
    failed = DomainFailed(time=1, node=NODE, domain="kmsg", reason="permission denied")
    assert folded(failed).nodes[NODE].unreadable == {"kmsg": "permission denied"}


def test_findings_stand_worst_first_until_cleared() -> None:
    def raised(name: str, severity: Severity) -> FindingRaised:
        finding = Finding(
            component=ComponentId(f"n1/{name}"),
            fru="none",
            fault_class="unknown",
            severity=severity,
            confidence=Confidence.POSSIBLE,
            title=name,
            evidence=("J1",),
            rule="r",
        )
        return FindingRaised(time=1, finding=finding)

    events = (raised("gpu1", Severity.WARNING), raised("gpu2", Severity.CRITICAL))
    assert [finding.title for finding in folded(*events).findings] == ["gpu2", "gpu1"]
    cleared = FindingCleared(time=2, key=events[1].finding.key)
    assert [finding.title for finding in folded(*events, cleared).findings] == ["gpu1"]


def test_a_snapshot_does_not_change_when_the_incident_goes_on() -> None:
    incident = Incident()
    incident.apply(Entry(1, "J1", schema(1)))
    incident.apply(Entry(2, "n1#1", sample(2, 1, 1)))
    before = incident.snapshot()
    incident.apply(Entry(3, "n1#2", sample(3, 2, 2)))
    incident.apply(Entry(4, "J2", NodeStateChanged(time=4, node=NODE, state=NodeState.LOST, reason="no answer")))
    assert before.nodes[NODE].value(GPU, "power_w") == 1
    assert before.nodes[NODE].state is NodeState.IDLE


def test_time_never_runs_backwards_in_a_snapshot() -> None:
    assert folded(Ticked(time=10), Ticked(time=8)).now == 10
