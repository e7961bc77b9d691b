"""A fabric on paper and for other programs: the report, NCCL's XML, Graphviz, GraphML."""

from __future__ import annotations

from xml.etree import ElementTree

import networkx as nx
import pytest
from lanescope.incident.errors import InputError
from lanescope.incident.ids import ComponentId, NodeId, gpu_id
from lanescope.incident.platforms import platform
from lanescope.topology.claims import LaneClaim, NodeClaims, PartClaim, Source
from lanescope.topology.expected import compare
from lanescope.topology.exports import dot, graphml
from lanescope.topology.merge import merge
from lanescope.topology.nccl_xml import nccl_xml
from lanescope.topology.sources.platform import fabric_of
from lanescope.topology.text import WIDTH, text

from .gathering import fabric_of_captures, fabric_of_texts

XMLS = ("aws-p4d-24xl-topo", "azure-ncv4-topo", "azure-ndv2-topo", "azure-ndv4-topo", "azure-ndv5-topo",
        "oci-b4-flattened", "oci-h100")  # fmt: skip


@pytest.fixture(scope="module")
def fleet():
    return fabric_of([f"gpu{number:03}" for number in range(1, 65)], platform("h100_hgx"), rails=8, leaves=16, spines=4)


def story(fabric, node="n"):
    """All that NCCL's form can hold of a node."""
    devices = (*fabric.gpus(node), *fabric.nics(node))
    links = [fabric.link(link) for link in (*(device / "pcie" for device in devices), *fabric.bridges(node))]
    return (
        {str(device): (fabric.bus_address(device), fabric.chain(device), fabric.numa_of(device)) for device in devices},
        {(str(link.component), link.max_speed, link.max_width) for link in links if link},
        {str(gpu): dict(fabric.lane_counts(gpu)) for gpu in fabric.gpus(node)},
        {str(nic): fabric.facts(nic).get("rate_gbps") for nic in fabric.nics(node)},
    )


# NCCL's XML


@pytest.mark.parametrize("name", XMLS)
def test_what_nccl_wrote_is_written_again_the_same(name):
    fabric = fabric_of_captures(f"nccl/topo-{name}.xml")
    assert story(fabric_of_texts(("again.xml", nccl_xml(fabric, "n")))) == story(fabric)


def test_bridges_that_nccl_leaves_out_are_left_out(fleet):
    root = ElementTree.fromstring(nccl_xml(fleet, "gpu001"))
    assert [pci.get("busid") for pci in root.findall("cpu/pci")][:2] == ["0000:16:00.0", "0000:38:00.0"]
    assert len(root.findall(".//gpu")) == 8
    assert [link.get("count") for link in root.find(".//gpu").findall("nvlink")] == ["5", "4", "4", "5"]


def test_nvlinks_that_are_down_are_not_given_to_nccl():
    node = NodeId("n")
    parts = [PartClaim(gpu_id(node, i), "gpu", Source.NVML, {"bus_address": f"0000:1{i}:00.0"}) for i in range(2)]
    lanes = [LaneClaim(gpu_id(node, 0), lane, Source.NVML, gpu_id(node, 1), up=lane != 3) for lane in range(4)]
    root = ElementTree.fromstring(nccl_xml(merge([NodeClaims(node, (*parts, *lanes))]), "n"))
    assert root.find(".//nvlink").get("count") == "3"


def test_nor_those_whose_far_end_nobody_tells():
    node = NodeId("n")
    part = PartClaim(gpu_id(node, 0), "gpu", Source.NVML, {"bus_address": "0000:19:00.0"})
    lanes = [LaneClaim(gpu_id(node, 0), lane, Source.NVIDIA_SMI, up=lane != 7) for lane in range(18)]
    root = ElementTree.fromstring(nccl_xml(merge([NodeClaims(node, (part, *lanes))]), "n"))
    assert root.find(".//nvlink").get("count") == "17"


def test_a_node_that_is_not_there_or_has_no_addresses_is_refused(fleet):
    with pytest.raises(InputError, match="gpu001"):
        nccl_xml(fleet, "gpu999")
    bare = merge([NodeClaims(NodeId("n"), (PartClaim(gpu_id("n", 0), "gpu", Source.TOPO_MATRIX),))])
    with pytest.raises(InputError, match="bus address"):
        nccl_xml(bare, "n")


# The report


def test_nodes_that_are_alike_are_told_once(fleet):
    report = text(fleet, compare(fleet), ())
    assert "gpu[001-064]  (64 alike)" in report
    assert report.count("HGX/DGX H100 8-GPU") == 1
    assert "8 NICs" in report or "32 NICs" in report


def test_no_line_is_wider_than_a_console(fleet):
    assert max(map(len, text(fleet, compare(fleet), ["x" * 300], ["y z " * 90]).splitlines())) <= WIDTH


def test_what_a_tool_printed_reaches_no_terminal_as_a_command():
    part = PartClaim(gpu_id("n", 0), "gpu", Source.NVIDIA_SMI, {"model": "evil \x1b]0;title\x07 GPU"})
    fabric = merge([NodeClaims(NodeId("n"), (part,))])
    for form in (text(fabric, (), ["\x1b[2J"]), dot(fabric), graphml(fabric)):
        assert "\x1b" not in form
        assert "\x07" not in form


def test_long_lists_say_how_many_more_there_are(fleet):
    report = text(fleet, (), [f"note {number}" for number in range(100)])
    assert "and 60 more: --json has all" in report


def test_a_contradiction_stands_in_the_report():
    claims = [PartClaim(gpu_id("n", 0), "gpu", source, {"bus_address": "0000:19:00.0", "uuid": source.name})
              for source in (Source.NVML, Source.NVIDIA_SMI)]  # fmt: skip
    assert "n/gpu0: uuid: NVML says NVML, nvidia-smi says NVIDIA_SMI" in text(
        merge([NodeClaims(NodeId("n"), tuple(claims))]), ()
    )


def test_nvswitches_and_what_nics_say_of_their_ports_stand_in_the_report():
    switches = text(fabric_of_captures("pcie/lspci-vvv-h100-hgx-xe9680.txt"), ())
    assert "4: nvswitch0 at 0000:83:00.0" in switches
    nic = text(fabric_of_captures("infiniband/ibstat-mlx4-port1-polling-port2-disabled.txt"), ())
    assert "mlx4_0: InfiniBand, Down" in nic


# For other programs


def test_graphml_is_read_back_with_every_part_and_bundle(fleet):
    graph = nx.parse_graphml(graphml(fleet))
    assert graph.number_of_nodes() == fleet.graph.number_of_nodes()
    assert graph.number_of_edges() == fleet.graph.number_of_edges()
    lanes = graph.edges["gpu001/gpu0", "gpu001/nvswitch0"]["lanes"]
    assert lanes == "0 1 2 3 4"


def test_dot_has_a_cluster_a_node_and_quotes_what_it_is_given(fleet):
    drawn = dot(fleet)
    assert drawn.count("subgraph cluster_") == 64
    assert '"gpu001/nvswitch0" -- "gpu001/gpu0" [label="NVLink x5"];' in drawn
    odd = PartClaim(ComponentId('n/a"b'), "nic", Source.SYSFS, {"bus_address": "0000:01:00.0"})
    assert '"n/a\\"b"' in dot(merge([NodeClaims(NodeId("n"), (odd,))]))
