"""NCCL tasks on simulated nodes: one trial of two ranks, on two nodes or on one, in the lines of the node program."""

from __future__ import annotations

import asyncio
import json
import math
import time
from pathlib import Path

import pytest
from lanescope.benchmarks.network import fabric_of_world
from lanescope.incident.events import Trial
from lanescope.incident.ids import ComponentId, NodeId
from lanescope.incident.source import Task
from lanescope.parsers.infiniband.ibnetdiscover import parse_ibnetdiscover
from lanescope.probes.run import run_round
from lanescope.sim.source import WorldSource

from .worlds import HEALTHY, QUIET, fault, world_of

BUS = {"gpu0": "0000:19:00.0", "gpu1": "0000:3b:00.0", "gpu2": "0000:4c:00.0"}
ONLY_NET = {"P2P": False, "SHM": False, "NVLS": False}
CABLE = "cable/sim2:mlx5_0~leaf-1:port2"


@pytest.fixture
def source_of(tmp_path: Path):
    """A source of two nodes or more that never waits."""

    def make(faults: str = "", world: str = QUIET, pace: float = math.inf) -> WorldSource:
        return WorldSource(world_of(tmp_path, faults, world=world), pace=pace)

    return make


def rank(number: int, gpu: str = "gpu0", trial: str = "R1T1", op: str = "sendrecv", **more: object) -> Task:
    arguments = {"op": op, "gpus": [BUS[gpu]], "rank0": number, "ranks": 2, "nics": ["mlx5_0"], **more}
    return Task(f"{trial}.{number}", "nccl", arguments, joint=trial)


async def both(source: WorldSource, *ranks: Task):
    """Rank 0 on sim1 and rank 1 on sim2, where no others are given."""
    first, second = ranks or (rank(0), rank(1))
    outputs = await source.run_joint({NodeId("sim1"): [first], NodeId("sim2"): [second]}, 10.0)
    return outputs["sim1"][0], outputs["sim2"][0]


def rates(output) -> list[float]:
    return [line["gbps"] for line in output.lines if "w" in line]


def keys(output) -> list[str]:
    return [next(iter(line)) for line in output.lines]


def rows(output) -> dict[tuple[str, str], tuple[int, int]]:
    counters = [row for line in output.lines for row in line.get("counters", ()) if "nic" in row]
    return {(row["nic"], row["name"]): (row["before"], row["after"]) for row in counters}


async def test_two_ranks_on_two_nodes_tell_the_same_windows_in_the_lines_of_the_program(source_of):
    one, other = await both(source_of())
    for output in (one, other):
        assert keys(output) == ["warm", "head", *["w"] * 16, "counters", "counters", "foot", "closed", "end"]
        assert [json.loads(line) for line in output.raw.splitlines()] == list(output.lines)
        assert (output.error, output.code) == ("", "")
    assert rates(one) == rates(other) == pytest.approx([HEALTHY] * 16, abs=1e-3)
    heads = [line["head"] for output in (one, other) for line in output.lines if "head" in line]
    assert [(head["rank"], head["via"], head["nics"]) for head in heads] == [
        (0, {"NET/IB/0/GDRDMA": 2}, ["mlx5_0"]),
        (1, {"NET/IB/0/GDRDMA": 2}, ["mlx5_0"]),
    ]


async def test_counters_of_a_nic_with_a_bad_cable_move_at_its_own_rank(source_of):
    source = source_of(fault(CABLE, slowdown=0.3, counters="{ symbol_error = 20 }"))
    key = ("mlx5_0", "symbol_error")
    for _ in range(2):
        one, other = await both(source)
        assert rows(one)[key][0] == rows(one)[key][1]
        assert rows(other)[key][1] > rows(other)[key][0]


async def test_ranks_of_one_node_go_by_nvlink_or_by_the_nics_as_they_are_told(source_of):
    source = source_of(fault("sim1/mlx5_3", slowdown=0.5))
    pair = [rank(0, transports={"P2P": True}), rank(1, "gpu1", transports={"P2P": True})]
    by_nvlink = await source.run_tasks(NodeId("sim1"), pair, 10.0)
    pair = [rank(0, transports=ONLY_NET), rank(1, "gpu1", transports=ONLY_NET, nics=["mlx5_3"])]
    by_nics = await source.run_tasks(NodeId("sim1"), pair, 10.0)
    assert [rates(output)[0] for output in by_nvlink] == pytest.approx([397, 397])
    assert [rates(output)[0] for output in by_nics] == pytest.approx([HEALTHY / 2] * 2, abs=1e-3)
    assert {name for output in by_nics for line in output.lines for name in line.get("head", {}).get("nics", ())} == {
        "mlx5_0",
        "mlx5_3",
    }


async def test_a_rank_whose_nic_has_no_link_fails_and_takes_the_other_with_it(source_of):
    one, other = await both(source_of(fault(CABLE, "hard")))
    assert other.lines[0]["error"]["text"] == "Error: network IB not found."
    assert one.lines[0]["error"]["text"].startswith("rank 1: ")
    assert one.code == other.code == "probe"
    assert one.lines[-1]["end"] == "failed"


async def test_a_node_that_cannot_be_used_costs_the_trials_joined_to_it_and_no_other(source_of):
    source = source_of('\n[[sick]]\nnode = "sim2"\nhow = "busy"')
    copy = Task("R1T2", "cuda_copy", {"op": "h2d", "gpus": [BUS["gpu2"]]})
    outputs = await source.run_joint(
        {NodeId("sim1"): [rank(0), copy], NodeId("sim2"): [rank(1)], NodeId("sim3"): [copy]}, 10.0
    )
    assert [output.code for output in outputs["sim1"]] == ["busy", ""]
    assert [output.code for output in outputs["sim2"]] == ["busy"]
    assert [output.code for output in outputs["sim3"]] == [""]
    assert "sim2" in outputs["sim1"][0].error


async def test_nodes_that_run_something_are_busy_to_others(source_of):
    source = source_of(pace=1.0)
    first = asyncio.create_task(both(source))
    await asyncio.sleep(0)
    assert {output.code for output in await both(source)} == {"busy"}
    assert {output.code for output in await first} == {""}


@pytest.mark.parametrize(
    ("ranks", "code"),
    [
        ((rank(0), rank(0)), "deadline"),
        ((rank(0), rank(1, windows=8)), "probe"),
        ((rank(0), rank(1, windows=0)), "probe"),
        ((rank(0, hca=["mlx5_3"]), rank(1)), "not-tested"),
        ((rank(0, op="allgather"), rank(1, op="allgather")), "not-tested"),
    ],
    ids=["two-zeros", "different", "out-of-range", "another-nic", "no-such-operation"],
)
async def test_ranks_that_do_not_fit_say_why(source_of, ranks, code):
    outputs = await both(source_of(), *ranks)
    assert {output.code for output in outputs} == {code}
    assert all(output.error for output in outputs)


async def test_a_rank_without_the_other_hears_nothing(source_of):
    (output,) = await source_of().run_tasks(NodeId("sim1"), [rank(0)], 10.0)
    assert (output.code, output.lines[0]["error"]["name"]) == ("deadline", "NOT_TOLD")


async def test_the_library_of_a_node_can_be_asked_for(source_of):
    (output,) = await source_of().run_tasks(NodeId("sim1"), [Task("x", "nccl", {"op": "find"})], 10.0)
    assert output.lines[0]["found"]["version"] == "2.23.4"
    assert output.lines[-1]["end"] == "done"


async def test_trials_that_share_nothing_run_at_once_at_full_rate(source_of):
    source = source_of()
    tasks = {
        NodeId("sim1"): [rank(0), rank(0, "gpu1", "R1T2")],
        NodeId("sim2"): [rank(1), rank(1, "gpu1", "R1T2")],
    }
    outputs = await source.run_joint(tasks, 10.0)
    assert [rates(output)[0] for mine in outputs.values() for output in mine] == pytest.approx([HEALTHY] * 4, abs=1e-3)


async def test_runs_that_never_wait_repeat_to_the_bit(source_of):
    faults = fault("leaf-1", "intermittent", duty=0.3, burst=0.1, slowdown=0.9, counters="{ symbol_error = 3 }")
    one, other = (source_of(faults, world="noise = 0.04\n") for _ in range(2))
    for _ in range(4):
        left, right = await both(one), await both(other)
        assert [output.raw for output in left] == [output.raw for output in right]


async def test_the_search_probe_of_the_network_reads_what_the_world_answers(source_of):
    source = source_of(fault(CABLE, slowdown=0.4, counters="{ symbol_error = 20 }"))
    fabric = fabric_of_world(source.world)
    targets = tuple(ComponentId(f"sim{node}/gpu0") for node in (1, 2))
    trial = Trial(id="R1T1", probe="net_pair", node=targets[0].node, targets=targets, seconds=0.6)
    (ended,) = await run_round(source, fabric, [trial], 1, time.time)
    assert ended.error == ""
    assert ended.windows == pytest.approx([HEALTHY * 0.6] * 16, abs=1e-3)
    moved = {(str(move.component), move.counter) for move in ended.moves if move.after > move.before}
    assert moved == {("sim2/mlx5_0", "symbol_error")}


async def test_the_network_can_be_looked_at_from_any_node(source_of):
    source = source_of()
    output = await source.run_command(NodeId("sim1"), ["ibnetdiscover"], 10.0)
    parsed = parse_ibnetdiscover(output.stdout.decode())
    assert (output.exit_status, list(parsed.unread)) == (0, [])
    assert (
        sum(getattr(reading, "kind", "") == "switch" for reading in parsed.readings if hasattr(reading, "ports")) == 27
    )
