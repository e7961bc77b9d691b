"""Going away: at any moment, and nothing stays behind here or on a node."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest
from lanescope.incident.events import NodeState

from .rig import ended, gone, left_of  # noqa: TID251 (this folder, not the room)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def read_all(source) -> None:
    async for _ in source.events():
        pass


@pytest.mark.parametrize("moment", [0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.7])
async def test_a_cancelled_session_leaves_no_task_no_file_and_no_process(operator, moment) -> None:
    async with operator.serving(operator.node()):
        before = asyncio.all_tasks()
        files = open_files()
        source = operator.source()
        reading = asyncio.create_task(read_all(source))
        await asyncio.sleep(moment)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert await gone(source.run)
        await asyncio.sleep(0.1)  # the rig's own ends of the connection
        ours = [task for task in asyncio.all_tasks() - before if "rig.py" not in str(task.get_coro())]
        assert not [task for task in ours if "lanescope" in str(task.get_coro()) or task.get_name() == "n1"]
        assert open_files() <= files + 1


async def test_closing_asks_the_collector_to_end_and_does_not_wait_long(operator, watching) -> None:
    async with operator.serving(operator.node()), watching(operator.source()) as watch:
        await watch.state(NodeState.LIVE)
        began = asyncio.get_running_loop().time()
        await watch.end()
        assert asyncio.get_running_loop().time() - began < 1.5
        assert watch.states()[-1] is NodeState.LIVE, "our own leaving is no fault of the node"


async def test_closing_twice_is_closing_once(operator, watching) -> None:
    async with operator.serving(operator.node()), watching(operator.source()) as watch:
        await watch.state(NodeState.LIVE)
        await asyncio.gather(watch.source.close(), watch.source.close())


async def test_a_source_that_was_never_read_closes_too(operator) -> None:
    await operator.source().close()


async def test_a_collector_that_hears_nothing_ends_itself(operator, quick) -> None:
    short = dataclasses.replace(quick, lease=1.0, lease_every=60.0)
    node = operator.node()
    async with operator.serving(node):
        source = operator.source(settings=short)
        reading = asyncio.create_task(read_all(source))
        await asyncio.sleep(1.0)
        assert left_of(source.run)
        first = min(left_of(source.run))
        assert await ended(first, 8.0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert await gone(source.run)
