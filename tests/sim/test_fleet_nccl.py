"""NCCL between simulated nodes over real SSH: the node program with the nodes' own libnccl.so.2."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from lanescope.benchmarks.network import fabric_of_world
from lanescope.fleet.source import SshSource
from lanescope.incident.events import NodeState, NodeStateChanged, Trial, TrialEnded
from lanescope.incident.ids import ComponentId, NodeId
from lanescope.incident.source import Task, TaskOutput
from lanescope.probes.run import run_round
from lanescope.sim.fleet import SimFleet
from lanescope.sim.nccl_program import VERSION
from lanescope.sim.scenario import Scenario, load_scenario
from lanescope.sim.world import World

from .worlds import HEALTHY, QUIET, fault

NODES = NodeId("sim1"), NodeId("sim2")
LOST = 0.4
FAULTS = fault("cable/sim2:mlx5_3~leaf-2:port2", slowdown=LOST, counters="{ symbol_error = 20 }") + fault(
    "cable/sim2:mlx5_4~leaf-3:port2", "hard"
)  # gpu1 and gpu2 use these
NVLINK = 397.0
"""GB/s of a copy within a node."""


class Fleet:
    """Two nodes, connected to."""

    def __init__(self, scenario: Scenario, source: SshSource, folder: Path) -> None:
        self.source = source
        self.folder = folder
        self.fabric = fabric_of_world(World(scenario, time.time()))

    async def send(self, *pairs: str, probe: str = "net_pair") -> list[TrialEnded]:
        """A round of trials, each between two GPUs: `sim1/gpu0 sim2/gpu0`."""
        trials = []
        for number, pair in enumerate(pairs, 1):
            targets = tuple(ComponentId(end) for end in pair.split())
            nodes = tuple(dict.fromkeys(target.node for target in targets))
            assert all(node in NODES for node in nodes)
            trials.append(Trial(id=f"R1T{number}", probe=probe, node=targets[0].node, targets=targets, seconds=0.6))
        return list(await run_round(self.source, self.fabric, trials, 1, time.time))


@contextlib.asynccontextmanager
async def served(folder: Path, faults: str, network: str) -> AsyncIterator[Fleet]:
    """Two nodes behind SSH that are live."""
    path = folder / "two.toml"
    world = f"[world]\nnccl = true\n{QUIET}[network]\n{network}"
    path.write_text(f'platform = "h100_hgx"\nnodes = 2\nspeed = 50.0\n{world}{faults}', "utf-8")
    scenario = load_scenario(path)
    async with SimFleet(scenario) as running:
        own = running.directory / "own_known_hosts"
        source = SshSource(NODES, ssh_config=running.ssh_config, known_hosts=running.known_hosts, own_known_hosts=own)
        live = asyncio.Event()
        following = asyncio.create_task(follow(source, live))
        try:
            await asyncio.wait_for(live.wait(), 30)
            yield Fleet(scenario, source, running.directory)
        finally:
            await source.close()
            await asyncio.wait_for(following, 10)


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with served(tmp_path, FAULTS, "nodes_per_leaf = 2\nspines = 3\n") as fleet:
        yield fleet


async def follow(source: SshSource, live: asyncio.Event) -> None:
    missing = set(NODES)
    async for item in source.events():
        if isinstance(item, NodeStateChanged) and item.state is NodeState.LIVE:
            missing.discard(item.node)
            if not missing:
                live.set()


def moved(ended: TrialEnded) -> set[tuple[str, str]]:
    return {(str(move.component), move.counter) for move in ended.moves if move.after > move.before}


def rank(number: int, trial: str, bus: str = "0000:19:00.0", **more: object) -> Task:
    arguments = {"op": "sendrecv", "gpus": [bus], "rank0": number, "ranks": 2, "nics": ["mlx5_0"], **more}
    return Task(f"{trial}.{number}", "nccl", arguments, joint=trial)


async def both(fleet: Fleet, *ranks: Task) -> tuple[TaskOutput, TaskOutput]:
    """Rank 0 on sim1 and rank 1 on sim2."""
    outputs = await fleet.source.run_joint({node: [task] for node, task in zip(NODES, ranks, strict=True)}, 60.0)
    return outputs[NODES[0]][0], outputs[NODES[1]][0]


def lines(output: TaskOutput, key: str) -> list[Any]:
    return [line[key] for line in output.lines if key in line]


def processes(folder: Path) -> set[int]:
    """What runs on the nodes of a fleet."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"SIM_DIRECTORY={folder}/".encode() in (place / "environ").read_bytes():
                found.add(int(place.name))
    return found


def listening(folder: Path) -> set[str]:
    """Sockets of TCP on which the nodes of a fleet listen."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    all_of_them = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    held = set()
    for pid in processes(folder):
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            with contextlib.suppress(OSError):
                held.add(str(descriptor.readlink()))
    return held & all_of_them


async def test_two_nodes_measure_their_nics_and_move_no_counter(fleet: Fleet) -> None:
    (ended,) = await fleet.send("sim1/gpu0 sim2/gpu0")
    assert ended.error == ""
    assert ended.windows == pytest.approx([HEALTHY] * 16, rel=0.01)
    assert moved(ended) == set()
    assert {str(move.component) for move in ended.moves} == {"sim1/mlx5_0", "sim2/mlx5_0"}
    assert ended.detail == "By NET/IB/0/GDRDMA, NICs mlx5_0."
    assert VERSION in ended.measured_by


async def test_a_bad_cable_slows_the_trial_by_its_share_and_moves_the_counters_of_its_nic(fleet: Fleet) -> None:
    bad, well = await fleet.send("sim1/gpu1 sim2/gpu1", "sim2/gpu0 sim1/gpu0")
    assert (bad.error, well.error) == ("", "")
    assert bad.windows == pytest.approx([HEALTHY * (1 - LOST)] * 16, rel=0.01)
    assert well.windows == pytest.approx([HEALTHY] * 16, rel=0.01)
    assert moved(bad) == {("sim2/mlx5_3", "symbol_error")}
    (back,) = await fleet.send("sim2/gpu1 sim1/gpu1")
    assert median(back.windows) == pytest.approx(HEALTHY * (1 - LOST), rel=0.01)
    assert moved(back) == {("sim2/mlx5_3", "symbol_error")}


async def test_a_nic_without_a_link_fails_the_trial_at_once_and_the_next_one_runs(fleet: Fleet) -> None:
    began = time.monotonic()
    first, second = await both(fleet, rank(0, "R1T1", "0000:4c:00.0"), rank(1, "R1T1", "0000:4c:00.0"))
    assert time.monotonic() - began < 10.0
    (error,) = lines(second, "error")
    assert (error["call"], error["text"]) == ("ncclCommInitRankConfig", "Error: network IB not found.")
    assert first.code == second.code == "probe"
    assert first.error
    (ended,) = await fleet.send("sim1/gpu2 sim2/gpu2")
    assert ended.error
    (ended,) = await fleet.send("sim1/gpu0 sim2/gpu0")
    assert ended.error == ""


async def test_both_ranks_tell_the_same_windows_also_after_one_node_alone_has_worked(fleet: Fleet) -> None:
    alone = Task("R1T1", "cuda_copy", {"op": "h2d", "gpus": ["0000:db:00.0"]})
    (copied,) = await fleet.source.run_tasks(NODES[1], [alone], 60.0)
    assert copied.error == ""
    for op in ("sendrecv", "sendrecv2"):
        outputs = await both(fleet, rank(0, f"{op}", op=op), rank(1, f"{op}", op=op))
        rates = [lines(output, "gbps") for output in outputs]
        assert [output.error for output in outputs] == ["", ""]
        assert len(rates[0]) == 16
        assert rates[0] == rates[1]
        assert [lines(output, "closed") for output in outputs] == [["done"], ["done"]]


async def test_ranks_of_one_node_go_by_nvlink_or_by_their_nics_as_the_probe_asks(fleet: Fleet) -> None:
    (by_nvlink,) = await fleet.send("sim1/gpu0 sim1/gpu1", probe="nccl_p2p")
    (by_nics,) = await fleet.send("sim1/gpu0 sim1/gpu3", probe="nccl_p2p_net")
    assert (by_nvlink.error, by_nics.error) == ("", "")
    assert median(by_nvlink.windows) == pytest.approx(NVLINK, rel=0.03)
    assert median(by_nics.windows) == pytest.approx(HEALTHY, rel=0.03)
    assert by_nvlink.detail.startswith("By P2P/CUMEM")


async def test_what_the_world_has_not_is_refused_in_words(fleet: Fleet) -> None:
    for more, words in (({"op": "allreduce"}, "all-reduce"), ({"hca": ["mlx5_3"]}, "leaves by mlx5_0 alone")):
        outputs = await both(fleet, rank(0, "R1T1", **more), rank(1, "R1T1", **more))
        assert all(output.error for output in outputs)
        assert any(words in error["text"] for output in outputs for error in lines(output, "error"))


async def test_the_library_is_found_in_the_nodes_folder_and_loads(fleet: Fleet) -> None:
    (output,) = await fleet.source.run_tasks(NODES[0], [Task("x", "nccl", {"op": "find"})], 60.0)
    found = lines(output, "found")[0]
    assert found["path"] == str(fleet.folder / "nodes" / "sim1" / "lib" / "libnccl.so.2")
    assert (found["version"], found["loads"], found["refusal"]) == (VERSION, VERSION, "")


async def test_a_rank_whose_partner_lacks_the_library_fails_with_it_and_leaves_nothing(fleet: Fleet) -> None:
    await fleet.send("sim1/gpu0 sim2/gpu0")
    before = processes(fleet.folder)
    outputs = await both(fleet, rank(0, "R1T1"), rank(1, "R1T1", library="/nowhere/libnccl.so.2"))
    assert outputs[1].code == "not-tested"
    assert outputs[0].error
    assert listening(fleet.folder) == set()
    assert len(processes(fleet.folder)) <= len(before)


async def test_a_rank_that_is_taken_back_while_it_waits_listens_no_more(fleet: Fleet) -> None:
    other = Task("R1T1.1", "burn", {"gpus": ["0000:19:00.0"], "kinds": ["integer"], "seconds": 100.0}, joint="R1T1")
    trial = asyncio.create_task(both(fleet, rank(0, "R1T1"), other))
    assert await within(10.0, lambda: len(listening(fleet.folder)) == 1)
    trial.cancel()
    await asyncio.gather(trial, return_exceptions=True)
    assert await within(10.0, lambda: not listening(fleet.folder))
    (ended,) = await fleet.send("sim1/gpu0 sim2/gpu0")
    assert ended.error == ""
    assert listening(fleet.folder) == set()


async def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Whether something comes true in that time."""
    for _ in range(int(seconds / 0.02)):
        if holds():
            return True
        await asyncio.sleep(0.02)
    return False


async def test_packets_that_never_arrive_are_a_remote_error_at_both_ends(tmp_path: Path) -> None:
    uplink = fault("uplink/leaf-1~spine-1", "hard")
    async with served(tmp_path, uplink, "nodes_per_leaf = 1\nspines = 1\n") as fleet:
        outputs = await both(fleet, rank(0, "R1T1"), rank(1, "R1T1"))
    errors = [error for output in outputs for error in lines(output, "error")]
    assert {(error["call"], error["name"]) for error in errors} >= {("ncclGroupEnd", "ncclRemoteError")}
    assert all(output.error for output in outputs)
