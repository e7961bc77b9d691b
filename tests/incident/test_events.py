"""Journal events survive their line of JSON."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.events import (
    AnyJournalEvent,
    Blob,
    CommandEnded,
    CounterMove,
    Fact,
    FactsRead,
    LogRead,
    NodeState,
    NodeStateChanged,
    Trial,
    TrialEnded,
    decode_event,
    encode_event,
)
from lanescope.incident.ids import ComponentId, NodeId, gpu_id

times = st.floats(0, 4e9, allow_nan=False)
texts = st.text(max_size=40)
nodes = texts.filter(bool).map(NodeId)
numbers = st.floats(allow_nan=False, allow_infinity=False)

events = st.one_of(
    st.builds(NodeStateChanged, time=times, node=nodes, state=st.sampled_from(NodeState), reason=texts),
    st.builds(LogRead, time=times, node=nodes, source=texts, text=texts, node_time=st.none() | times),
    st.builds(
        FactsRead,
        time=times,
        node=nodes,
        source=texts,
        facts=st.lists(
            st.builds(Fact, nodes.map(ComponentId), texts, st.none() | texts | st.booleans() | st.integers(-9, 9)),
            max_size=4,
        ).map(tuple),
    ),
    st.builds(
        CommandEnded,
        time=times,
        node=nodes,
        argv=st.lists(texts, max_size=3).map(tuple),
        exit_status=st.none() | st.integers(0, 255),
        stdout=st.builds(Blob, texts, st.integers(0, 9)),
        stderr=st.builds(Blob, texts, st.integers(0, 9)),
        started=times,
        ended=times,
    ),
)


@settings(max_examples=60, deadline=None)
@given(event=events)
def test_every_event_reads_back_as_it_was_written(event: AnyJournalEvent) -> None:
    line = encode_event(event)
    assert b"\n" not in line
    assert decode_event(line) == event


def test_component_ids_come_back_as_component_ids() -> None:
    gpu = gpu_id("n1", 3)
    trial = Trial(id="R1T1", probe="h2d", node=NodeId("n1"), targets=(gpu,), seconds=1.0)
    move = CounterMove(component=gpu / "pcie", counter="replays", before=1.0, after=2.0)
    event = TrialEnded(time=1.0, trial=trial, round=1, windows=(55.0,), moves=(move,), started=0.0, ended=1.0)
    back = decode_event(encode_event(event))
    assert isinstance(back, TrialEnded)
    assert back.trial.targets[0].kind == "gpu"
    assert back.moves[0].component.parent == gpu


def test_a_line_that_is_no_event_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_event(b'{"event":"Exploded","time":1}')


def test_a_falling_counter_is_a_reset_and_counts_from_zero() -> None:
    move = CounterMove(component=ComponentId("n1/gpu0/nvlink1"), counter="recovery_errors", before=900.0, after=3.0)
    assert move.step == 3.0
