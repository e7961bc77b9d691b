"""The NCCL program of the nodes: its real text in real processes, one a rank, on simulated libraries."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest
from lanescope.fleet.joint import Runs
from lanescope.incident.errors import Unparsable
from lanescope.incident.events import Trial
from lanescope.incident.ids import ComponentId, NodeId
from lanescope.incident.platforms import platform
from lanescope.incident.source import Task, TaskOutput
from lanescope.probes.nccl_collective import COLLECTIVES
from lanescope.probes.nccl_pair import NetworkPair, PeerSend, PeerSendByNics
from lanescope.topology.sources.platform import fabric_of

from .nccl_ranks import Ranks, found, rates, simulated_libraries  # noqa: TID251 (this folder, not the room)
from .pipe_node import GPUS, gone  # noqa: TID251

NOISE = [
    {},
    {"step": "id", "rank": 1, "id": "00" * 128, "version": "1.2.3"},
    {"step": "ready", "rank": 99},
    {"step": "warm", "rank": True, "ms": 1e9},
    {"step": "nonsense", "rank": 1},
    {"step": ["id"], "rank": 0},
]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    return simulated_libraries(tmp_path_factory.mktemp("nccl"))


@pytest.fixture
async def ranks(libraries):
    """Processes that are gone with the test."""
    running = Ranks(libraries)
    yield running
    for process in running.processes:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
def orders(libraries):
    """What the ranks of a trial are asked for."""

    def make(op="sendrecv", ranks=2, **more):
        library = str(libraries / "libnccl.so.2")
        plan = {"op": op, "ranks": ranks, "library": library, **more}
        return [{**plan, "gpus": [GPUS[rank]], "rank0": rank} for rank in range(ranks)]

    return make


def error(lines):
    (report,) = found(lines, "error")
    return report


async def test_both_ranks_measure_sixteen_windows_and_part_in_peace(ranks, orders):
    for lines in await ranks.run(orders(), "rate 46.5 *"):
        assert rates(lines) == pytest.approx([46.5] * 16, rel=1e-3)
        assert found(lines, "closed") == ["done"]
        assert not found(lines, "error")


async def test_a_process_is_spent_with_its_task_because_nccl_reads_its_settings_once(ranks, orders):
    outputs = await ranks.run(orders())
    assert [lines[-1]["end"] for lines in outputs] == ["spent", "spent"]
    assert all(process.returncode == 0 for process in ranks.processes)


@pytest.mark.parametrize("op", ["sendrecv2", "allreduce", "alltoall"])
async def test_what_is_reported_is_the_bandwidth_of_the_bus(ranks, orders, op):
    count = 2 if op == "sendrecv2" else 4
    for lines in await ranks.run(orders(op, count), "rate 300 *"):
        assert rates(lines) == pytest.approx([300.0] * 16, rel=1e-3)


async def test_a_slow_stretch_is_seen_in_its_own_windows_alone(ranks, orders):
    slow, other = await ranks.run(orders(), "slow 0.4 0")
    assert 1 <= sum(rate < 40 for rate in rates(slow)) <= 3
    assert min(rates(other)) > 44


async def test_all_ranks_make_as_many_operations_as_the_slowest_of_them_fits_into_a_window(ranks, orders):
    outputs = await ranks.run(orders(), "rate 20 1")
    counts = {found(lines, "warm")[0]["operations_per_window"] for lines in outputs}
    assert counts == {round(30.0 / (64 * 2**20 / 20e6))}


@pytest.mark.parametrize(
    ("transports", "via"),
    [
        ({}, "P2P/CUMEM"),
        ({"P2P": False}, "SHM/direct/direct"),
        ({"P2P": False, "SHM": False}, "NET/IB/0/GDRDMA"),
        ({"P2P": False, "SHM": False, "NET": "Socket"}, "NET/Socket/0"),
    ],
    ids=["any", "no p2p", "no shm either", "sockets"],
)
async def test_transports_that_are_turned_off_are_off_before_nccl_is_loaded(ranks, orders, transports, via):
    for lines in await ranks.run(orders(transports=transports)):
        assert found(lines, "head")[0]["via"] == {via: 1}


async def test_a_transport_that_is_asked_for_is_on_whatever_the_node_sets(ranks, orders):
    off = {rank: {"NCCL_P2P_DISABLE": "1"} for rank in range(2)}
    for lines in await ranks.run(orders(transports={"P2P": True}), environments=off):
        assert found(lines, "head")[0]["via"] == {"P2P/CUMEM": 1}


async def test_the_head_names_library_version_network_and_the_nics_in_use(ranks, orders, libraries):
    transports = {"P2P": False, "SHM": False, "NVLS": False}
    outputs = await ranks.run(orders(transports=transports, hca=["mlx5_3"]))
    head = found(outputs[1], "head")[0]
    assert head["nccl"]["real"] == str(libraries / "libnccl.so.2")
    assert (head["nccl"]["version"], head["nccl"]["cuda"]) == ("2.27.7", "12.9")
    assert (head["network"], head["nics"], head["rank"]) == ("IB", ["mlx5_3"], 1)
    assert head["settings"] == {"NCCL_P2P_DISABLE": "1"}
    assert head["nvls"] is None


async def test_a_rank_that_never_came_is_a_deadline_of_the_others_wait(ranks, orders):
    (lines,) = await ranks.run(orders(), seconds=1.5, absent=[1])
    assert error(lines)["name"] == "NOT_TOLD"
    assert lines[-1]["end"] == "deadline"


async def test_ranks_stuck_in_nccl_end_in_time_and_the_first_to_give_up_names_the_call(ranks, orders):
    began = time.monotonic()
    outputs = await ranks.run(orders(), "hang ncclCommInitRankConfig 1", seconds=2)
    assert time.monotonic() - began < 5
    reports = [error(lines) for lines in outputs]
    assert ("ncclCommInitRankConfig", "LATE") in [(report["call"], report["name"]) for report in reports]
    assert {report["name"] for report in reports} <= {"LATE", "PARTNER"}
    assert [found(lines, "abort") for lines in outputs] == [["done"], ["done"]]


async def test_an_abort_that_hangs_is_left_behind_in_time(ranks, orders):
    began = time.monotonic()
    outputs = await ranks.run(orders(), "hang ncclCommInitRankConfig 1;hang ncclCommAbort *", seconds=2)
    assert time.monotonic() - began < 5
    assert [found(lines, "abort") for lines in outputs] == [["hung"], ["hung"]]
    assert all(process.returncode == 0 for process in ranks.processes)


async def test_an_operation_that_never_completes_is_a_deadline_and_nothing_is_freed_under_it(ranks, orders):
    _, stalled = await ranks.run(orders(), "stall 1", seconds=2)
    assert error(stalled)["name"] == "DEADLINE"
    assert "warm-up" in error(stalled)["call"]


async def test_parting_that_hangs_costs_the_measurement_nothing(ranks, orders):
    outputs = await ranks.run(orders(), "hang ncclCommDestroy *", seconds=10)
    for lines in outputs:
        assert len(rates(lines)) == 16
        assert found(lines, "closed") == ["hung"]
        assert lines[-1]["end"] == "spent"


async def test_without_a_library_the_package_is_named_and_no_rank_waits(ranks, orders, tmp_path):
    began = time.monotonic()
    plan = orders()
    plan[0]["library"] = str(tmp_path / "libnccl.so.2")
    first, second = await ranks.run(plan)
    assert time.monotonic() - began < 8
    assert error(first) == {**error(first), "name": "MISSING", "text": "libnccl.so.2 (package: libnccl2)"}
    assert error(second)["name"] == "PARTNER"


@pytest.mark.parametrize("loose", ["libnccl.so.2", "."], ids=["the file", "its folder"])
async def test_a_library_that_others_can_write_is_named_and_not_loaded(ranks, orders, libraries, tmp_path, loose):
    copy = tmp_path / "libnccl.so.2"
    copy.write_bytes((libraries / "libnccl.so.2").read_bytes())
    copy.chmod(0o755)
    (tmp_path / loose).chmod(0o777)
    first, _ = await ranks.run(orders(library=str(copy)))
    assert error(first)["name"] == "MISSING"
    assert f"{(tmp_path / loose).resolve()} can be written by others" in error(first)["text"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
async def test_a_library_of_another_user_is_named_and_not_loaded(ranks, orders, libraries, tmp_path):
    copy = tmp_path / "libnccl.so.2"
    copy.write_bytes((libraries / "libnccl.so.2").read_bytes())
    os.chown(copy, 4711, 4711)
    first, _ = await ranks.run(orders(library=str(copy)))
    assert "belongs to user 4711" in error(first)["text"]


async def test_a_library_for_a_newer_cuda_than_the_drivers_is_not_taken(ranks, orders, libraries, tmp_path):
    copy = tmp_path / "libnccl.so.2"
    copy.write_bytes((libraries / "libnccl.so.2").read_bytes().replace(b"+cuda12.9", b"+cuda14.0"))
    first, _ = await ranks.run(orders(library=str(copy)))
    assert "built for CUDA 14.0, the driver has 13.0" in error(first)["text"]


async def test_ranks_of_two_versions_are_told_apart_before_they_meet_in_nccl(ranks, orders):
    newer = {1: {"SIMULATED_NCCL": "version 22903"}}
    outputs = await ranks.run(orders(), environments=newer)
    assert [error(lines)["name"] for lines in outputs] == ["PARTNER", "VERSIONS_DIFFER"]
    assert "rank 0 has NCCL 2.27.7" in error(outputs[1])["text"]
    assert "2.29.3" in error(outputs[1])["text"]


async def test_a_rank_that_can_t_reach_rank_0_says_where_it_listens(ranks, orders):
    began = time.monotonic()
    outputs = await ranks.run(orders(), "shut 0")
    assert time.monotonic() - began < 8
    assert [error(lines)["name"] for lines in outputs] == ["PARTNER", "UNREACHABLE"]
    assert "rank 0 listens on 127.0.0.1:" in error(outputs[1])["text"]
    assert "Connection refused" in error(outputs[1])["text"]


async def test_an_error_of_nccl_is_told_in_its_words_and_never_by_a_number_that_is_cudas(ranks, orders):
    first, second = await ranks.run(orders(), "fail ncclGetUniqueId 2 0")
    report = {
        "call": "ncclGetUniqueId",
        "name": "ncclSystemError",
        "code": 0,
        "text": "simulated: ncclGetUniqueId fails on rank 0",
    }
    assert error(first) == report
    assert error(second)["name"] == "PARTNER"


async def test_what_nccl_wrote_is_said_also_when_it_failed(ranks, orders):
    _, failed = await ranks.run(orders(hca=["mlx5_7"]), "fail ncclSend 3 1;fail ncclRecv 6 1", seconds=6)
    assert error(failed)["name"] == "ncclRemoteError"
    assert found(failed, "log")[0]["network"] == "IB"
    assert found(failed, "abort") == ["done"]


async def test_messages_that_are_none_of_ours_are_left(ranks, orders):
    for lines in await ranks.run(orders(), told_before=NOISE):
        assert len(rates(lines)) == 16


async def test_a_rank_that_fails_in_nccl_frees_the_others_that_wait_there(ranks, orders):
    began = time.monotonic()
    rule = "fail ncclCommInitRankConfig 2 1"
    waiting, failed = await ranks.run(orders(), rule)
    assert time.monotonic() - began < 8
    assert error(failed)["name"] == "ncclSystemError"
    assert error(waiting)["name"] == "PARTNER"
    assert found(waiting, "abort") == ["done"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"op": "burn"},
        {"gpus": [GPUS[0], GPUS[1]]},
        {"gpus": ["; rm -rf /"]},
        {"ranks": 1},
        {"ranks": 3},
        {"rank0": 2},
        {"bytes": "many"},
        {"nics": ["../../etc/passwd"]},
        {"hca": "mlx5_0"},
        {"library": "libnccl.so.2"},
        {"transports": {"LD_PRELOAD": False}},
        {"transports": {"NET": "IB\nNCCL_DEBUG=TRACE"}},
        {"gid_index": -1},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
async def test_arguments_are_checked_on_the_node(ranks, orders, wrong):
    plan = orders()
    (lines,) = await ranks.run([{**plan[0], **wrong}])
    assert error(lines)["name"] == "BAD_TASK"
    assert not rates(lines)


async def test_find_says_of_each_library_whether_it_can_be_loaded(ranks, libraries):
    (lines,) = await ranks.run([{"op": "find"}])
    here = str(libraries / "libnccl.so.2")
    (said,) = [each for each in found(lines, "found") if each["real"] == here]
    assert (said["loads"], said["version"], said["cuda"], said["refusal"]) == ("2.27.7", "2.27.7", "12.9", "")
    assert lines[-1]["end"] == "done"


async def test_find_reports_a_library_it_does_not_trust_without_opening_it(ranks, libraries, tmp_path):
    copy = tmp_path / "libnccl.so.2"
    copy.write_bytes((libraries / "libnccl.so.2").read_bytes())
    copy.chmod(0o777)
    (lines,) = await ranks.run([{"op": "find", "library": str(copy)}])
    (said,) = found(lines, "found")
    assert said["refusal"] == f"{copy.resolve()} can be written by others"
    assert said["version"] == ""
    assert "loads" not in said


@pytest.fixture(scope="module")
def fabric():
    """Two nodes with NICs on leaves."""
    return fabric_of(["n0", "n1"], platform("h100_hgx"), rails=8, leaves=8, spines=4)


PLACES = ";".join(f"at {platform('h100_hgx').device(f'gpu{number}').address} {number}" for number in range(8))


async def measured(ranks, libraries, fabric, probe, targets, nccl=""):
    """A trial of a probe, from its tasks to its reading, by real processes."""
    gpus = tuple(ComponentId(target) for target in targets)
    trial = Trial(id="R1T1", probe=probe.name, node=gpus[0].node, targets=gpus, seconds=0.6)
    tasks = probe.tasks(trial, fabric)
    library = str(libraries / "libnccl.so.2")
    orders = [{**task.arguments, "library": library} for _, task in tasks]
    said = await ranks.run(orders, nccl, gpu=PLACES)
    return probe.read(
        [TaskOutput(task.id, tuple(lines), 100.0, 101.0) for (_, task), lines in zip(tasks, said, strict=True)],
        trial,
        fabric,
    )


async def test_a_network_pair_is_read_from_the_windows_of_both_ranks(ranks, libraries, fabric):
    read = await measured(ranks, libraries, fabric, NetworkPair(), ["n0/gpu2", "n1/gpu2"], "rate 46 0;rate 44 1")
    assert read.windows == pytest.approx([44.0] * 16, rel=1e-3)
    assert read.detail == "By NET/IB/0/GDRDMA, NICs mlx5_4."
    assert read.measured_by == "nccl 2.27.7, CUDA driver 13.0"


@pytest.mark.parametrize("probe", [PeerSend(), PeerSendByNics(), *COLLECTIVES], ids=lambda probe: probe.name)
async def test_every_probe_is_carried_by_the_transport_it_is_about(ranks, libraries, fabric, probe):
    read = await measured(ranks, libraries, fabric, probe, ["n0/gpu0", "n0/gpu1"], "rate 300 *")
    assert read.windows == pytest.approx([300.0] * 16, rel=1e-3)


async def test_a_transport_that_nccl_chose_against_our_word_is_no_measurement(ranks, libraries, fabric):
    with pytest.raises(Unparsable, match="SHM/direct and not by the RDMA NICs"):
        await measured(ranks, libraries, fabric, PeerSendByNics(), ["n0/gpu0", "n0/gpu1"], "via SHM/direct")


@pytest.fixture
def nodes(node, tmp_path):
    """Two nodes with the counters of NICs and lanes, and their probe workers by name."""
    for nic in ("mlx5_4", "mlx5_9"):
        port = tmp_path / nic / "ports" / "1" / "counters"
        port.mkdir(parents=True)
        (port / "symbol_error").write_text("7\n")
    moving = [platform("h100_hgx").device("gpu5").address, 3, 162]
    traits = {"nvml": {"lanes": 18, "moving": moving}, "swaps": {"/sys/class/infiniband": str(tmp_path)}}
    made = [node(PLACES, name=name, **traits) for name in ("n0", "n1")]
    for link, _ in made:
        link.env["SIMULATED_NCCL"] = "rate 46 *"
    return [link for link, _ in made], {link.node: worker for link, worker in made}


async def joint(workers, libraries, fabric, probe, targets, deadline=20, instead=None):
    """A trial on the nodes' own workers. -> the outputs of its tasks, and how the probe reads them"""
    gpus = tuple(ComponentId(target) for target in targets)
    trial = Trial(id="R1T1", probe=probe.name, node=gpus[0].node, targets=gpus, seconds=0.6)
    tasks: dict[NodeId, list[Task]] = {}
    for node, task in probe.tasks(trial, fabric):
        arguments = {**task.arguments, "library": str(libraries / "libnccl.so.2"), **(instead or {}).get(node, {})}
        tasks.setdefault(node, []).append(replace(task, arguments=arguments))
    said = await Runs(workers.__getitem__).on_all(tasks, deadline)
    outputs = [output for each in said.values() for output in each]
    return outputs, lambda: probe.read(outputs, trial, fabric)


async def test_two_nodes_meet_over_the_operators_connections_and_need_nothing_else(nodes, libraries, fabric):
    _, workers = nodes
    for _ in range(2):
        outputs, read = await joint(workers, libraries, fabric, NetworkPair(), ["n0/gpu2", "n1/gpu5"])
        assert [output.error for output in outputs] == ["", ""]
        assert read().windows == pytest.approx([46.0] * 16, rel=1e-3)


async def test_the_counters_of_both_nics_are_read_at_the_edges(nodes, libraries, fabric):
    _, workers = nodes
    _, read = await joint(workers, libraries, fabric, NetworkPair(), ["n0/gpu2", "n1/gpu5"])
    moves = [(move.component, move.counter, move.before, move.after) for move in read().moves]
    assert moves == [("n0/mlx5_4", "symbol_error", 7.0, 7.0), ("n1/mlx5_9", "symbol_error", 7.0, 7.0)]


async def test_ranks_of_one_node_meet_in_its_worker(nodes, libraries, fabric):
    _, workers = nodes
    outputs, read = await joint(workers, libraries, fabric, PeerSend(), ["n0/gpu2", "n0/gpu5"])
    assert [output.error for output in outputs] == ["", ""]
    measured = read()
    assert len(measured.windows) == 16
    moved = [(move.component, move.counter) for move in measured.moves if move.step]
    assert moved == [("n0/gpu5/nvlink3", "recovery_errors")]
    assert len(measured.moves) == 2 * 18 * 3


async def test_a_task_never_meets_an_nccl_that_was_loaded_with_the_settings_of_another(nodes, libraries, fabric):
    _, workers = nodes
    for probe in (PeerSend(), PeerSendByNics(), PeerSend()):
        _, read = await joint(workers, libraries, fabric, probe, ["n0/gpu2", "n0/gpu5"])
        assert len(read().windows) == 16


async def test_a_node_without_nccl_makes_the_trial_untested_on_both(nodes, libraries, fabric):
    _, workers = nodes
    missing = {NodeId("n1"): {"library": "/nowhere/libnccl.so.2"}}
    outputs, _ = await joint(workers, libraries, fabric, NetworkPair(), ["n0/gpu2", "n1/gpu5"], instead=missing)
    assert [output.code for output in outputs] == ["not-tested", "not-tested"]
    assert all("libnccl.so.2 (package: libnccl2)" in output.error for output in outputs)


async def test_a_trial_that_hangs_in_nccl_leaves_no_process(nodes, libraries, fabric):
    links, workers = nodes
    links[1].env["SIMULATED_NCCL"] = "hang ncclCommInitRankConfig 1;hang ncclCommAbort *"
    outputs, _ = await joint(workers, libraries, fabric, NetworkPair(), ["n0/gpu2", "n1/gpu5"], deadline=4)
    assert all(output.code == "deadline" for output in outputs)
    for worker in workers.values():
        await worker.close()
    assert await gone(links[0], 3)
    assert await gone(links[1], 3)
