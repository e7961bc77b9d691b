"""What a transfer crosses, between any two ends, and the same as arrays."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.ids import ComponentId
from lanescope.incident.platforms import all_platform_names, platform
from lanescope.topology.claims import CableClaim, ChainClaim, LaneClaim, NodeClaims, PartClaim, Source
from lanescope.topology.compiled import CompiledFabric
from lanescope.topology.merge import merge
from lanescope.topology.paths import host_copy_path, path, peer_copy_path
from lanescope.topology.sources.platform import fabric_of


def crossed(fabric, src, dst):
    return {crossing.component: crossing.share for crossing in path(fabric, ComponentId(src), ComponentId(dst))}


def choices(fabric, src, dst):
    return {c.component: c.choice for c in path(fabric, ComponentId(src), ComponentId(dst)) if c.choice}


@pytest.fixture(scope="module")
def hgx():
    """Four nodes, eight rails, two nodes a leaf, four spines."""
    return fabric_of(["n0", "n1", "n2", "n3"], platform("h100_hgx"), rails=8, leaves=16, spines=4)


@pytest.fixture(scope="module")
def rack():
    """Two racks of NVL72 and a tray of a third."""
    return fabric_of([f"t{number}" for number in range(37)], platform("gb200_nvl72"), rails=4, leaves=4, spines=2)


# Within a node


def test_gpus_on_nvswitches_stripe_over_all_their_lanes_and_no_pcie(hgx):
    way = crossed(hgx, "n0/gpu0", "n0/gpu5")
    lanes = {part: share for part, share in way.items() if part.kind == "nvlink"}
    assert len(lanes) == 36
    assert set(lanes.values()) == {1 / 18}
    assert {part.name: share for part, share in way.items() if part.kind == "nvswitch"} == {
        "nvswitch0": 5 / 18, "nvswitch1": 4 / 18, "nvswitch2": 4 / 18, "nvswitch3": 5 / 18,
    }  # fmt: skip
    assert {part for part, share in way.items() if share == 1.0} == {"n0/gpu0", "n0/gpu5", "n0/host"}


def test_probes_and_everybody_else_read_the_same_paths(hgx):
    gpu, other = ComponentId("n0/gpu0"), ComponentId("n0/gpu5")
    assert crossed(hgx, gpu, other) == {c.component: c.share for c in peer_copy_path(hgx, gpu, other)}
    assert crossed(hgx, "n0/numa0", gpu) == {c.component: c.share for c in host_copy_path(hgx, gpu)}
    assert crossed(hgx, "n0/host", gpu) == crossed(hgx, "n0/numa0", gpu)


def test_host_memory_of_the_other_socket_crosses_both(hgx):
    assert {"n0/numa0", "n0/numa1"} <= crossed(hgx, "n0/numa1", "n0/gpu0").keys()


def test_a_gpu_and_the_nic_beside_it_turn_round_at_their_switch(hgx):
    assert crossed(hgx, "n0/gpu0", "n0/mlx5_0") == dict.fromkeys(
        [
            "n0/gpu0", "n0/gpu0/pcie", "n0/pcie/0000:17:00.0", "n0/pcie/0000:16:00.0", "n0/pcie/0000:17:01.0",
            "n0/mlx5_0/pcie", "n0/mlx5_0", "n0/host",
        ],
        1.0,
    )  # fmt: skip


def test_a_gpu_and_a_nic_of_the_other_socket_cross_both_sockets(hgx):
    way = crossed(hgx, "n0/gpu0", "n0/mlx5_9")
    assert {"n0/numa0", "n0/numa1", "n0/pcie/0000:15:01.0", "n0/pcie/0000:b7:01.0"} <= way.keys()


def test_memory_of_a_gpu_is_an_end_of_its_own(hgx):
    assert crossed(hgx, "n0/gpu0/hbm", "n0/numa0") == {"n0/gpu0/hbm": 1.0, **crossed(hgx, "n0/gpu0", "n0/numa0")}


def wired(*pairs):
    gpus = [
        PartClaim(ComponentId(f"n/gpu{at}"), "gpu", Source.NVML, {"bus_address": f"0000:{at}9:00.0"}) for at in range(3)
    ]
    chains = [
        ChainClaim(ComponentId(f"n/gpu{at}"), Source.SYSFS, (f"0000:{at}5:01.0", f"0000:{at}6:00.0"), 0)
        for at in range(3)
    ]
    lanes = [
        LaneClaim(ComponentId(f"n/gpu{here}"), lane, Source.NVML, ComponentId(f"n/gpu{there}"))
        for here, there in pairs
        for lane in range(4)
    ]
    return merge([NodeClaims(ComponentId("n").node, (*gpus, *chains, *lanes))])


def test_gpus_wired_to_each_other_use_the_lanes_between_them_and_others_pcie():
    fabric = wired((0, 1), (1, 0))
    direct = crossed(fabric, "n/gpu0", "n/gpu1")
    assert {part for part in direct if part.kind == "nvlink"} == {
        f"n/gpu{at}/nvlink{n}" for at in (0, 1) for n in range(4)
    }
    assert not any("nvlink" in part for part in crossed(fabric, "n/gpu0", "n/gpu2"))
    assert {"n/gpu2/pcie", "n/numa0"} <= crossed(fabric, "n/gpu0", "n/gpu2").keys()


def test_lanes_that_end_nobody_knows_where_still_carry_the_copy_where_the_board_has_nvswitches():
    claims = [
        claim
        for at in range(2)
        for claim in (
            PartClaim(ComponentId(f"n/gpu{at}"), "gpu", Source.NVML, {"model": "NVIDIA H200"}),
            *(LaneClaim(ComponentId(f"n/gpu{at}"), lane, Source.NVML) for lane in range(18)),
        )
    ]
    way = crossed(merge([NodeClaims(ComponentId("n").node, tuple(claims))]), "n/gpu0", "n/gpu1")
    assert sum(part.kind == "nvlink" for part in way) == 36


# Between nodes


def test_gpus_of_one_rail_meet_at_their_leaf(hgx):
    way = crossed(hgx, "n0/gpu3", "n1/gpu3")
    assert {part for part in way if part.startswith(("leaf", "spine", "uplink", "cable"))} == {
        "leaf-4", "cable/n0:mlx5_5~leaf-4:port1", "cable/n1:mlx5_5~leaf-4:port2",
    }  # fmt: skip
    assert {"n0/host", "n0/gpu3/pcie", "n0/mlx5_5", "n1/mlx5_5/pcie", "n1/gpu3"} <= way.keys()
    assert not any(part.kind in ("nvlink", "nvswitch", "numa") for part in way)
    assert set(way.values()) == {1.0}


@pytest.mark.parametrize(("src", "dst"), [("n0/gpu3", "n2/gpu3"), ("n0/gpu0", "n1/gpu1")])
def test_other_leaves_are_reached_over_any_of_the_spines(hgx, src, dst):
    way, open_choices = crossed(hgx, src, dst), choices(hgx, src, dst)
    spines = tuple(f"spine-{number}" for number in range(1, 5))
    assert {part: share for part, share in way.items() if part.startswith("spine")} == dict.fromkeys(spines, 0.25)
    assert sum(share for part, share in way.items() if part.kind == "uplink") == 2.0
    assert sum(part.startswith("leaf") for part in way) == 2
    assert set(open_choices.values()) == {spines}
    assert set(open_choices) == {part for part in way if part.startswith(("spine", "uplink"))}


def test_two_gpus_and_two_nics_below_one_switch_have_one_each():
    fabric = fabric_of(["n0", "n1"], platform("h100_hgx_4sw"), rails=8, spines=1)
    assert "n0/mlx5_3" in crossed(fabric, "n0/gpu3", "n1/gpu3")
    assert "n0/mlx5_2" not in crossed(fabric, "n0/gpu3", "n1/gpu3")


def test_a_nic_named_as_end_is_the_one_that_is_used(hgx):
    way = crossed(hgx, "n0/mlx5_5", "n2/mlx5_0")
    assert {"n0/mlx5_5", "n2/mlx5_0", "leaf-4", "leaf-9"} <= way.keys()
    assert not any(part.kind in ("gpu", "pcie", "bridge") for part in way)


def test_host_memory_leaves_by_any_nic_of_its_socket_on_the_rail_it_arrives_by(hgx):
    way = crossed(hgx, "n0/numa0", "n1/numa0")
    nics = [part for part in way if part.kind == "nic"]
    assert {part.node for part in nics} == {"n0", "n1"}
    assert {way[nic] for nic in nics} == {0.25}
    assert not any(part.startswith("spine") for part in way)
    assert choices(hgx, "n0/numa0", "n1/numa0")["n0/mlx5_0"] == ("n0/mlx5_0", "n0/mlx5_3", "n0/mlx5_4", "n0/mlx5_5")


def test_nics_that_nobody_places_are_alternatives_and_none_is_picked():
    fabric = fabric_of(["n0", "n1"], platform("b200_hgx"), rails=8, spines=2)
    way = crossed(fabric, "n0/gpu0", "n1/gpu5")
    assert {part: share for part, share in way.items() if part.kind == "nic"} == {
        f"{node}/nic{number}": 0.125 for node in ("n0", "n1") for number in range(8)
    }
    assert not any(part.startswith("spine") for part in way)


def test_without_a_cable_known_a_way_ends_at_the_nic():
    fabric = fabric_of(["n0", "n1"], platform("h100_hgx"))
    way = crossed(fabric, "n0/gpu0", "n1/gpu0")
    assert {"n0/mlx5_0", "n1/mlx5_0"} <= way.keys()
    assert not any(part.startswith(("cable", "leaf")) for part in way)


def test_nodes_without_any_nic_are_all_that_is_known_of_the_way():
    fabric = fabric_of(["n0", "n1"], platform("l40s"))
    assert crossed(fabric, "n0/gpu0", "n1/gpu0").keys() == {"n0/gpu0", "n0/host", "n1/gpu0", "n1/host"}


def three_tiers(state="active"):
    """leaf-1 and leaf-2, each on two spines of its own; all spines on both cores."""
    wires = [("n0/mlx5_0", "leaf-1"), ("n1/mlx5_0", "leaf-2"), ("leaf-1", "spine-1"), ("leaf-1", "spine-2")]
    wires += [
        ("leaf-2", "spine-3"),
        ("leaf-2", "spine-4"),
        *product(("spine-1", "spine-2", "spine-3", "spine-4"), ("core-1", "core-2")),
    ]
    ports: dict[str, int] = {}

    def port(part):
        ports[part] = ports.get(part, 0) + 1
        return ports[part]

    cables = [
        CableClaim(
            ComponentId(here), port(here), ComponentId(there), port(there), Source.IBLINKINFO,
            {"state": state if (here, there) == ("leaf-1", "spine-2") else "active"},
        )
        for here, there in wires
    ]  # fmt: skip
    tiers = {"leaf": 2, "spine": 4, "core": 2}
    parts = [
        PartClaim(ComponentId(f"{tier}-{number + 1}"), "netswitch", Source.IBLINKINFO, {"tier": tier})
        for tier, count in tiers.items()
        for number in range(count)
    ]
    return merge([NodeClaims(None, (*parts, *cables))])


def test_more_tiers_share_evenly_over_all_shortest_ways():
    way = crossed(three_tiers(), "n0/mlx5_0", "n1/mlx5_0")
    assert {way[f"spine-{number}"] for number in range(1, 5)} == {0.5}
    assert {way["core-1"], way["core-2"]} == {0.5}
    assert way["uplink/spine-1~core-1"] == 0.25


def test_nothing_goes_over_an_uplink_that_is_down():
    way = crossed(three_tiers(state="down"), "n0/mlx5_0", "n1/mlx5_0")
    assert way["spine-1"] == 1.0
    assert "spine-2" not in way


# Racks


def test_gpus_of_two_trays_meet_at_every_chip_of_their_rack(rack):
    way = crossed(rack, "t0/gpu0", "t17/gpu3")
    assert {part: share for part, share in way.items() if part.kind == "nvswitch"} == {
        f"nvl-0/nvswitch{number}": pytest.approx(1 / 18) for number in range(18)
    }
    assert sum(part.kind == "nvlink" for part in way) == 36
    assert {"t0/host", "t17/host"} <= way.keys()
    assert not any(part.kind in ("nic", "cable") for part in way)


def test_gpus_of_two_racks_go_over_the_network(rack):
    way = crossed(rack, "t0/gpu0", "t18/gpu0")
    assert not any(part.kind == "nvlink" for part in way)
    assert any(part.kind == "cable" for part in way)
    assert {"t0/gpu0/c2c", "t18/gpu0/c2c"} <= way.keys()


def test_a_grace_gpu_reaches_host_memory_by_c2c(rack):
    assert crossed(rack, "t0/numa1", "t0/gpu3").keys() == {"t0/numa1", "t0/gpu3/c2c", "t0/gpu3", "t0/host"}


# As arrays


def ends_of(fabric):
    return [part for kind in ("gpu", "nic", "numa", "host", "hbm") for part in fabric.parts(kind)]


def some_nodes(name, rails):
    nodes = [f"n{at}" for at in range(20 if "nvl72" in name else 3)]
    return fabric_of(nodes, platform(name), rails=rails, leaves=2 * rails, spines=2)


FABRICS = {(name, rails): some_nodes(name, rails) for name in all_platform_names() for rails in (0, 4)}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_compiled_fabric_says_what_the_paths_say(data):
    fabric = FABRICS[data.draw(st.sampled_from(list(FABRICS)))]
    src, dst = (data.draw(st.sampled_from(ends_of(fabric))) for _ in range(2))
    compiled = CompiledFabric(fabric)
    indices, shares = compiled.path(src, dst)
    assert len(set(indices.tolist())) == len(indices)
    said = {compiled.components[at]: share for at, share in zip(indices.tolist(), shares.tolist(), strict=True)}
    assert said == pytest.approx(crossed(fabric, src, dst))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_path_carries_more_than_all_and_both_directions_cross_the_same(data):
    fabric = FABRICS[data.draw(st.sampled_from(list(FABRICS)))]
    src, dst = (data.draw(st.sampled_from(ends_of(fabric))) for _ in range(2))
    way = path(fabric, src, dst)
    assert all(0 < crossing.share <= 1 for crossing in way)
    assert len({crossing.component for crossing in way}) == len(way)
    assert crossed(fabric, dst, src) == pytest.approx(crossed(fabric, src, dst))


def test_numbers_of_components_stay_as_more_paths_are_asked_for(hgx):
    compiled = CompiledFabric(hgx)
    first = compiled.path(ComponentId("n0/gpu0"), ComponentId("n1/gpu0"))
    known = list(compiled.components)
    compiled.path(ComponentId("n2/gpu0"), ComponentId("n3/gpu7"))
    again = compiled.path(ComponentId("n0/gpu0"), ComponentId("n1/gpu0"))
    assert compiled.components[: len(known)] == known
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))
    assert compiled.number(ComponentId("n0/gpu0")) == known.index("n0/gpu0")
