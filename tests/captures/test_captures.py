"""Every real output of the shared captures is recognized, and read as its index says is right."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from lanescope.parsers.tool import HEAD
from lanescope.parsers.tools import TOOLS, recognize

from .expectation import complaints, expectations

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"
EXPECTED = expectations()


def indexed() -> list[str]:
    index = CAPTURES / "INDEX.tsv"
    if not index.is_file():
        return []
    with index.open(newline="") as rows:
        return [row["path"] for row in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE)]


def text_of(name: str) -> str:
    path = CAPTURES / name
    if not path.is_file():
        pytest.skip(f"the shared capture {name} is not here")
    return path.read_bytes().decode("utf-8", "replace")


@pytest.mark.skipif(not indexed(), reason="the shared captures are not here")
def test_every_capture_of_the_index_has_an_expectation():
    assert set(EXPECTED) == set(indexed())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_capture_reads_as_its_index_says(name):
    text, expected = text_of(name), EXPECTED[name]
    tool = recognize(text)
    assert (tool.name if tool else "no tool") == expected["tool"]
    assert tool is not None
    assert complaints(expected, tool.parse(text)) == []


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_capture_is_recognized_as_one_tools_output_and_no_others(name):
    head = text_of(name)[:HEAD]
    assert [tool.name for tool in TOOLS if tool.recognizes(head)] == [EXPECTED[name]["tool"]]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_expectation_asserts_values_and_not_only_counts(name):
    assert EXPECTED[name].get("rows") or EXPECTED[name].get("absent")
