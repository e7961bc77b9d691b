"""Tables that people make: recognized when no tool's output is, read cell by cell, and nothing dropped in silence."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers.intake import read
from lanescope.parsers.table import MOST_COLUMNS, TABLE, Table, is_table, parse_table
from lanescope.parsers.tools import TOOLS, recognize

PAIRS = "left,right,busbw_GBps\nn1,n2,88.1\nn1,n3,49.2\n"
CAPTURES = Path(__file__).parents[3] / "shared" / "captures"


def only(text):
    (table,) = parse_table(text).readings
    return table


def test_a_line_of_names_and_rows_below_it_are_a_table():
    assert only(PAIRS) == Table(("left", "right", "busbw_GBps"), (("n1", "n2", "88.1"), ("n1", "n3", "49.2")))


@pytest.mark.parametrize("separator", [",", "\t", ";", ", "])
def test_commas_tabs_and_semicolons_separate_cells(separator):
    text = PAIRS.replace(",", separator)
    assert is_table(text)
    assert only(text) == only(PAIRS)


def test_a_decimal_comma_stays_in_its_cell_where_semicolons_separate():
    assert only("node;GB/s\nn1;88,1\n").rows == (("n1", "88,1"),)


def test_quoted_cells_keep_their_separators():
    assert only('path,op,GBps\n"GPU0, GPU1",write,53.4\n').rows == (("GPU0, GPU1", "write", "53.4"),)


def test_a_byte_order_mark_windows_line_ends_prompts_and_comments_are_no_cells():
    text = "\ufeff# made on Monday\n$ cat pairs.csv\n" + PAIRS
    assert is_table(text.replace("\n", "\r\n"))
    assert only(text.replace("\n", "\r\n")) == only(PAIRS)


def test_the_corner_of_a_matrix_may_be_empty_and_its_columns_numbered():
    assert only(",0,1\n0,0,45\n1,45,0\n").columns == ("", "0", "1")


def test_a_row_with_another_number_of_cells_is_unread_with_its_line():
    parsed = parse_table(PAIRS + "n2,n3\nn3,n4,88\n")
    assert [(line.number, line.why) for line in parsed.unread] == [(4, "has 2 values for 3 names")]
    assert len(parsed.readings[0].rows) == 3


def test_an_empty_line_between_rows_of_one_table_does_not_end_it():
    assert len(only("node,driver,ok\nn1,a,yes\n\nn2,b,no\n").rows) == 2


def test_two_tables_below_each_other_are_two():
    parsed = parse_table(PAIRS + "\nnode,gpu,errors\nn1,0,5\n")
    assert [table.columns[0] for table in parsed.readings] == ["left", "node"]
    assert parsed.unread == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one line, no rows\n",
        "First, do this.\nThen, do that.\n",
        "We saw slow pairs, again\nit is not the network, we think\n",
        "00:1c:00.0, 0, 0, No, No\n00:5d:00.0, 0, 0, No, No\n",
        "Dec  1 10:00:00 n1 app: a, b\nDec  1 10:00:01 n1 app: c, d\n",
        "only\nwords\n",
    ],
)
def test_prose_and_rows_without_names_are_no_table(text):
    assert not is_table(text)
    assert recognize(text) is not TABLE


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="the shared captures are not here")
def test_a_table_is_never_taken_for_one_where_a_tool_is_known():
    for path in sorted(CAPTURES.glob("*/*")):
        text = path.read_bytes().decode("utf-8", "replace")
        known = next((tool for tool in TOOLS if tool.recognizes(text[:65536])), None)
        assert known is None or recognize(text) is known, path


def test_a_table_that_is_named_after_a_tool_is_no_mistake():
    (section,) = read("p2p-pairs.csv", io.BytesIO(PAIRS.encode()))
    assert (section.tool, section.notes) == (TABLE, ())


def test_a_line_with_too_many_cells_is_unread():
    assert parse_table("a,b\n" + "1," * MOST_COLUMNS * 2 + "\n").unread[0].number == 2


@given(st.text(alphabet='ab19 ,;\t"\n\r#.-', max_size=200))
def test_no_text_makes_the_parser_raise_and_rows_fit_their_columns(text):
    is_table(text)
    for table in parse_table(text).readings:
        assert all(len(row) == len(table.columns) for row in table.rows)
