"""What platform a node is, told by its GPUs."""

from __future__ import annotations

import pytest
from lanescope.incident.ids import NodeId, gpu_id
from lanescope.incident.platforms import all_platforms, platform
from lanescope.topology.claims import LaneClaim, NodeClaims, PartClaim, Source
from lanescope.topology.merge import merge
from lanescope.topology.sources.platform import fabric_of

NAMES = {
    "NVIDIA H100 80GB HBM3": (8, "h100_hgx"),
    "NVIDIA H100 PCIe": (4, "h100_pcie"),
    "NVIDIA H100 NVL": (2, "h100_nvl"),
    "NVIDIA H200": (8, "h200_hgx"),
    "NVIDIA H200 NVL": (8, "h200_nvl"),
    "NVIDIA A100-SXM4-80GB": (8, "a100_hgx"),
    "NVIDIA A100-PCIE-40GB": (4, "a100_pcie"),
    "NVIDIA A100 80GB PCIe": (8, "a100_pcie"),
    "NVIDIA B200": (8, "b200_hgx"),
    "NVIDIA B300 SXM6 AC": (8, "b300_hgx"),
    "NVIDIA GH200 480GB": (1, "gh200"),
    "NVIDIA GB200": (4, "gb200_nvl72"),
    "NVIDIA GB300": (4, "gb300_nvl72"),
    "Tesla V100-SXM2-32GB-LS": (8, "v100_hgx"),
    "Tesla T4": (1, "t4"),
    "NVIDIA A10G": (4, "a10g"),
    "NVIDIA L40S": (1, "l40s"),
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": (8, "rtx_pro_6000"),
    "NVIDIA GeForce RTX 2080 SUPER": (1, "rtx_2080_super"),
    "NVIDIA GeForce RTX 3080": (1, "rtx_3080"),
    "GeForce GTX 1070 Ti": (1, "gtx_1070_ti"),
}


def node_with(model, count, *more):
    node = NodeId("n")
    gpus = [PartClaim(gpu_id(node, index), "gpu", Source.NVML, {"model": model}) for index in range(count)]
    return merge([NodeClaims(node, (*gpus, *more))])


@pytest.mark.parametrize("model", NAMES)
def test_a_node_is_recognized_by_the_name_its_gpus_print(model):
    count, key = NAMES[model]
    assert node_with(model, count).platform_of("n").key == key


def test_every_platform_of_the_reference_data_has_a_name_it_is_recognized_by():
    found = {key for _, key in NAMES.values()}
    assert {known.key for known in all_platforms()} - found <= {"h100_hgx_4sw", "v100_pcie", "v100_dgx2", "rtx_4090"}


@pytest.mark.parametrize("model", ["NVIDIA Something", "", "B2000", "NVIDIA H100X"])
def test_a_name_nobody_knows_is_no_platform(model):
    assert node_with(model, 8).platform_of("n") is None


def test_more_gpus_than_a_platform_can_have_are_not_that_platform():
    assert node_with("NVIDIA H200", 16).platform_of("n") is None


def test_fewer_gpus_are_a_virtual_machine_on_part_of_the_board_or_a_board_that_lost_some():
    assert node_with("NVIDIA H200", 1).platform_of("n").key == "h200_hgx"


def test_gpus_wired_to_each_other_are_not_a_board_with_nvswitches():
    lane = LaneClaim(gpu_id("n", 0), 0, Source.NVML, gpu_id("n", 1))
    assert node_with("NVIDIA A100-SXM4-40GB", 4, lane).platform_of("n") is None


@pytest.mark.parametrize("known", all_platforms(), ids=lambda known: known.key)
def test_a_node_of_every_platform_has_what_its_counts_say_and_no_more(known):
    fabric = fabric_of(["n"], known)
    assert fabric.platform_of("n") is known
    assert len(fabric.gpus("n")) == known.gpus
    assert len(fabric.nics("n")) == known.nics
    assert len(fabric.sockets("n")) == (known.sockets or len({group.numa for group in known.groups}))
    assert len(fabric.domain_switches(fabric.domain_of("n"))) == len(known.switch_lanes)
    assert all(fabric.lane_count(gpu) == sum(known.switch_lanes) for gpu in fabric.gpus("n"))
    if not known.has_layout:
        assert fabric.bridges("n") == ()
        assert not any(fabric.bus_address(part) for part in fabric.graph)
        links = [fabric.link(device / "pcie") for device in (*fabric.gpus("n"), *fabric.nics("n"))]
        assert all(link.max_width is None or link.said["max_width"] is Source.PLATFORM for link in links)


def test_a_platform_is_typed_wherever_its_data_come_from():
    nvl72, l40s = platform("gb200_nvl72"), platform("l40s")
    assert (nvl72.trays, nvl72.switch_trays, nvl72.sockets, nvl72.c2c_gbs) == (18, 9, 2, 450)
    assert (l40s.lanes_per_gpu, l40s.pcie_generation, l40s.pcie_width) == (0, 4, 16)
    assert platform("b200_hgx").expect["h2d_pinned"].degraded_below > 0
