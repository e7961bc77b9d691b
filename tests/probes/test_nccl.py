"""What NCCL's probes ask of the nodes, what they cross, and how the answers of all ranks are read as one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.errors import ProbeError, Unparsable
from lanescope.incident.events import Trial
from lanescope.incident.ids import ComponentId, NodeId, gpu_id
from lanescope.incident.platforms import platform
from lanescope.incident.source import TaskOutput
from lanescope.probes.nccl_collective import COLLECTIVES
from lanescope.probes.nccl_pair import NetworkPair, PeerSend, PeerSendByNics
from lanescope.probes.probe import Aim
from lanescope.topology.paths import path, peer_copy_path
from lanescope.topology.sources.facts import build_fabric
from lanescope.topology.sources.platform import fabric_of

P2P, P2P_NET, NET_PAIR = PeerSend(), PeerSendByNics(), NetworkPair()
GROUPS = {probe.name: probe for probe in COLLECTIVES}
PROBES = (P2P, P2P_NET, NET_PAIR, *COLLECTIVES)
N0, N1 = NodeId("n0"), NodeId("n1")


@pytest.fixture(scope="module")
def hgx():
    """Four nodes, eight rails, two nodes a leaf, four spines."""
    return fabric_of(["n0", "n1", "n2", "n3"], platform("h100_hgx"), rails=8, leaves=16, spines=4)


@pytest.fixture(scope="module")
def rack():
    """Trays of one NVLink domain."""
    return fabric_of(["t0", "t1"], platform("gb200_nvl72"), rails=4, leaves=4, spines=2)


def gpus(*ends):
    return tuple(gpu_id(node, number) for node, number in ends)


def trial(probe, *ends):
    targets = gpus(*ends)
    return Trial(id="R1T1", probe=probe.name, node=targets[0].node, targets=targets, seconds=0.6)


def answers(of, *ranks):
    """Outputs of the ranks, in order, each given by its lines."""
    return [TaskOutput(f"{of.id}.{rank}", tuple(lines), 100.0, 101.0, 2.0) for rank, lines in enumerate(ranks)]


def windows(rates, late=()):
    return [
        {"w": number, "gbps": rate, "ms": 30.0, "t": 30.0 * number, **({"late": 1} if number in late else {})}
        for number, rate in enumerate(rates)
    ]


def head(via="NET/IB/0/GDRDMA", *nics, **more):
    return {
        "head": {"via": {via: 16} if via else {}, "nics": list(nics), "driver": 12080, **more},
    }


def well(*nics, **more):
    return [head("NET/IB/0/GDRDMA", *nics, nccl={"version": "2.27.7"}, **more), *windows([46.0] * 16)]


def names(way):
    return {crossing.component for crossing in way}


def test_the_probes_of_a_pair_take_ordered_pairs_and_those_across_nodes_their_ends_alone(hgx):
    assert len(P2P.targets(hgx, N0)) == len(P2P_NET.targets(hgx, N0)) == 8 * 7
    assert NET_PAIR.targets(hgx, N1) == tuple((gpu,) for gpu in hgx.gpus("n1"))
    assert NET_PAIR.aim is Aim.ACROSS


def test_the_search_may_choose_the_network_pair_and_no_other_of_them():
    assert [probe.name for probe in PROBES if probe.searches] == ["net_pair"]


def test_a_node_without_nics_has_no_ends_for_the_network(fabric):
    node = NodeId("gpu-001")
    assert P2P.targets(fabric, node)
    assert P2P_NET.targets(fabric, node) == NET_PAIR.targets(fabric, node) == ()
    assert GROUPS["allreduce_net"].targets(fabric, node) == ()


def test_a_group_is_all_gpus_of_a_node_unless_people_choose_another(hgx):
    assert GROUPS["allreduce_subset"].targets(hgx, N0) == (hgx.gpus("n0"),)
    assert GROUPS["allreduce_subset"].targets(build_fabric([]), N0) == ()


def test_a_network_pair_crosses_what_the_fabric_says_a_transfer_between_them_crosses(hgx):
    ends = gpus(("n0", 0), ("n1", 5))
    assert NET_PAIR.exercises(hgx, ends) == path(hgx, *ends)
    assert NET_PAIR.counted(hgx, ends) == (ComponentId("n0/mlx5_0"), ComponentId("n1/mlx5_9"))


def test_within_a_node_the_nics_lead_out_to_the_leaves_and_in_again_past_every_lane(hgx):
    way = names(P2P_NET.exercises(hgx, gpus(("n0", 0), ("n0", 5))))
    assert {"n0/gpu0", "n0/mlx5_0", "leaf-1", "leaf-6", "n0/mlx5_9", "n0/gpu5", "n0/host"} <= way
    assert sum(part.kind == "cable" for part in way) == 2
    assert not any(part.kind in ("nvlink", "nvswitch") for part in way)


def test_every_part_of_a_way_by_the_nics_carries_a_share_and_spines_share_the_load(hgx):
    shares = {c.component: c.share for c in P2P_NET.exercises(hgx, gpus(("n0", 0), ("n0", 5)))}
    assert all(0 < share <= 1 for share in shares.values())
    assert [shares[f"spine-{number}"] for number in (1, 2, 3, 4)] == [0.25] * 4


def test_trays_of_one_nvlink_domain_are_paired_by_their_nics_all_the_same(rack):
    ends = gpus(("t0", 0), ("t1", 0))
    assert any(part.kind == "nvlink" for part in names(path(rack, *ends)))
    way = names(NET_PAIR.exercises(rack, ends))
    assert set(NET_PAIR.counted(rack, ends)) <= way
    assert not any(part.kind == "nvlink" for part in way)


def test_a_send_within_a_node_crosses_what_a_copy_crosses_and_counts_all_lanes(hgx):
    ends = gpus(("n0", 3), ("n0", 5))
    assert P2P.exercises(hgx, ends) == peer_copy_path(hgx, *ends)
    assert len(P2P.counted(hgx, ends)) == 36


def test_a_group_crosses_all_lanes_of_its_gpus_and_without_p2p_host_memory(hgx):
    ends = gpus(("n0", 0), ("n0", 1), ("n0", 4))
    lanes = {lane for gpu in ends for lane in hgx.lanes(gpu)}
    assert lanes <= names(GROUPS["allreduce_subset"].exercises(hgx, ends))
    by_host = names(GROUPS["allreduce_p2p_off"].exercises(hgx, ends))
    assert not lanes & by_host
    assert {"n0/numa0", "n0/numa1", "n0/gpu4/pcie"} <= by_host


def test_a_group_of_two_nodes_uses_the_nics_of_each_place(hgx):
    ends = gpus(("n0", 0), ("n0", 1), ("n1", 0), ("n1", 1))
    way = names(GROUPS["allreduce_subset"].exercises(hgx, ends))
    assert {"n0/mlx5_0", "n1/mlx5_0", "n0/mlx5_3", "n1/mlx5_3"} <= way
    assert "n0/mlx5_4" not in way


def test_each_rank_is_a_task_of_its_own_on_its_node_and_all_are_one_trial(hgx):
    (first, one), (second, other) = NET_PAIR.tasks(trial(NET_PAIR, ("n0", 2), ("n1", 7)), hgx)
    assert (first, second) == (N0, N1)
    assert (one.id, other.id, one.joint, other.joint) == ("R1T1.0", "R1T1.1", "R1T1", "R1T1")
    assert (one.arguments["rank0"], other.arguments["rank0"], one.arguments["ranks"]) == (0, 1, 2)
    assert one.arguments["gpus"] == [platform("h100_hgx").device("gpu2").address]
    assert one.arguments["transports"] == {"P2P": False, "SHM": False, "NVLS": False}
    assert (one.arguments["hca"], other.arguments["hca"]) == (["mlx5_4"], ["mlx5_11"])
    assert (one.arguments["nics"], other.arguments["nics"]) == (["mlx5_4"], ["mlx5_11"])


def test_ranks_of_one_node_see_the_nics_of_all_of_them_and_read_their_own(hgx):
    (_, one), (_, other) = P2P_NET.tasks(trial(P2P_NET, ("n0", 0), ("n0", 1)), hgx)
    assert one.arguments["hca"] == other.arguments["hca"] == ["mlx5_0", "mlx5_3"]
    assert (one.arguments["nics"], other.arguments["nics"]) == (["mlx5_0"], ["mlx5_3"])


def test_a_probe_that_may_use_nvlink_names_no_nics(hgx):
    ((_, one), _) = P2P.tasks(trial(P2P, ("n0", 0), ("n0", 1)), hgx)
    assert one.arguments["transports"] == {"P2P": True}
    assert "hca" not in one.arguments
    assert "nics" not in one.arguments


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_a_target_that_lost_its_address_is_refused_in_a_sentence(probe):
    with pytest.raises(ProbeError, match=r"n0/gpu1 .* bus address"):
        probe.tasks(trial(probe, ("n0", 1), ("n0", 2)), build_fabric([]))


def test_consent_is_asked_in_words_that_name_both_nodes(hgx):
    assert NET_PAIR.cost(gpus(("n0", 3), ("n1", 5))) == (
        "loads GPU3 of n0 and GPU5 of n1, their NICs and the network between them for 0.6 s"
    )
    assert GROUPS["allreduce_net"].cost(hgx.gpus("n0")) == "loads 8 GPUs of n0 and their NICs for 0.6 s"


def test_the_healthy_figure_of_the_network_is_that_of_a_nic_in_gigabytes(hgx):
    expected = platform("h100_hgx").expect["ib_write_bw"].value / 8
    assert NET_PAIR.expected(hgx, gpus(("n0", 0), ("n1", 0))) == expected
    assert 45 < expected < 50
    assert math.isnan(NET_PAIR.expected(build_fabric([]), gpus(("n0", 0), ("n1", 0))))
    assert math.isnan(GROUPS["allreduce_subset"].expected(hgx, hgx.gpus("n0")))


def test_the_slowest_rank_of_each_window_counts(hgx):
    pair = trial(NET_PAIR, ("n0", 0), ("n1", 0))
    one, other = [46.0] * 16, [46.0] * 16
    one[3], other[9] = 20.0, 30.0
    read = NET_PAIR.read(answers(pair, [head(), *windows(one)], [head(), *windows(other)]), pair, hgx)
    assert [read.windows[number] for number in (3, 9, 0)] == [20.0, 30.0, 46.0]
    assert len(read.windows) == 16


def test_a_window_that_began_late_on_any_rank_is_dropped_on_all(hgx):
    pair = trial(NET_PAIR, ("n0", 0), ("n1", 0))
    ranks = [head(), *windows([46.0] * 16, late=(2, 3))], [head(), *windows([46.0] * 16, late=(3, 4))]
    read = NET_PAIR.read(answers(pair, *ranks), pair, hgx)
    assert len(read.windows) == 13
    assert "13 of 16 windows used: 3 began late on some rank, 0 unreadable" in read.measured_by


def test_windows_that_only_one_rank_measured_are_no_measurement(hgx):
    pair = trial(NET_PAIR, ("n0", 0), ("n1", 0))
    ranks = [head(), *windows([46.0] * 16)], [head(), *windows([46.0] * 7)]
    with pytest.raises(Unparsable, match="7 windows of 16 that all 2 ranks can use, and 8 are needed"):
        NET_PAIR.read(answers(pair, *ranks), pair, hgx)
    with pytest.raises(Unparsable, match="2 ranks"):
        NET_PAIR.read(answers(pair, well()), pair, hgx)


def test_the_answer_says_which_nccl_measured_over_what(hgx):
    pair = trial(NET_PAIR, ("n0", 0), ("n1", 0))
    read = NET_PAIR.read(answers(pair, well("mlx5_0"), well("mlx5_0")), pair, hgx)
    assert read.measured_by == "nccl 2.27.7, CUDA driver 12.8"
    assert read.detail == "By NET/IB/0/GDRDMA, NICs mlx5_0."


def test_data_that_crossed_host_memory_on_their_way_to_the_nic_are_worth_a_word(hgx):
    pair = trial(NET_PAIR, ("n0", 0), ("n1", 0))
    lines = [head("NET/IB/0"), *windows([30.0] * 16)]
    assert "without GPUDirect RDMA" in NET_PAIR.read(answers(pair, lines, lines), pair, hgx).detail


@pytest.mark.parametrize(
    ("probe", "via", "words"),
    [
        (P2P, "SHM/direct/direct", "went by SHM/direct/direct and not by P2P"),
        (P2P, "NET/IB/0", "and not by P2P"),
        (P2P_NET, "P2P/CUMEM", "went by P2P/CUMEM and not by the RDMA NICs"),
        (P2P_NET, "NET/Socket/0", "went by NET/Socket/0 and not by the RDMA NICs"),
        (GROUPS["allreduce_p2p_off"], "P2P/direct", "which was turned off"),
        (GROUPS["allreduce_net"], "SHM/direct/direct", "not by the RDMA NICs"),
    ],
    ids=lambda value: getattr(value, "name", value).split("/")[0],
)
def test_another_transport_than_the_one_asked_for_is_no_measurement(hgx, probe, via, words):
    pair = trial(probe, ("n0", 0), ("n0", 1))
    lines = [head(via), *windows([46.0] * 16)]
    with pytest.raises(Unparsable, match=words):
        probe.read(answers(pair, lines, lines), pair, hgx)


@pytest.mark.parametrize(
    ("probe", "via"),
    [(P2P, "P2P/CUMEM"), (GROUPS["allreduce_p2p_off"], "SHM/direct/direct"), (GROUPS["allreduce_net"], "NET/IB/1")],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_transport_that_was_asked_for_is(hgx, probe, via):
    pair = trial(probe, ("n0", 0), ("n0", 1))
    lines = [head(via), *windows([46.0] * 16)]
    assert len(probe.read(answers(pair, lines, lines), pair, hgx).windows) == 16


def test_another_nic_than_the_gpus_own_makes_it_another_way(hgx):
    pair = trial(NET_PAIR, ("n0", 0), ("n1", 0))
    with pytest.raises(Unparsable, match="left n1 by mlx5_7 and not by mlx5_0"):
        NET_PAIR.read(answers(pair, well("mlx5_0"), well("mlx5_7")), pair, hgx)


def test_nvls_in_use_where_it_was_turned_off_is_no_measurement(hgx):
    probe = GROUPS["allreduce_nvls_off"]
    group = trial(probe, ("n0", 0), ("n0", 1))
    used = [head("P2P/CUMEM", nvls="used"), *windows([400.0] * 16)]
    with pytest.raises(Unparsable, match="used NVLS"):
        probe.read(answers(group, used, used), group, hgx)


def test_counters_of_both_nics_are_read_also_where_they_stood_still(hgx):
    pair = trial(NET_PAIR, ("n0", 0), ("n1", 0))
    ours = {"counters": [counter("mlx5_0", "symbol_error", 4, 9)]}
    theirs = {"counters": [counter("mlx5_0", "symbol_error", 2, 2)]}
    moves = NET_PAIR.read(answers(pair, [*well(), ours], [*well(), theirs]), pair, hgx).moves
    assert {(move.component, move.counter, move.step) for move in moves} == {
        ("n0/mlx5_0", "symbol_error", 5.0), ("n1/mlx5_0", "symbol_error", 0.0),
    }  # fmt: skip


def test_lanes_are_counted_by_the_rank_they_belong_to(hgx):
    pair = trial(P2P, ("n0", 3), ("n0", 5))
    lines = [head("P2P/CUMEM"), *windows([300.0] * 16)]
    bus = platform("h100_hgx").device("gpu3").address
    row = {"gpu": bus.upper(), "lane": 7, "name": "recovery_errors", "before": 1, "after": 3}
    (move,) = P2P.read(answers(pair, [*lines, {"counters": [row]}], [*lines, {"counters": [row]}]), pair, hgx).moves
    assert (move.component, move.step) == ("n0/gpu3/nvlink7", 2.0)


def test_counters_of_parts_the_trial_did_not_load_are_not_taken(hgx):
    pair = trial(NET_PAIR, ("n0", 0), ("n1", 0))
    rows = [counter("mlx5_7", "symbol_error", 0, 5), counter("../x", "y", 0, 1), counter("mlx5_0", None, 0, 1)]
    rows += [{"gpu": 7}, {**counter("mlx5_0", "symbol_error", 0, 1), "after": None}]
    assert NET_PAIR.read(answers(pair, [*well(), {"counters": rows}], well()), pair, hgx).moves == ()


def counter(nic, name, before, after):
    return {"nic": nic, "name": name, "before": before, "after": after}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["w", "gbps", "late", "head", "counters", "gpu", "nic", "lane", "name", "before", "after", "via", "nics", "nccl"]
)
LINES = st.lists(st.dictionaries(KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON), max_size=3)) | JSON, max_size=24)


@settings(max_examples=80, deadline=None)
@given(mangled=LINES, good=st.booleans(), probe=st.sampled_from(PROBES))
def test_no_answer_however_mangled_raises_anything_but_unparsable(hgx, mangled, good, probe):
    of = trial(probe, ("n0", 0), ("n0", 1))
    lines = [*mangled, *(windows([46.0] * 16) if good else ())]
    try:
        measured = probe.read(answers(of, lines, [*well(), *mangled]), of, hgx)
    except Unparsable:
        return
    assert len(measured.windows) >= 8
    assert all(0 < rate < math.inf for rate in measured.windows)
    assert all(math.isfinite(move.before) and math.isfinite(move.after) for move in measured.moves)
