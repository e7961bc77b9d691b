"""The world as a source: introductions, samples and logs, and copies that answer as the node program does."""

from __future__ import annotations

import asyncio
import json
import math
import time
from itertools import pairwise
from pathlib import Path

import pytest
from lanescope.incident.errors import Busy, Hung, NoPython, Refused, Unreachable
from lanescope.incident.events import (
    DomainHung,
    FactsRead,
    LogRead,
    NodeState,
    NodeStateChanged,
    SampleTaken,
    SchemaDeclared,
)
from lanescope.incident.ids import NodeId
from lanescope.incident.source import Source, Task
from lanescope.sim.scenario import load_scenario
from lanescope.sim.source import WorldSource
from lanescope.sim.world import World

BASE = 'platform = "h100_hgx"\nnodes = 2\nspeed = 100\n'
NODE = NodeId("sim1")
BUS = {
    "gpu0": "0000:19:00.0",
    "gpu1": "0000:3b:00.0",
    "gpu2": "0000:4c:00.0",
    "gpu5": "0000:bb:00.0",
}


@pytest.fixture
def source_of(tmp_path: Path):
    """A source of a scenario's text that never waits."""

    def make(faults: str = "", pace: float = math.inf) -> WorldSource:
        path = tmp_path / "it.toml"
        path.write_text(BASE + faults)
        return WorldSource(World(load_scenario(path), time.time()), pace=pace)

    return make


def task(number: int, op: str, *gpus: str, **more: object) -> Task:
    """A copy between GPUs by name."""
    return Task(f"R1T{number}", "cuda_copy", {"op": op, "gpus": [BUS[gpu] for gpu in gpus], **more})


async def first_second(source: WorldSource) -> list[object]:
    """All that comes until every node has been sampled once."""
    seen = []
    async for event in source.events():
        seen.append(event)
        if isinstance(event, SampleTaken) and (event.node, event.domain) == (source.nodes[-1], "pci"):
            await source.close()
    return seen


async def test_it_is_a_source(source_of):
    source: Source = source_of()
    assert (source.kind, source.nodes) == ("sim", ("sim1", "sim2"))


async def test_a_node_goes_live_tells_its_facts_declares_its_samples_and_then_gives_them(source_of):
    seen = [event for event in await first_second(source_of()) if event.node == NODE]
    states = [event.state for event in seen if isinstance(event, NodeStateChanged)]
    assert states == [NodeState.CONNECTING, NodeState.LIVE]
    facts = next(event for event in seen if isinstance(event, FactsRead)).facts
    named = {(fact.component, fact.key): fact.value for fact in facts}
    assert named["sim1/gpu5", "bus_address"] == BUS["gpu5"]
    assert named["sim1/gpu5/nvlink7", "remote_address"] == "0000:84:00.0"
    assert named["sim1/mlx5_4", "pcie_path"] == "0000:48:01.0/0000:49:00.0/0000:4a:01.0"
    schemas = {event.schema: event for event in seen if isinstance(event, SchemaDeclared)}
    samples = [event for event in seen if isinstance(event, SampleTaken)]
    assert {sample.domain for sample in samples} == {"nvml", "ib", "pci"}
    for sample in samples:
        assert len(sample.values) == len(schemas[sample.schema].fields)


async def test_what_cannot_be_read_is_missing_and_never_zero(source_of):
    seen = await first_second(source_of('[[fault]]\ncomponent = "sim1/gpu2"\nkind = "hard"'))
    fields = next(e for e in seen if isinstance(e, SchemaDeclared) and (e.node, e.domain) == (NODE, "nvml")).fields
    values = next(e for e in seen if isinstance(e, SampleTaken) and (e.node, e.domain) == (NODE, "nvml")).values
    lost = {
        (field.component, field.name): value
        for field, value in zip(fields, values, strict=True)
        if "/gpu2" in field.component
    }
    assert lost.pop(("sim1/gpu2", "nvml_error")) == 15
    assert all(math.isnan(value) for value in lost.values())
    facts = next(e for e in seen if isinstance(e, FactsRead) and e.node == NODE).facts
    assert {fact.key for fact in facts if fact.component == "sim1/gpu2"} == {"bus_address", "numa", "pcie_path"}


async def test_the_log_comes_once_from_boot_on_in_the_nodes_own_time(source_of):
    source = source_of('[world]\nclock_skew = 30\n[[fault]]\ncomponent = "sim1/gpu2"\nkind = "hard"', pace=20.0)
    lines, samples = [], 0
    async for event in source.events():
        lines += [event] if isinstance(event, LogRead) and event.node == NODE else []
        samples += isinstance(event, SampleTaken)
        if samples == 18:
            await source.close()
    assert "Linux version" in lines[0].text
    assert len({(line.text, line.node_time) for line in lines}) == len(lines)
    fallen = next(line for line in lines if "): 79, " in line.text)
    world = source.world
    assert fallen.node_time == world.clock("sim1", world.began - 3600)
    assert abs(fallen.node_time - (world.began - 3600)) > 1


async def test_a_copy_answers_in_the_lines_of_the_node_program(source_of):
    (output,) = await source_of().run_tasks(NODE, [task(1, "p2p", "gpu0", "gpu5")], 10.0)
    heads = [next(iter(line)) for line in output.lines]
    assert heads == ["head", "warm", *["w"] * 16, "counters", "foot", "end"]
    assert output.lines[-1]["end"] == "done"
    assert output.seconds == output.lines[-1]["seconds"] == pytest.approx(0.5 + 0.52)
    counters = output.lines[-3]["counters"]
    assert len(counters) == 2 * 18 * 3
    assert {row["gpu"] for row in counters} == {BUS["gpu0"], BUS["gpu5"]}
    assert [json.loads(line) for line in output.raw.splitlines()] == list(output.lines)


async def test_only_the_first_launch_on_a_node_is_cold(source_of):
    source = source_of()
    seconds = [(await source.run_tasks(NODE, [task(n, "h2d", "gpu0")], 10.0))[0].seconds for n in range(3)]
    assert seconds == pytest.approx([1.02, 0.57, 0.57])


async def test_counters_go_on_from_where_the_last_copy_left_them(source_of):
    source = source_of(
        '[[fault]]\ncomponent = "sim1/gpu5/nvlink7"\nkind = "degraded"\nslowdown = 0.5\n'
        "counters = { recovery_errors = 9 }"
    )
    edges = []
    for number in range(4):
        (output,) = await source.run_tasks(NODE, [task(number, "p2p", "gpu5", "gpu1")], 10.0)
        edges += [
            (row["before"], row["after"])
            for row in output.lines[-3]["counters"]
            if (row["gpu"], row["lane"], row["name"]) == (BUS["gpu5"], 7, "recovery_errors")
        ]
    assert all(after > before for before, after in edges)
    assert all(before >= earlier for (_, earlier), (before, _) in pairwise(edges))


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (Task("x", "cuda_copy", {"op": "p2p", "gpus": [BUS["gpu0"]]}), "BAD_TASK"),
        (Task("x", "cuda_copy", {"op": "h2d", "gpus": ["0000:ff:00.0"]}), "CUDA_ERROR_INVALID_DEVICE"),
        (Task("x", "cuda_copy", {"op": "h2d", "gpus": [BUS["gpu0"]], "windows": 0}), "BAD_TASK"),
        (Task("x", "cuda_copy", {"op": ["h2d"], "gpus": 3}), "BAD_TASK"),
        (Task("x", "format_disk", {}), "UNKNOWN_PROGRAM"),
        (task(1, "p2p", "gpu2", "gpu0"), "CUDA_ERROR_INVALID_DEVICE"),
    ],
)
async def test_a_copy_that_cannot_run_says_why_and_leaves_the_others_alone(source_of, wrong, name):
    source = source_of('[[fault]]\ncomponent = "sim1/gpu2"\nkind = "hard"')
    failed, good = await source.run_tasks(NODE, [wrong, task(2, "p2p", "gpu1", "gpu5")], 10.0)
    assert failed.lines[0]["error"]["name"] == name
    assert failed.lines[-1]["end"] == "failed"
    assert good.lines[-1]["end"] == "done"


@pytest.mark.parametrize(
    ("how", "error", "code"),
    [
        ("refuses", Refused, "refused"),
        ("no-python", NoPython, "no-python"),
        ("silent", Unreachable, "unreachable"),
        ("hangs", Hung, ""),
        ("busy", Busy, ""),
    ],
)
async def test_a_sick_node_says_what_it_has_and_runs_nothing(source_of, how, error, code):
    source = source_of(f'[[sick]]\nnode = "sim1"\nhow = "{how}"')
    with pytest.raises(error, match="sim1"):
        await source.run_tasks(NODE, [task(1, "h2d", "gpu0")], 10.0)
    last = [e for e in await first_second(source) if isinstance(e, NodeStateChanged) and e.node == NODE][-1]
    assert (last.state, last.code) == ((NodeState.FAILED, code) if code else (NodeState.LIVE, ""))


async def test_a_hung_domain_stops_giving_samples_and_is_reported_while_the_others_go_on(source_of):
    source = source_of('[[sick]]\nnode = "sim1"\nhow = "hangs"\ndomain = "ib"', pace=40.0)
    domains, hung = set(), None
    async for event in source.events():
        if isinstance(event, SampleTaken) and event.node == NODE:
            domains.add(event.domain)
        if isinstance(event, DomainHung):
            hung = event
            await source.close()
    assert domains == {"nvml", "pci"}
    assert hung is not None
    assert hung.domain == "ib"


async def test_two_rounds_on_one_node_at_once_are_refused(source_of):
    source = source_of(pace=1.0)
    first = asyncio.create_task(source.run_tasks(NODE, [task(1, "h2d", "gpu0")], 10.0))
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="lock"):
        await source.run_tasks(NODE, [task(2, "h2d", "gpu1")], 10.0)
    await first


async def test_probes_take_their_simulated_time_divided_by_the_scenarios_speed(source_of):
    source = source_of(pace=1.0)
    began = time.monotonic()
    (output,) = await source.run_tasks(NODE, [task(1, "h2d", "gpu0", windows=1024)], 10.0)
    took = time.monotonic() - began
    assert output.seconds == pytest.approx(0.5 + 0.04 + 30.72)
    assert 0.3 <= took < 2.0


async def test_runs_that_never_wait_repeat_to_the_bit(source_of):
    faults = (
        '[[fault]]\ncomponent = "sim1/gpu5/nvlink7"\nkind = "intermittent"\nduty = 0.3\nburst = 0.1\nslowdown = 0.9'
    )
    one, other = source_of(faults), source_of(faults)
    for number in range(5):
        tasks = [task(number, "p2p", "gpu5", "gpu1"), task(100 + number, "p2p", "gpu0", "gpu2")]
        left, right = [await source.run_tasks(NODE, tasks, 10.0) for source in (one, other)]
        assert [output.raw for output in left] == [output.raw for output in right]


async def test_there_are_no_tools_in_process(source_of):
    output = await source_of().run_command(NODE, ["nvidia-smi", "-q"], 1.0)
    assert (output.exit_status, output.stderr) == (127, b"nvidia-smi: command not found\n")
