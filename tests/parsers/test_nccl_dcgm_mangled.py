"""No text, however mangled, makes a parser of NCCL's or DCGM's outputs raise or grow past its bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lanescope.parsers.dcgm import TOOLS as DCGM
from lanescope.parsers.nccl import TOOLS as NCCL
from lanescope.parsers.parsed import MOST_READINGS, MOST_UNREAD, SHOWN
from lanescope.parsers.tool import HEAD

DATA = Path(__file__).parents[1] / "data"
TEXTS = [path.read_text() for kind in ("nccl", "dcgm") for path in sorted((DATA / kind).iterdir())]
INSERTED = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["\x00", "\x1b[1;31m", "\r", "\n", "9" * 5000, "<", "{", "|", '"', "&a;", "]]>", "\ufffd", " " * 200]
    ),
)


def read_all(text):
    for tool in (*NCCL, *DCGM):
        tool.recognizes(text[:HEAD])
        parsed = tool.parse(text)
        assert len(parsed.readings) <= MOST_READINGS
        assert len(parsed.unread) <= MOST_UNREAD
        assert all(len(line.text) <= SHOWN for line in parsed.unread)


@given(text=st.sampled_from(TEXTS), cuts=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), INSERTED), max_size=4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_mangled_outputs_are_read_without_raising(text, cuts):
    for at, length, inserted in cuts:
        start = int(at * len(text))
        text = text[:start] + inserted + text[start + int(length * len(text)) :]
    read_all(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00" * 5000,
        "a" * 1_000_000,
        "{" * 50_000,
        "<" * 50_000,
        '"\\' * 50_000,
        "| | " * 50_000,
        "NCCL INFO " * 20_000,
    ],
    ids=["empty", "zeros", "endless line", "braces", "angles", "quotes", "bars", "marks"],
)
def test_hostile_texts_are_read_without_raising(text):
    read_all(text)
