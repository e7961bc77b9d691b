"""No output, however mangled on its way, makes a parser raise, hang or grow: over every shared capture."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from lanescope.parsers.parsed import MOST_READINGS, MOST_UNREAD, Parsed
from lanescope.parsers.tool import Tool
from lanescope.parsers.tools import TOOLS, recognize

from .mutations import MUTATIONS, Mutation

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"
FILES = sorted(path for path in CAPTURES.glob("*/*") if path.is_file())
SECONDS_PER_MB = 20.0
"""Far above what any parser takes; a pattern that backtracks without end takes minutes."""
SMALLEST = 0.1
"""MB that a text is counted as at least."""


def read_bounded(tool: Tool, text: str) -> Parsed[object]:
    began = time.process_time()
    parsed = tool.parse(text)
    took = time.process_time() - began
    assert took < SECONDS_PER_MB * max(SMALLEST, len(text) / 1e6), f"{tool.name} took {took:.1f} s"
    assert len(parsed.readings) <= MOST_READINGS
    assert len(parsed.unread) <= MOST_UNREAD
    return parsed


def mangled(mutation: Mutation, path: Path, seed: int) -> str:
    chance = random.Random(f"{path.name} {seed}")
    other = chance.choice(FILES).read_bytes()
    return mutation(chance, path.read_bytes(), other).decode("utf-8", "replace")


@pytest.mark.skipif(not FILES, reason="the shared captures are not here")
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mangled_outputs_are_read_as_far_as_they_go(mutation):
    for path in FILES[:: len(MUTATIONS)]:
        tool, text = recognize(path.read_text(errors="replace")), mangled(mutation, path, 0)
        recognize(text)
        if tool:
            read_bounded(tool, text)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_capture_survives_every_mutation(path):
    tool = recognize(path.read_text(errors="replace"))
    assert tool is not None
    for mutation in MUTATIONS:
        for seed in range(8):
            text = mangled(mutation, path, seed)
            recognize(text)
            read_bounded(tool, text)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_parser_survives_every_other_tools_output(path):
    text = path.read_text(errors="replace")
    for tool in TOOLS:
        read_bounded(tool, text)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_paste_of_one_output_many_times_takes_time_in_proportion(path):
    text = path.read_text(errors="replace")
    tool = recognize(text)
    assert tool is not None
    read_bounded(tool, text * max(1, min(64, 4_000_000 // max(1, len(text)))))
