"""From a collector's lines to events."""

from __future__ import annotations

import json
import math
import runpy
from pathlib import Path
from typing import Any

import lanescope
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.fleet.decode import Decoder, apply_delta, read_value
from lanescope.fleet.shell_decode import ShellDecoder
from lanescope.fleet.stream import LineFramer, LineTooLong
from lanescope.incident.events import (
    ClockMeasured,
    DomainFailed,
    DomainResumed,
    Event,
    LogRead,
    SampleTaken,
    SchemaDeclared,
)
from lanescope.incident.ids import NodeId

NODE = NodeId("n1")
NODE_PROGRAMS = Path(lanescope.__file__).parent / "fleet" / "node"
Deltas = runpy.run_path(str(NODE_PROGRAMS / "deltas.py"))["Deltas"]

readings = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from(["4: ACTIVE", "1: DOWN", ""])
vectors = st.integers(0, 12).flatmap(
    lambda width: st.lists(st.lists(readings, min_size=width, max_size=width), min_size=1)
)


def line(*frame: Any) -> bytes:
    return json.dumps(frame).encode()


def events_of(decoder: Decoder, lines: list[bytes]) -> list[Event]:
    return [event for one in lines for event in decoder.feed(one)]


def greeted(now: float = 1000.0) -> Decoder:
    decoder = Decoder(NODE, lambda: now)
    decoder.feed(line("H", {"protocol": 1}))
    return decoder


@given(vectors, st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_vectors_survive_the_coding_of_differences(vectors: list[list[Any]], key_every: int) -> None:
    deltas = Deltas(key_every)
    held: list[Any] = []
    for vector in vectors:
        kind, content = json.loads(json.dumps(deltas.frame(list(vector))))
        if kind == "K":
            held = content
        else:
            apply_delta(held, content)
        assert held == vector


@given(
    st.binary(max_size=300) | st.recursive(st.none() | st.integers() | st.text(max_size=9), st.lists).map(json.dumps)
)
@settings(max_examples=60, deadline=None)
def test_no_line_however_mangled_makes_the_decoder_raise(text: bytes | str) -> None:
    decoder = greeted()
    decoder.feed(line("S", "pci", "pci-1", [["gpu0/pcie", ["speed_gts"]]], {}))
    assert isinstance(decoder.feed(text if isinstance(text, bytes) else text.encode()), list)


@given(st.sampled_from("SHTFOLXREC"), st.lists(st.none() | st.integers() | st.text(max_size=5) | st.lists(st.none())))
@settings(max_examples=60, deadline=None)
def test_no_frame_however_misshapen_makes_the_decoder_raise(kind: str, rest: list[Any]) -> None:
    assert isinstance(greeted().feed(line(kind, *rest)), list)


def test_a_sample_is_one_vector_on_the_schema_declared_before() -> None:
    events = events_of(
        greeted(),
        [
            line(
                "S",
                "nvml",
                "nvml-1",
                [["gpu0", ["power_w", "temperature_c"]], ["gpu0/nvlink3", ["state"]]],
                {"power_w": 0.001},
            ),
            line("T", "nvml", "nvml-1", 900.0, "K", [72500, 41, 1]),
            line("T", "nvml", "nvml-1", 901.0, "D", [0, 500, 2, [None]]),
        ],
    )
    schema, first, second = events
    assert isinstance(schema, SchemaDeclared)
    assert isinstance(first, SampleTaken)
    assert isinstance(second, SampleTaken)
    assert [str(column.component) for column in schema.fields] == ["n1/gpu0", "n1/gpu0", "n1/gpu0/nvlink3"]
    assert np.array_equal(first.values, [72.5, 41.0, 1.0])
    assert np.array_equal(second.values, [73.0, 41.0, math.nan], equal_nan=True)
    assert not second.values.flags.writeable


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("port_state", "4: ACTIVE", 4.0),
        ("phys_state", "5: LinkUp", 5.0),
        ("rate_gbps", "400 Gb/sec (4X NDR)", 400.0),
        ("speed_gts", "32.0 GT/s PCIe", 32.0),
        ("aer_correctable", "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3", 3.0),
        ("current_width", 8, 8.0),
    ],
)
def test_texts_of_sysfs_become_numbers(name: str, text: object, value: float) -> None:
    assert read_value(name, text) == value


@pytest.mark.parametrize(
    ("name", "value"), [("speed_gts", "Unknown"), ("current_width", 63), ("symbol_error", "N/A"), ("x", None)]
)
def test_a_missing_counter_is_missing_and_never_zero(name: str, value: object) -> None:
    assert math.isnan(read_value(name, value))


def test_a_schema_that_comes_again_goes_on_under_its_name_and_another_gets_a_new_one() -> None:
    decoder = greeted()
    lines = [
        line("S", "ib", "ib-1", [["mlx5_0", ["symbol_error"]]], {}),
        line("S", "ib", "ib-2", [["mlx5_0", ["symbol_error"]]], {}),
        line("T", "ib", "ib-2", 1.0, "K", [1]),
        line("S", "ib", "ib-3", [["mlx5_1", ["symbol_error"]]], {}),
    ]
    first, sample, other = events_of(decoder, lines)
    assert sample.schema == first.schema != other.schema


def test_a_busy_tick_of_eight_gpus_is_at_most_12_kilobytes() -> None:
    deltas = Deltas(300)
    values = [0] * (8 * 147)
    deltas.frame(values)
    moved = [
        value + (21_000_000 + place if place % 147 >= 111 or place % 147 < 12 else 0)
        for place, value in enumerate(values)
    ]
    assert sum(old != new for old, new in zip(values, moved, strict=True)) == 8 * 48
    assert len(json.dumps(deltas.frame(moved)[1], separators=(",", ":"))) <= 12 * 1024


def test_noise_of_a_login_script_before_the_greeting_is_counted_and_passed_over() -> None:
    decoder = Decoder(NODE)
    events = events_of(decoder, [b"Welcome to gpu-001!", b'["T","ib","ib-1",1,"K",[]]', line("H", {})])
    assert (events, decoder.junk, decoder.greeting) == ([], 2, {})


def test_a_difference_that_does_not_fit_asks_for_a_key_frame_and_nothing_is_made_up_meanwhile() -> None:
    decoder = greeted()
    decoder.feed(line("S", "ib", "ib-1", [["mlx5_0", ["symbol_error", "link_downed"]]], {}))
    decoder.feed(line("T", "ib", "ib-1", 1.0, "K", [1, 1]))
    assert decoder.feed(line("T", "ib", "ib-1", 2.0, "D", [0, 1, 9, 1])) == []
    assert decoder.wants_key
    assert decoder.feed(line("T", "ib", "ib-1", 3.0, "D", [])) == []
    (sample,) = decoder.feed(line("T", "ib", "ib-1", 4.0, "K", [5, 6]))
    assert isinstance(sample, SampleTaken)
    assert sample.values.tolist() == [5.0, 6.0]


def test_the_clock_of_a_node_that_is_an_hour_ahead_is_measured_and_its_stamps_corrected() -> None:
    decoder = greeted(now=1000.0)
    decoder.ask_clock("1")
    (clock,) = decoder.feed(line("C", "1", 4600.0))
    assert isinstance(clock, ClockMeasured)
    assert clock.offset == pytest.approx(3600, abs=0.1)
    decoder.feed(line("S", "ib", "ib-1", [], {}))
    (sample,) = decoder.feed(line("T", "ib", "ib-1", 4598.5, "K", []))
    assert sample.time == pytest.approx(998.5, abs=0.1)


def test_a_node_whose_clock_jumps_is_stamped_by_arrival_until_it_is_measured_again() -> None:
    decoder = greeted(now=1000.0)
    decoder.ask_clock("1")
    decoder.feed(line("C", "1", 1000.0))
    decoder.feed(line("S", "ib", "ib-1", [], {}))
    (sample,) = decoder.feed(line("T", "ib", "ib-1", 4600.0, "K", []))
    assert sample.time == 1000.0


def test_a_domain_that_can_not_be_read_says_so_once_and_is_well_again_with_its_next_schema() -> None:
    decoder = greeted()
    (failed,) = decoder.feed(line("E", "nvml", "unreadable", "NVML: Driver Not Loaded"))
    assert isinstance(failed, DomainFailed)
    assert failed.reason == "NVML: Driver Not Loaded"
    assert decoder.feed(line("E", "nvml", "unreadable", "NVML: Driver Not Loaded")) == []
    resumed, _ = decoder.feed(line("S", "nvml", "nvml-1", [], {}))
    assert isinstance(resumed, DomainResumed)


def test_control_characters_of_a_node_reach_neither_ids_nor_reasons() -> None:
    decoder = greeted()
    assert decoder.feed(line("S", "ib", "ib-1", [["mlx5_0\x1b[2J", ["x"]]], {})) == []
    (failed,) = decoder.feed(line("E", "ib", "unreadable", "a\x1b[31mb"))
    assert isinstance(failed, DomainFailed)
    assert "\x1b" not in failed.reason


def test_a_log_line_is_kept_verbatim_with_the_time_the_node_gave_it() -> None:
    (log,) = greeted().feed(line("L", "kmsg", "4,1,2,-;NVRM: Xid (PCI:0000:19:00): 79", 123.5))
    assert isinstance(log, LogRead)
    assert (log.text, log.node_time) == ("4,1,2,-;NVRM: Xid (PCI:0000:19:00): 79", 123.5)


def test_polled_readings_of_a_node_without_python_become_the_same_samples() -> None:
    decoder = ShellDecoder(Decoder(NODE, lambda: 5.0))
    lines = [
        line("H", {"collector": "sh"}),
        b"P\tnvml\tgpu0\ttemperature_c\t41",
        b"P\tib\tmlx5_0\tport_state\t4: ACTIVE",
        b"P\ttick",
        b"P\tib\tmlx5_0\tport_state\t1: DOWN",
        b"P\ttick",
    ]
    samples = [event for one in lines for event in decoder.feed(one) if isinstance(event, SampleTaken)]
    assert [(sample.domain, sample.values.tolist()) for sample in samples] == [
        ("ib", [4.0]),
        ("nvml", [41.0]),
        ("ib", [1.0]),
    ]


@given(st.lists(st.binary(max_size=40)), st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_lines_come_out_whole_however_the_bytes_are_cut(lines: list[bytes], step: int) -> None:
    lines = [one.replace(b"\n", b"") for one in lines]
    data = b"".join(one + b"\n" for one in lines) + b"rest"
    framer = LineFramer(1000)
    out = [one for start in range(0, len(data), step) for one in framer.feed(data[start : start + step])]
    assert (out, framer.rest) == (lines, b"rest")


def test_a_line_without_end_is_refused_before_it_is_held() -> None:
    framer = LineFramer(100)
    framer.feed(b"x" * 90)
    with pytest.raises(LineTooLong):
        framer.feed(b"x" * 20)
