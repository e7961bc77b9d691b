"""What several sources say becomes one graph: who is believed, what contradicts, what is only inferred."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.ids import ComponentId, NodeId
from lanescope.topology.claims import (
    CableClaim,
    ChainClaim,
    ClosenessClaim,
    LaneClaim,
    LaneCountClaim,
    NodeClaims,
    PartClaim,
    PcieClaim,
    Source,
)
from lanescope.topology.merge import merge
from lanescope.topology.paths import path

NODE = NodeId("n1")
GPU0, GPU1, NIC = NODE / "gpu0", NODE / "gpu1", NODE / "mlx5_0"
SWITCH = NODE / "nvswitch0"


def node(*claims, name=NODE):
    return NodeClaims(name, claims)


def network(*claims):
    return NodeClaims(None, claims)


def gpu(part=GPU0, source=Source.NVML, **facts):
    return PartClaim(part, "gpu", source, facts)


def said(fabric):
    return {(found.component, found.attribute): dict(found.said) for found in fabric.contradictions}


# Who is believed


def test_the_most_trusted_source_stands_whoever_speaks_first():
    fabric = merge([node(gpu(source=Source.LSPCI, numa=1), gpu(source=Source.SYSFS, numa=0))])
    assert fabric.numa_of(GPU0) == "n1/numa0"
    assert fabric.source_of(GPU0, "numa") is Source.SYSFS


def test_sources_that_differ_contradict_and_the_one_that_stands_comes_first():
    fabric = merge([node(gpu(source=Source.SYSFS, numa=0), gpu(source=Source.LSPCI, numa=1))])
    (found,) = fabric.contradictions
    assert (found.component, found.attribute) == (GPU0, "numa")
    assert found.said == ((Source.SYSFS, 0), (Source.LSPCI, 1))
    assert found.sentence == "numa: sysfs says 0, lspci says 1"


def test_one_thing_worded_differently_is_no_contradiction():
    fabric = merge([
        node(
            gpu(bus_address="00000000:19:00.0", uuid="GPU-AB"),
            gpu(source=Source.LSPCI, bus_address="19:00.0"),
            gpu(source=Source.NCCL, uuid="gpu-ab"),
            PartClaim(NIC, "nic", Source.SYSFS, {"node_guid": "a088:c203:0012:0034"}),
            PartClaim(NIC, "nic", Source.IBSTAT, {"node_guid": "0xa088c20300120034"}),
            PcieClaim(GPU0 / "pcie", Source.NVML, {"max_generation": 5}),
            PcieClaim(GPU0 / "pcie", Source.NCCL, {"max_speed_gts": 31.5}),
        )
    ])  # fmt: skip
    assert fabric.contradictions == ()
    assert fabric.bus_address(GPU0) == "0000:19:00.0"
    assert fabric.link(GPU0 / "pcie").max_speed == 32.0


def test_what_changes_with_load_or_time_never_contradicts():
    fabric = merge([
        node(
            PcieClaim(GPU0 / "pcie", Source.NVML, {"generation": 1}),
            PcieClaim(GPU0 / "pcie", Source.LSPCI, {"speed_gts": 32.0}),
            LaneClaim(GPU0, 0, Source.NVML, up=True, gbs=26.562),
            LaneClaim(GPU0, 0, Source.NVIDIA_SMI, up=False, gbs=25.0),
        )
    ])  # fmt: skip
    assert fabric.contradictions == ()


def test_a_width_that_two_sources_read_differently_is_a_contradiction():
    width = [
        PcieClaim(GPU0 / "pcie", source, {"width": lanes}) for source, lanes in ((Source.NVML, 16), (Source.LSPCI, 8))
    ]
    assert said(merge([node(*width)])) == {(GPU0 / "pcie", "width"): {Source.NVML: 16, Source.LSPCI: 8}}


def test_a_device_that_could_be_faster_than_its_slot_contradicts_nobody_but_one_that_can_do_less_does():
    link = PcieClaim(GPU0 / "pcie", Source.NVML, {"max_generation": 5})
    faster = PcieClaim(GPU0 / "pcie", Source.SYSFS, {"max_speed_gts": 64.0})
    slower = PcieClaim(GPU0 / "pcie", Source.SYSFS, {"max_speed_gts": 16.0})
    assert merge([node(link, faster)]).contradictions == ()
    assert (GPU0 / "pcie", "max_speed_gts") in said(merge([node(link, slower)]))


def test_a_data_sheet_is_no_witness_against_what_was_read():
    fabric = merge([node(gpu(numa=0), gpu(source=Source.PLATFORM, numa=1))])
    assert fabric.contradictions == ()


def test_a_source_that_was_read_twice_contradicts_nobody():
    fabric = merge([node(PcieClaim(GPU0 / "pcie", Source.LSPCI, {"width": width})) for width in (16, 8)])
    assert fabric.contradictions == ()


def test_what_says_nothing_is_not_taken_for_an_answer():
    fabric = merge([node(gpu(source=Source.SYSFS, numa=-1, uuid=""), gpu(source=Source.LSPCI, numa=1))])
    assert fabric.numa_of(GPU0) == "n1/numa1"
    assert fabric.contradictions == ()


def test_claims_of_one_node_in_several_files_come_together():
    fabric = merge([node(gpu()), node(PartClaim(NIC, "nic", Source.SYSFS, {}))])
    assert fabric.nodes == ("n1",)
    assert (fabric.gpus("n1"), fabric.nics("n1")) == ((GPU0,), (NIC,))


def test_a_part_that_only_a_link_names_stands_as_unknown():
    fabric = merge([node(LaneClaim(GPU0, 0, Source.NVML, far=SWITCH))])
    assert fabric.nvswitches("n1") == (SWITCH,)
    assert not fabric.is_known(SWITCH)


# PCIe


def chain(device, *bridges, source=Source.SYSFS, numa=None):
    return ChainClaim(device, source, bridges, numa)


UNDER_ONE_SWITCH = (
    chain(GPU0, "0000:15:01.0", "0000:16:00.0", "0000:17:00.0", numa=0),
    chain(NIC, "0000:15:01.0", "0000:16:00.0", "0000:17:01.0", numa=0),
)


def test_a_link_has_its_state_what_it_can_do_and_who_said_so():
    facts = {"speed_gts": 32.0, "width": 8, "max_speed_gts": 32.0, "max_width": 16}
    fabric = merge([node(gpu(), *UNDER_ONE_SWITCH, PcieClaim(NODE / "pcie/0000:16:00.0", Source.LSPCI, facts))])
    link = fabric.link("n1/pcie/0000:16:00.0")
    assert (link.kind, link.speed, link.max_speed, link.width, link.max_width) == ("pcie", 32.0, 32.0, 8, 16)
    assert (link.unit, link.state) == ("GT/s", "up")
    assert fabric.source_of("n1/pcie/0000:16:00.0", "width") is Source.LSPCI


def test_a_link_is_known_where_nobody_names_the_bridges_above_it():
    fabric = merge([node(gpu(bus_address="0000:19:00.0"), PcieClaim(GPU0 / "pcie", Source.NVIDIA_SMI, {"width": 16}))])
    assert fabric.link(GPU0 / "pcie").width == 16
    assert fabric.chain(GPU0) == ()


def test_a_chain_that_leaves_bridges_out_contradicts_nobody_and_neither_do_made_up_addresses():
    short = chain(GPU0, "0000:16:00.0", source=Source.NCCL)
    virtual = chain(NIC, "ffff:ff:01.0", source=Source.NCCL)
    fabric = merge([node(*UNDER_ONE_SWITCH, short, virtual)])
    assert fabric.contradictions == ()
    assert len(fabric.chain(GPU0)) == 4


def test_a_device_claimed_below_the_bridge_of_another_is_a_contradiction():
    elsewhere = chain(GPU1, "0000:97:01.0", "0000:98:00.0", "0000:99:00.0")
    wrong = chain(GPU0, "0000:98:00.0", source=Source.NCCL)
    assert (GPU0, "bridges") in said(merge([node(*UNDER_ONE_SWITCH, elsewhere, wrong)]))


# Closeness


def test_closeness_is_told_by_the_structure():
    devices = {
        NIC: ("0000:15:01.0", "0000:16:00.0", "0000:17:01.0"),
        NODE / "mlx5_1": ("0000:15:01.0", "0000:16:00.0", "0000:17:02.0", "0000:18:00.0", "0000:19:00.0"),
        NODE / "mlx5_2": ("0000:15:02.0", "0000:26:00.0", "0000:27:00.0"),
        NODE / "mlx5_3": ("0000:48:01.0", "0000:49:00.0", "0000:4a:00.0"),
    }
    claims = [chain(device, *bridges, numa=0) for device, bridges in devices.items()]
    far = chain(NODE / "mlx5_4", "0000:97:01.0", "0000:98:00.0", "0000:99:00.0", numa=1)
    fabric = merge([node(UNDER_ONE_SWITCH[0], *claims, far)])
    seen = [fabric.closeness(GPU0, NODE / f"mlx5_{number}") for number in range(5)]
    assert seen == ["PIX", "PXB", "PHB", "NODE", "SYS"]


def closeness(here, there, words, source=Source.TOPO_MATRIX):
    return ClosenessClaim(here, there, words, source)


def test_a_claim_that_the_bridges_deny_is_a_contradiction():
    fabric = merge([node(*UNDER_ONE_SWITCH, closeness(GPU0, NIC, "SYS"))])
    assert said(fabric) == {(GPU0, "closeness to mlx5_0"): {Source.SYSFS: "PIX", Source.TOPO_MATRIX: "SYS"}}


def test_a_virtual_machine_that_flattens_everything_contradicts_nobody():
    claims = [closeness(GPU0, NIC, "PHB"), closeness(GPU0, GPU1, "PHB"), closeness(GPU1, NIC, "PHB")]
    assert merge([node(*UNDER_ONE_SWITCH, *claims)]).contradictions == ()


def test_closeness_over_nvlink_is_as_many_lanes_as_somebody_counts():
    claim = ClosenessClaim(GPU0, GPU1, "NV", Source.TOPO_MATRIX, lanes=12)
    assert merge([node(claim)]).closeness(GPU1, GPU0) == "NV12"
    wired = [LaneClaim(part, lane, Source.NVML, SWITCH) for part in (GPU0, GPU1) for lane in range(18)]
    assert merge([node(*wired)]).closeness(GPU0, GPU1) == "NV18"


def test_devices_claimed_to_share_a_switch_get_one_that_is_marked_as_inferred():
    claims = [closeness(GPU0, NIC, "PIX"), closeness(GPU1, NODE / "mlx5_1", "PIX"), closeness(GPU0, GPU1, "SYS")]
    fabric = merge([node(*claims)])
    first, second = fabric.groups("n1")
    assert (first.devices, second.devices) == ((GPU0, NIC), (GPU1, "n1/mlx5_1"))
    assert fabric.inferred(first.id)
    assert not fabric.is_known(first.id)
    assert fabric.closeness(GPU0, NIC) == "PIX"
    assert fabric.closeness(GPU0, GPU1) == "SYS"


def test_nothing_is_inferred_of_devices_whose_bridges_somebody_names():
    fabric = merge([node(*UNDER_ONE_SWITCH, closeness(GPU0, GPU1, "PIX"))])
    assert not any(fabric.inferred(bridge) for bridge in fabric.bridges("n1"))


# NVLink


def lanes(part=GPU0, far=SWITCH, count=4, **more):
    return [LaneClaim(part, lane, Source.NVML, far, **more) for lane in range(count)]


def test_a_lane_has_its_state_and_who_said_so():
    fabric = merge([node(*lanes(up=True, gbs=26.562)[1:], LaneClaim(GPU0, 0, Source.NVIDIA_SMI, SWITCH, up=False))])
    assert (fabric.link(GPU0 / "nvlink0").state, fabric.link(GPU0 / "nvlink0").speed) == ("down", None)
    assert (fabric.link(GPU0 / "nvlink3").state, fabric.link(GPU0 / "nvlink3").speed) == ("up", 26.562)
    assert fabric.source_of(GPU0 / "nvlink3", "speed") is Source.NVML
    assert fabric.link(GPU0 / "nvlink9") is None


def test_lanes_between_gpus_have_their_states_at_both_ends():
    ends = [(GPU0, GPU1, True), (GPU1, GPU0, False)]
    fabric = merge([node(*(LaneClaim(here, 3, Source.NVML, there, port=3, up=up) for here, there, up in ends))])
    assert fabric.link(GPU0 / "nvlink3").state == "up"
    assert fabric.link(GPU1 / "nvlink3").state == "down"
    assert fabric.far_end(GPU1 / "nvlink3").port == GPU0 / "nvlink3"


def test_a_lane_said_to_end_at_two_places_is_a_contradiction():
    other = LaneClaim(GPU0, 0, Source.NVLINK_REMOTES, NODE / "nvswitch1")
    assert (GPU0 / "nvlink0", "far") in said(merge([node(*lanes(), other)]))


def test_the_port_of_a_lane_may_come_from_another_source_than_its_switch():
    fabric = merge([node(*lanes(), LaneClaim(GPU0, 2, Source.NVLINK_REMOTES, port=28))])
    assert fabric.port_of(GPU0 / "nvlink2") == "n1/nvswitch0/port28"
    assert fabric.port_of(GPU0 / "nvlink1") is None


def test_lanes_that_are_only_counted_are_counted_and_not_numbered():
    counts = [LaneCountClaim(GPU0, NODE / f"nvswitch{at}", lanes, Source.NCCL) for at, lanes in enumerate((5, 4, 4, 5))]
    fabric = merge([node(*counts)])
    assert fabric.lanes(GPU0) == ()
    assert fabric.lane_count(GPU0) == 18
    assert dict(fabric.lane_counts(GPU0)) == {f"n1/nvswitch{at}": lanes for at, lanes in enumerate((5, 4, 4, 5))}


def test_a_count_to_nobody_in_particular_says_how_many_lanes_there_are():
    fabric = merge([node(LaneCountClaim(GPU0, None, 18, Source.TOPO_MATRIX))])
    assert fabric.lane_count(GPU0) == 18
    assert fabric.nvswitches("n1") == ()


@pytest.mark.parametrize(("count", "contradicts"), [(4, False), (3, False), (2, True)])
def test_a_count_may_leave_out_lanes_that_are_down_and_no_others(count, contradicts):
    claims = [LaneClaim(GPU0, lane, Source.NVML, SWITCH, up=lane > 0) for lane in range(4)]
    fabric = merge([node(*claims, LaneCountClaim(GPU0, None, count, Source.TOPO_MATRIX))])
    assert bool(fabric.contradictions) is contradicts


# Racks


def tray(number, cluster="91bfbee7-3d6a-56e4-d7fa-243fc79eef44", clique=2):
    name = NodeId(f"tray{number}")
    gpus = [
        gpu(name / f"gpu{at}", model="NVIDIA GB200", cluster_uuid=cluster, clique_id=clique, numa=at // 2)
        for at in range(4)
    ]
    wired = [LaneClaim(name / f"gpu{at}", lane, Source.NVML) for at in range(4) for lane in range(18)]
    return node(*gpus, *wired, name=name)


def test_eighteen_trays_of_one_clique_are_one_domain_with_eighteen_chips_in_nine_switch_trays():
    fabric = merge([tray(number) for number in range(18)])
    domain = fabric.domain_of("tray0")
    assert domain == "nvl-91bfbee7-2"
    assert fabric.domain_nodes(domain) == tuple(f"tray{number}" for number in range(18))
    chips = fabric.domain_switches(domain)
    assert chips == tuple(f"{domain}/nvswitch{number}" for number in range(18))
    assert len(fabric.parts("switchtray")) == 9
    assert fabric.nvswitches("tray0") == ()
    assert dict(fabric.lane_counts("tray17/gpu3")) == dict.fromkeys(chips, 1)
    assert len(fabric.lanes("tray17/gpu3")) == 18
    assert all(fabric.inferred(chip) and not fabric.is_known(chip) for chip in chips)


def test_other_cliques_and_clusters_are_other_domains_and_zeros_are_none():
    fabric = merge([tray(0), tray(1, clique=3), tray(2, cluster="00000000-0000-0000-0000-000000000000")])
    assert fabric.domain_of("tray0") == "nvl-91bfbee7-2"
    assert fabric.domain_of("tray1") == "nvl-91bfbee7-3"
    assert fabric.domain_of("tray2") == "tray2"
    assert fabric.domain_of("nobody") is None


def test_switches_of_a_rack_that_a_source_names_stand_instead_of_counted_ones():
    name = NodeId("tray0")
    named = [
        LaneClaim(name / "gpu0", lane, Source.NVML, ComponentId(f"sw-{lane // 2}/nvswitch{lane % 2}"))
        for lane in range(18)
    ]
    first = NodeClaims(name, (gpu(name / "gpu0", model="NVIDIA GB200", cluster_uuid="91bfbee7", clique_id=0), *named))
    fabric = merge([first])
    assert len(fabric.domain_switches(fabric.domain_of("tray0"))) == 18
    assert fabric.switch_of("tray0/gpu0/nvlink3") == "sw-1/nvswitch1"


def test_chips_that_two_trays_name_have_the_lanes_of_both():
    trays = [NodeId("tray0"), NodeId("tray1")]
    chips = [ComponentId(f"sw-0/nvswitch{number}") for number in range(2)]
    claims = [
        NodeClaims(tray, tuple(LaneClaim(tray / "gpu0", lane, Source.NVML, chip) for lane, chip in enumerate(chips)))
        for tray in trays
    ]
    fabric = merge(claims)
    assert set(fabric.graph[chips[0]]) == {"tray0/gpu0", "tray1/gpu0"}
    assert fabric.nvswitches("sw-0") == tuple(chips)


def test_a_grace_gpu_hangs_on_its_socket_by_c2c():
    fabric = merge([tray(0)])
    assert fabric.c2c_of("tray0/gpu3") == "tray0/gpu3/c2c"
    assert fabric.graph.edges["tray0/gpu3", "tray0/numa1"]["kind"] == "c2c"
    assert fabric.link("tray0/gpu3/c2c").max_speed == 450
    assert fabric.link("tray0/gpu3/c2c").unit == "GB/s"


def test_a_grace_gpu_keeps_its_pcie_link_beside_c2c():
    name = NodeId("tray0")
    known = [tray(0), node(PcieClaim(name / "gpu0/pcie", Source.NVIDIA_SMI, {"width": 16}), name=name)]
    fabric = merge(known)
    assert fabric.link("tray0/gpu0/pcie").width == 16
    assert fabric.link("tray0/gpu0/c2c").kind == "c2c"


# Network


LEAF, SPINE = ComponentId("leaf-1"), ComponentId("spine-1")


def cable(here, here_port, there, there_port, source=Source.IBNETDISCOVER, **facts):
    return CableClaim(here, here_port, there, there_port, source, facts)


def switch(part, tier):
    return PartClaim(part, "netswitch", Source.IBNETDISCOVER, {"tier": tier})


def test_cables_and_uplinks_are_told_from_either_end():
    nic = PartClaim(NIC, "nic", Source.SYSFS, {"bus_address": "0000:1a:00.0"})
    fabric = merge([
        node(nic),
        network(
            switch(LEAF, "leaf"), switch(SPINE, "spine"),
            cable(LEAF, 12, NIC, 1, rate_gbps=400.0, max_rate_gbps=400.0, width=4, state="Active"),
            cable(NIC, 1, LEAF, 12),
            cable(SPINE, 3, LEAF, 40, rate_gbps=400.0, state="Active"), cable(LEAF, 41, SPINE, 4),
        ),
    ])  # fmt: skip
    assert fabric.netswitches == (LEAF, SPINE)
    assert fabric.leaf_of(NIC) == LEAF
    assert fabric.cable_of(NIC) == "cable/n1:mlx5_0~leaf-1:port12"
    link = fabric.link(fabric.cable_of(NIC))
    assert (link.kind, link.speed, link.max_speed, link.width, link.state) == ("cable", 400.0, 400.0, 4, "up")
    assert fabric.source_of("cable/n1:mlx5_0~leaf-1:port12", "speed") is Source.IBNETDISCOVER
    up = fabric.link("uplink/leaf-1~spine-1")
    assert (up.kind, up.max_width, up.width, up.speed, up.state) == ("uplink", 2, None, None, "up")
    assert fabric.uplinks(LEAF) == (SPINE,)


def test_a_nic_plugged_in_at_two_places_is_a_contradiction():
    fabric = merge([network(cable(NIC, 1, LEAF, 12), cable(NIC, 1, ComponentId("leaf-2"), 7, source=Source.LLDP))])
    assert said(fabric)[NIC, "cable"] == {Source.IBNETDISCOVER: "leaf-1:port12", Source.LLDP: "leaf-2:port7"}
    assert fabric.leaf_of(NIC) == LEAF


def test_a_switch_port_with_two_cables_is_a_contradiction():
    fabric = merge([network(cable(NIC, 1, LEAF, 12), cable(NODE / "mlx5_1", 1, LEAF, 12, source=Source.LLDP))])
    assert (LEAF / "port12", "cable") in said(fabric)


def test_a_node_that_only_the_network_names_stands_as_unknown():
    fabric = merge([network(cable(ComponentId("n9/mlx5_0"), 1, LEAF, 12))])
    assert fabric.nodes == ("n9",)
    assert fabric.nics("n9") == ("n9/mlx5_0",)
    assert not fabric.is_known("n9/mlx5_0")
    assert not fabric.is_known("n9/host")


def test_racks_and_rails_are_facts_of_hosts_and_nics():
    rack = PartClaim(NODE / "host", "host", Source.INVENTORY, {"rack": "R07"})
    rail = PartClaim(NIC, "nic", Source.INVENTORY, {"rail": 3})
    fabric = merge([node(rack, rail)])
    assert (fabric.rack_of("n1"), fabric.rail_of(NIC)) == ("R07", 3)
    assert (fabric.rack_of("n2"), fabric.rail_of(GPU0)) == (None, None)


def test_what_the_network_says_of_a_nic_is_held_against_its_node():
    mine = PartClaim(NIC, "nic", Source.SYSFS, {"node_guid": "a088c20300120034"})
    theirs = PartClaim(NIC, "nic", Source.IBNETDISCOVER, {"node_guid": "a088c20300129999", "lid": 7})
    fabric = merge([node(mine), network(theirs)])
    assert (NIC, "node_guid") in said(fabric)
    assert fabric.facts(NIC)["lid"] == 7


# Anything


PARTS = st.sampled_from(["gpu0", "gpu1", "mlx5_0", "nvswitch0", "numa0", "host", "x/y/z"]).map(lambda part: NODE / part)
SOURCES = st.sampled_from(list(Source))
VALUES = st.one_of(st.text(max_size=6), st.integers(-3, 1 << 40), st.floats(), st.booleans())
FACTS = st.dictionaries(
    st.sampled_from(["numa", "bus_address", "width", "cluster_uuid", "rail", "model"]), VALUES, max_size=4
)
PORTS = st.one_of(st.none(), st.integers(-2, 300))
BRIDGES = st.lists(st.sampled_from(["a", "0000:16:00.0", "b:c"]), max_size=3).map(tuple)
CLAIMS = st.one_of(
    st.builds(PartClaim, PARTS, st.sampled_from(["gpu", "nic", "nvswitch", "host", "numa"]), SOURCES, FACTS),
    st.builds(ChainClaim, PARTS, SOURCES, BRIDGES, PORTS),
    st.builds(PcieClaim, PARTS.map(lambda part: part / "pcie"), SOURCES, FACTS),
    st.builds(LaneClaim, PARTS, st.integers(-1, 300), SOURCES, st.one_of(st.none(), PARTS), PORTS),
    st.builds(LaneCountClaim, PARTS, st.one_of(st.none(), PARTS), st.integers(-1, 300), SOURCES),
    st.builds(ClosenessClaim, PARTS, PARTS, st.sampled_from(["PIX", "SYS", "NV", "?"]), SOURCES),
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.lists(CLAIMS, max_size=12))
def test_no_claims_however_mangled_make_the_merge_raise(claims):
    fabric = merge([NodeClaims(NODE, tuple(claims))])
    fabric.to_json()
    fabric.groups("n1")
    for part in fabric.graph:
        fabric.link(part / "pcie")
        fabric.lanes(part)


ENDS = st.one_of(PARTS, st.sampled_from(["leaf-1", "leaf-2", "spine-1"]).map(ComponentId))
CABLES = st.builds(CableClaim, ENDS, st.sampled_from([1, 2, "swp3", ""]), ENDS, st.integers(0, 2), SOURCES, FACTS)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(CABLES, CLAIMS), max_size=12))
def test_no_network_however_mangled_makes_the_merge_raise(claims):
    fabric = merge([node(gpu()), NodeClaims(None, tuple(claims))])
    fabric.to_json()
    for nic in fabric.parts("nic"):
        fabric.link(fabric.cable_of(nic) or "")
        path(fabric, GPU0, nic)
        path(fabric, nic, ComponentId("n2/gpu0"))


@settings(max_examples=40, deadline=None)
@given(st.lists(CLAIMS, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_claims_of_different_sources_does_not_matter(claims, random):
    first = {claim.source: claim for claim in claims}
    shuffled = list(first.values())
    random.shuffle(shuffled)
    known = [{**facts, "id": part} for part, facts in merge([node(*first.values())]).graph.nodes.items()]
    again = [{**facts, "id": part} for part, facts in merge([node(*shuffled)]).graph.nodes.items()]
    assert sorted(map(_comparable, known)) == sorted(map(_comparable, again))


def _comparable(facts):
    return sorted((key, str(value)) for key, value in facts.items())
