"""Single commands on a node."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from lanescope.incident.errors import InputError
from lanescope.incident.events import NodeState
from lanescope.incident.ids import NodeId

from .rig import gone, left_of  # noqa: TID251 (this folder, not the room)


async def test_a_command_gives_back_its_bytes_and_its_status(operator, watching, n1) -> None:
    async with operator.serving(operator.node()), watching(operator.source()) as watch:
        output = await watch.source.run_command(n1, ["sh", "-c", "printf '\\377out'; printf err >&2; exit 7"], 5)
        assert (output.exit_status, output.stdout, output.stderr, output.why) == (7, b"\xffout", b"err", "")
        assert output.started <= output.ended


@pytest.mark.parametrize("word", ["$(id)", "a b", "'; id; '", "`id`", "*", "-n", "\u00e9", "a\nb"])
async def test_no_word_of_a_command_is_read_by_a_shell(operator, watching, n1, word) -> None:
    async with operator.serving(operator.node()), watching(operator.source()) as watch:
        output = await watch.source.run_command(n1, ["printf", "%s", word], 5)
        assert output.stdout.decode() == word


async def test_a_command_past_its_deadline_is_ended_with_all_it_started(operator, watching, n1, patient) -> None:
    async with operator.serving(operator.node()), watching(operator.source(settings=patient)) as watch:
        await watch.state(NodeState.LIVE)
        before = set(left_of(watch.source.run))
        script = "setsid sh -c 'sleep 50 & sleep 51' & trap '' TERM; echo started; sleep 52"
        output = await watch.source.run_command(n1, ["sh", "-c", script], 1.0)
        assert output.exit_status is None
        assert "deadline of 1 s" in output.why
        assert output.stdout == b"started\n"
        assert set(left_of(watch.source.run)) <= before


async def test_a_cancelled_command_leaves_nothing_on_the_node(operator, watching, n1) -> None:
    async with operator.serving(operator.node()), watching(operator.source()) as watch:
        await watch.state(NodeState.LIVE)
        before = set(left_of(watch.source.run))
        running = asyncio.create_task(watch.source.run_command(n1, ["sleep", "50"], 60))
        await asyncio.sleep(0.7)
        assert set(left_of(watch.source.run)) > before
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert await gone(watch.source.run, besides=before)


async def test_output_above_the_cap_is_cut_and_said_to_be(operator, watching, n1, quick) -> None:
    small = dataclasses.replace(quick, command_output=100_000)
    async with operator.serving(operator.node()), watching(operator.source(settings=small)) as watch:
        output = await watch.source.run_command(n1, ["head", "-c", "3000000", "/dev/zero"], 10)
        assert (output.exit_status, len(output.stdout), output.truncated) == (0, 100_000, True)


async def test_a_command_that_is_not_there_is_told_in_words(operator, watching, n1) -> None:
    async with operator.serving(operator.node()), watching(operator.source()) as watch:
        output = await watch.source.run_command(n1, ["nvidia-smi-of-the-future"], 5)
        assert output.exit_status is None
        assert "No such file" in output.why


async def test_a_command_on_a_node_that_can_not_be_used_says_why(operator, watching, n1) -> None:
    async with operator.serving(operator.node(), known=False), watching(operator.source()) as watch:
        output = await watch.source.run_command(n1, ["true"], 5)
        assert output.exit_status is None
        assert "host key" in output.why


async def test_a_node_of_no_session_is_an_error_of_the_caller(operator, watching) -> None:
    async with operator.serving(operator.node()), watching(operator.source()) as watch:
        with pytest.raises(InputError, match="not one of the 1 nodes"):
            await watch.source.run_command(NodeId("n2"), ["true"], 5)
