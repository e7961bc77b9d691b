from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.tui.draw.canvas import HEAVY, Canvas, text_of, wrapped
from lanescope.tui.glyphs import spark, to_ascii, visible
from lanescope.tui.theme import Ink


def test_lines_that_cross_are_joined() -> None:
    canvas = Canvas(5, 3, Ink())
    canvas.hline(0, 4, 1, Ink()(), weight=HEAVY)
    canvas.vline(2, 0, 2, Ink()())
    assert text_of(canvas.strips()) == "  ╷\n╺━┿━╸\n  ╵"


def test_a_control_character_from_a_node_is_shown_and_does_not_act() -> None:
    assert visible("eth0\x1b[2J\r\n") == "eth0\\x1b[2J\\x0d\\x0a"
    assert visible("a\u202eb\u0301") == "a\\u202eb\\u0301"


def test_markup_from_a_node_is_only_text() -> None:
    canvas = Canvas(20, 1, Ink())
    canvas.put(0, 0, "[bold red]x[/]")
    assert text_of(canvas.strips()) == "[bold red]x[/]"


@given(st.text(max_size=60), st.integers(-5, 30))
@settings(max_examples=60, deadline=None)
def test_no_text_however_strange_leaves_its_row(text: str, x: int) -> None:
    canvas = Canvas(24, 1, Ink())
    canvas.put(x, 0, text)
    (strip,) = canvas.strips()
    assert strip.cell_length == sum(segment.cell_length for segment in strip) == 24


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_the_ascii_twin_of_any_text_is_ascii_and_as_long(text: str) -> None:
    assert to_ascii(text).isascii()
    assert len(to_ascii(text)) == len(text)


def test_a_sparkline_is_one_sample_a_character_from_zero_and_blank_where_a_sample_is_missing() -> None:
    assert spark([0, 1, 2, float("nan"), 4], 6) == " ▁▂▄ █"
    assert spark([0, 0], 2) == "▁▁"


def test_sentences_wrap_between_words() -> None:
    assert wrapped("no answer over ssh", 10) == ["no answer", "over ssh"]
