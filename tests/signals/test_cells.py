"""What a cell of a table holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.signals.cells import named_node, numbered_part, value_in


@pytest.mark.parametrize(("cell", "value"), [("49.36", 49.36), ("49,36", 49.36), ("88 GB/s", 88.0), ("-", None)])
def test_a_value_may_have_a_unit_or_a_decimal_comma(cell, value):
    assert value_in(cell) == value


def test_a_comma_that_may_stand_before_thousands_is_not_guessed_at():
    assert value_in("1,234") is None


@pytest.mark.parametrize(
    ("cell", "number"), [("3", 3), ("GPU 3", 3), ("gpu3", 3), ("link3", None), ("3.5", None), ("", None)]
)
def test_a_part_is_numbered_alone_or_after_its_kind(cell, number):
    assert numbered_part(cell, "gpu") == number


@pytest.mark.parametrize("cell", ["", "a/b", "[red]x", "two words", "x" * 200, "a\x1b[0m"])
def test_what_can_be_no_name_names_no_node(cell):
    assert named_node(cell) is None


@given(st.text(max_size=40))
def test_no_cell_makes_anything_raise(cell):
    named_node(cell), numbered_part(cell, "gpu"), value_in(cell)
