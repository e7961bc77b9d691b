"""The queue between the nodes and whoever reads them."""

from __future__ import annotations

import asyncio

from lanescope.fleet.intake import Intake
from lanescope.incident.events import Ticked


async def test_a_reader_that_is_behind_pauses_the_nodes_and_resumes_them_when_it_has_caught_up() -> None:
    intake = Intake(capacity=10)
    resumed: list[int] = []
    for number in range(12):
        intake.put(Ticked(time=number))
    assert intake.crowded
    intake.when_eased(lambda: resumed.append(1))
    reader = intake.items()
    for _ in range(7):
        await anext(reader)
    assert not resumed
    await anext(reader)
    await anext(reader)
    assert resumed == [1]
    assert not intake.crowded


async def test_what_was_taken_before_closing_is_still_read_and_nothing_after() -> None:
    intake = Intake()
    intake.put(Ticked(time=1))
    intake.close()
    intake.put(Ticked(time=2))
    assert [item.time async for item in intake.items()] == [1]


async def test_a_waiting_reader_is_woken_by_the_end() -> None:
    intake = Intake()
    reading = asyncio.create_task(anext(intake.items(), None))
    await asyncio.sleep(0)
    intake.close()
    assert await reading is None
