"""Real outputs build the fabric that their index says, read from the captures by eye."""

from __future__ import annotations

import pytest

from .gathering import fabric_of_captures

NODE = "n"
MATRICES = {
    # name: (GPUs, NICs, NVLinks of each GPU, pairs of GPU and NIC (or GPU) below one switch, NUMA of GPUs that say)
    "topo-m-16gpu-dgx2-nv6-excerpt": (16, 10, 6, [], {}),
    "topo-m-2gpu-nv2": (2, 0, 2, [], {}),
    "topo-m-4xgb200-all-sys": (4, 6, 18, [], {}),
    "topo-m-4xh100-oci-nic-legend": (4, 4, 18, [], {0: 0, 3: 0}),
    "topo-m-8xa100-compressed-docs": (8, 0, 12, [], {0: 0, 3: 0, 4: 1, 7: 1}),
    "topo-m-8xa100-vm-fused-affinity-535": (8, 8, 12, [], {}),
    "topo-m-8xh100-10nic-excerpt": (
        8, 10, 18, [("gpu0", "nic0"), ("gpu2", "nic2"), ("gpu3", "nic5"), ("gpu7", "nic9")], {0: 0, 7: 1},
    ),
    "topo-m-8xh100-mlx5-columns": (8, 10, 18, [("gpu0", "mlx5_0"), ("gpu7", "mlx5_7")], {0: 0, 7: 1}),
    "topo-m-8xh100-spaces": (8, 0, 18, [], {0: 0, 7: 1}),
    "topo-m-h100-18nic-misaligned-excerpt": (8, 18, 18, [], {0: 0}),
    "topo-m-h200-1gpu-590-ansi": (1, 0, 0, [], {0: 0}),
    "topo-m-rtxpro6000-8gpu-pcie-595-ansi": (
        8, 0, 0, [("gpu0", "gpu1"), ("gpu2", "gpu3"), ("gpu4", "gpu5"), ("gpu6", "gpu7")], {0: 0, 3: 0, 4: 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_gives_its_devices_their_lanes_and_who_shares_a_switch(name):
    gpus, nics, lanes, beside, numa = MATRICES[name]
    fabric = fabric_of_captures(f"nvidia-smi/{name}.txt")
    assert (len(fabric.gpus(NODE)), len(fabric.nics(NODE))) == (gpus, nics)
    assert {fabric.lane_count(gpu) for gpu in fabric.gpus(NODE)} == {lanes}
    for one, other in beside:
        assert fabric.switch_above(f"{NODE}/{one}") == fabric.switch_above(f"{NODE}/{other}") is not None
    for gpu, socket in numa.items():
        assert fabric.numa_of(f"{NODE}/gpu{gpu}") == f"{NODE}/numa{socket}"
    assert fabric.contradictions == ()


def test_nics_of_no_gpu_share_no_switch_with_one():
    fabric = fabric_of_captures("nvidia-smi/topo-m-8xh100-10nic-excerpt.txt")
    switches = {fabric.switch_above(gpu) for gpu in fabric.gpus(NODE)}
    assert {fabric.switch_above(f"{NODE}/nic3"), fabric.switch_above(f"{NODE}/nic4")}.isdisjoint(switches - {None})


XMLS = {
    # name: (GPUs, NICs, NUMA nodes, NVLinks of each GPU)
    "topo-aws-g5.48xl-topo": (0, 0, 2, 0),
    "topo-aws-p4d-24xl-topo": (8, 4, 2, 0),
    "topo-azure-ncv4-topo": (4, 0, 4, 0),
    "topo-azure-ndv2-topo": (8, 1, 2, 0),
    "topo-azure-ndv4-topo": (8, 8, 4, 0),
    "topo-azure-ndv5-topo": (8, 8, 2, 0),
    "topo-oci-b4-flattened": (8, 8, 4, 0),
    "topo-oci-h100": (8, 16, 2, 18),
}


@pytest.mark.parametrize("name", XMLS)
def test_an_nccl_topology_gives_its_devices(name):
    gpus, nics, sockets, lanes = XMLS[name]
    fabric = fabric_of_captures(f"nccl/{name}.xml")
    assert (len(fabric.gpus(NODE)), len(fabric.nics(NODE)), len(fabric.sockets(NODE))) == (gpus, nics, sockets)
    assert {fabric.lane_count(gpu) for gpu in fabric.gpus(NODE)} <= {lanes}


def test_an_h100_of_oci_has_four_nvswitches_with_5_5_4_4_lanes_of_each_gpu():
    fabric = fabric_of_captures("nccl/topo-oci-h100.xml")
    assert [fabric.bus_address(switch) for switch in fabric.nvswitches(NODE)] == [
        f"0000:{bus}:00.0" for bus in ("1a", "1b", "1c", "1d")
    ]
    for gpu in fabric.gpus(NODE):
        assert sorted(fabric.lane_counts(gpu).values()) == [4, 4, 5, 5]


def test_each_gpu_of_an_azure_h100_shares_a_switch_with_one_nic():
    fabric = fabric_of_captures("nccl/topo-azure-ndv5-topo.xml")
    groups = fabric.groups(NODE)
    assert [(len(group.gpus), len(group.nics)) for group in groups] == [(1, 1)] * 8


def test_an_nccl_graph_is_no_topology():
    assert fabric_of_captures("nccl/topo-azure-ncv4-graph.xml").nodes == ()


def test_lspci_of_an_azure_a100_shows_8_gpus_6_nvswitches_and_8_virtual_functions():
    fabric = fabric_of_captures("pcie/lspci-nn-a100-hgx.txt")
    assert (len(fabric.gpus(NODE)), len(fabric.nvswitches(NODE))) == (8, 6)
    assert sum(fabric.bus_address(nic).startswith("01") for nic in fabric.nics(NODE)) == 8


def test_lspci_of_an_xe9680_shows_x16_links_on_gpus_and_four_nvswitches():
    fabric = fabric_of_captures("pcie/lspci-vvv-h100-hgx-xe9680.txt")
    assert [fabric.bus_address(gpu)[5:7] for gpu in fabric.gpus(NODE)] == [
        "19", "3b", "4c", "5d", "9b", "bb", "cb", "db",
    ]  # fmt: skip
    links = [fabric.link(gpu / "pcie") for gpu in fabric.gpus(NODE)]
    assert {(link.width, link.max_width, link.max_speed) for link in links} == {(16, 16, 32.0)}
    assert [fabric.bus_address(switch)[5:7] for switch in fabric.nvswitches(NODE)] == ["83", "84", "85", "86"]


def test_lspci_of_two_cards_shows_both_at_x8_of_x16():
    fabric = fabric_of_captures("pcie/lspci-lnk-2x-rtx2060-x8.txt")
    links = [fabric.link(gpu / "pcie") for gpu in fabric.gpus(NODE)]
    assert [(link.width, link.max_width) for link in links] == [(8, 16), (8, 16)]


def test_a_report_and_a_matrix_of_one_platform_agree():
    fabric = fabric_of_captures("nvidia-smi/q-rtxpro6000-8gpu-595.txt", "pcie/lspci-vv-rtxpro6000-8gpu-idle.txt",
                                "nvidia-smi/topo-m-rtxpro6000-8gpu-pcie-595-ansi.txt")  # fmt: skip
    assert [fabric.bus_address(gpu)[5:7] for gpu in fabric.gpus(NODE)] == [
        "06", "07", "75", "76", "84", "85", "f4", "f5",
    ]  # fmt: skip
    assert fabric.contradictions == ()
    assert fabric.platform_of(NODE).key == "rtx_pro_6000"


def test_trays_with_one_cluster_and_clique_are_one_nvlink_domain():
    fabric = fabric_of_captures("nvidia-smi/q-x-gb200-4gpu-580.xml")
    assert fabric.domain_of(NODE) == "nvl-91bfbee7-2"
    assert len(fabric.domain_switches("nvl-91bfbee7-2")) == 18
    assert {fabric.lane_count(gpu) for gpu in fabric.gpus(NODE)} == {18}


def test_iblinkinfo_shows_three_hosts_on_one_switch_and_no_cable_at_ports_that_are_down():
    fabric = fabric_of_captures("infiniband/iblinkinfo-edr-sb7700.txt")
    (switch,) = fabric.netswitches
    cables = {str(nic): str(fabric.cable_of(nic)).rpartition(":")[2] for nic in fabric.parts("nic")}
    assert cables == {"n02/nic1": "port17", "n01/nic1": "port18", "mgt/mlx5_0": "port36"}
    assert fabric.facts(switch)["lid"] == 2
    assert fabric.contradictions == ()


def test_a_link_below_what_both_ends_can_is_slower_than_its_most():
    fabric = fabric_of_captures("infiniband/iblinkinfo-sdr-warning-could-be.txt")
    link = fabric.link(fabric.cable_of("hxa-gpu01/mlx5_0"))
    assert (link.speed, link.max_speed) == (10.0, 120.0)


def test_a_fat_tree_has_ten_hosts_and_its_leaves_lead_up():
    fabric = fabric_of_captures("infiniband/ibnetdiscover-hdr-faked-topology.txt")
    assert len(fabric.nodes) == 10
    tiers = [fabric.facts(switch)["tier"] for switch in fabric.netswitches]
    assert (tiers.count("leaf"), tiers.count("spine")) == (5, 3)
    leaves = [switch for switch in fabric.netswitches if fabric.facts(switch)["tier"] == "leaf"]
    assert {len(fabric.uplinks(leaf)) for leaf in leaves} == {1}
    assert fabric.contradictions == ()
