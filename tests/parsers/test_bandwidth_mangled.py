"""No output of a bandwidth test, however mangled, makes its parser raise or grow."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.parsers.bandwidth import TOOLS
from lanescope.parsers.parsed import MOST_READINGS, MOST_UNREAD

DATA = Path(__file__).parents[1] / "data" / "bandwidth"
SAMPLES = [path.read_text() for path in sorted(DATA.iterdir())]
PIECES = [
    "\r",
    "\r\n",
    "\x00",
    "\x1b[31m",
    "N/A",
    "-1",
    "9" * 400,
    "\t",
    " ",
    "nan",
    "inf",
    "{",
    '"',
    "é",
    "#",
    " - ",
    "errors:",
]


@st.composite
def mangled(draw):
    """A sample with pieces put in and taken out, then cut."""
    text = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(0, 6))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 30))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + length :]
    return text[: draw(st.integers(0, len(text)))]


@settings(max_examples=60, deadline=None)
@given(text=mangled() | st.text(max_size=400))
def test_mangled_output_never_raises_and_stays_bounded(text):
    for tool in TOOLS:
        tool.recognizes(text)
        parsed = tool.parse(text)
        assert len(parsed.readings) <= MOST_READINGS
        assert len(parsed.unread) <= MOST_UNREAD


@pytest.mark.parametrize(
    "text",
    [
        "\x00" * 70_000,
        "9" * 1_000_000,
        "\r" * 300_000,
        " " * 300_000,
        "# " * 100_000,
        "errors: " * 40_000,
        "(row)(column)" * 9_000,
    ],
    ids=["nul", "digits", "returns", "blanks", "hashes", "errors", "rows"],
)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_one_enormous_line_is_read_quickly(tool, text):
    assert tool.parse(text).readings == []
    assert len(tool.parse("proc'd: " + text).unread) <= MOST_UNREAD


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_empty_text_is_no_tools_output(tool):
    assert not tool.recognizes("")
    assert tool.parse("").readings == []
