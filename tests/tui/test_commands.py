from __future__ import annotations

import pytest
from lanescope.tui.commands import Command, completions, parse_command, usage
from lanescope.tui.environment import prepare, wants_ascii

NODES = ["sim1", "sim2", "gpu-017"]


@pytest.mark.parametrize(
    ("line", "understood"),
    [
        ("node sim1", Command("node", "sim1")),
        ("sim2", Command("node", "sim2")),
        ("loc gpu-[1-4]", Command("localize", "gpu-[1-4]")),
        ("q", Command("quit")),
        (" bundle /tmp/x.zip ", Command("bundle", "/tmp/x.zip")),
    ],
)
def test_commands_may_be_shortened_and_a_node_opens_by_its_name(line: str, understood: Command) -> None:
    assert parse_command(line, NODES) == understood


@pytest.mark.parametrize("line", ["", "frobnicate", "n", "node", "node nowhere", "note", "theme pink"])
def test_what_is_not_understood_is_answered_in_a_sentence(line: str) -> None:
    answer = parse_command(line, NODES)
    assert isinstance(answer, str)
    assert answer.endswith(".")


def test_completion_offers_commands_first_and_nodes_where_a_node_is_meant() -> None:
    assert completions("no", NODES) == ["node", "note"]
    assert completions("node s", NODES) == ["node sim1", "node sim2"]


def test_the_command_being_typed_says_what_it_takes() -> None:
    assert usage("loc") == ":localize [HOSTS]: find the failing part on these nodes (all without)"
    assert usage("node sim") == ":node NODE: open a node"
    assert usage("n") == ""


def test_a_linux_console_whose_font_lacks_our_glyphs_gets_ascii() -> None:
    assert wants_ascii({"TERM": "linux"})
    assert not wants_ascii({"TERM": "xterm-256color"})


def test_over_ssh_frames_are_few_and_the_mouse_is_off_unless_asked_for() -> None:
    far = {"SSH_CONNECTION": "10.0.0.1 22", "TEXTUAL_FPS": "30"}
    assert prepare(environment=far) is False
    assert far["TEXTUAL_FPS"] == "30"
    assert far["TEXTUAL_ANIMATIONS"] == "none"
    assert prepare(mouse=True, environment=far) is True
    assert prepare(environment={}) is True
