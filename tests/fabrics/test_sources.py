"""From the outputs of tools to one graph: who is who, who says what, and who contradicts whom."""

from __future__ import annotations

import pytest
from lanescope.incident.errors import InputError
from lanescope.incident.ids import NodeId
from lanescope.topology.claims import Source
from lanescope.topology.merge import merge
from lanescope.topology.sources.inventory import claims_of, read_inventory

from .gathering import capture, fabric_of_captures, fabric_of_texts, gathered

CSV = """index, name, pci.bus_id, uuid, pcie.link.width.current, pcie.link.width.max
0, NVIDIA H100 80GB HBM3, 00000000:19:00.0, GPU-00000000-0000-0000-0000-000000000001, 16, 16
1, NVIDIA H100 80GB HBM3, 00000000:3B:00.0, GPU-00000000-0000-0000-0000-000000000002, {width}, 16
"""
HEADING = "GPU {}: NVIDIA H100 80GB HBM3 (UUID: GPU-12345678-1234-1234-1234-123456789ab{})\n"
LSPCI = """0000:15:01.0 PCI bridge: Intel Corporation Device 352a (rev 30) (prog-if 00 [Normal decode])
\tNUMA node: 0
\tBus: primary=15, secondary=16, subordinate=1a, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #1, Speed 32GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 32GT/s, Width x16

0000:16:00.0 PCI bridge: Broadcom / LSI PEX890xx (prog-if 00 [Normal decode])
\tBus: primary=16, secondary=17, subordinate=1a, sec-latency=0
\tCapabilities: [40] Express (v2) Upstream Port, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 32GT/s, Width x16

0000:17:00.0 PCI bridge: Broadcom / LSI PEX890xx (prog-if 00 [Normal decode])
\tBus: primary=17, secondary=19, subordinate=19, sec-latency=0
\tCapabilities: [40] Express (v2) Downstream Port (Slot-), MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 32GT/s, Width x16

0000:19:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
\tNUMA node: {numa}
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 32GT/s, Width x{width}
"""
TOPO = """\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\t{nic}\t0-55\t0\t\tN/A
GPU1\tNV18\t X \tSYS\t56-111\t1\t\tN/A
NIC0\t{nic}\tSYS\t X \t\t\t\t

NIC Legend:

  NIC0: mlx5_0
"""


def lspci(numa=0, width=16):
    return LSPCI.format(numa=numa, width=width)


def test_the_index_of_nvidia_smi_names_the_gpu_that_lspci_knows_by_its_address():
    fabric = fabric_of_texts(("gpus.csv", CSV.format(width=16)), ("lspci.txt", lspci()))
    assert fabric.bus_address("n/gpu0") == "0000:19:00.0"
    assert fabric.chain("n/gpu0") == (
        "n/gpu0/pcie", "n/pcie/0000:17:00.0", "n/pcie/0000:16:00.0", "n/pcie/0000:15:01.0",
    )  # fmt: skip
    assert len(fabric.gpus("n")) == 2
    assert fabric.contradictions == ()


def test_lspci_alone_numbers_gpus_in_the_order_of_their_addresses():
    assert fabric_of_texts(("lspci.txt", lspci())).bus_address("n/gpu0") == "0000:19:00.0"


def test_a_link_says_who_said_its_width():
    link = fabric_of_texts(("gpus.csv", CSV.format(width=8)), ("lspci.txt", lspci())).link("n/gpu1/pcie")
    assert (link.width, link.max_width, link.said["width"]) == (8, 16, Source.NVIDIA_SMI)


def test_two_sources_that_give_one_link_other_widths_contradict():
    fabric = fabric_of_texts(("gpus.csv", CSV.format(width=16)), ("lspci.txt", lspci(width=8)))
    (said,) = [one for one in fabric.contradictions if one.attribute == "width"]
    assert said.component == "n/gpu0/pcie"
    assert dict(said.said) == {Source.NVIDIA_SMI: 16, Source.LSPCI: 8}


def test_a_matrix_that_puts_a_gpu_on_another_socket_than_lspci_contradicts():
    fabric = fabric_of_texts(("lspci.txt", lspci(numa=1)), ("topo.txt", TOPO.format(nic="PXB")))
    assert ("n/gpu0", "numa") in [(one.component, one.attribute) for one in fabric.contradictions]


def test_a_matrix_that_agrees_with_lspci_does_not():
    assert fabric_of_texts(("lspci.txt", lspci()), ("topo.txt", TOPO.format(nic="PXB"))).contradictions == ()


def test_a_matrix_alone_gives_closeness_and_lanes():
    fabric = fabric_of_texts(("topo.txt", TOPO.format(nic="PIX")))
    assert fabric.lane_counts("n/gpu0") == {"n/gpu1": 18}
    assert fabric.closeness("n/gpu0", "n/mlx5_0") == "PIX"
    assert fabric.closeness("n/gpu1", "n/mlx5_0") == "SYS"
    assert fabric.switch_above("n/gpu0") == fabric.switch_above("n/mlx5_0")
    assert fabric.inferred(fabric.switch_above("n/gpu0"))


def test_far_ends_that_are_no_gpus_are_nvswitches_in_the_order_of_their_addresses():
    remotes = HEADING.format(0, "c") + "\t Link 0: Remote Device 00000000:84:00.0: Link 29\n"
    remotes += "\t Link 1: Remote Device 00000000:83:00.0: Link 5\n"
    fabric = fabric_of_texts(("remotes.txt", remotes))
    assert fabric.port_of("n/gpu0/nvlink0") == "n/nvswitch1/port29"
    assert fabric.switch_of("n/gpu0/nvlink1") == "n/nvswitch0"


def test_a_far_end_that_is_a_gpu_is_wired_to_that_gpu():
    remotes = HEADING.format(0, "c") + "\t Link 3: Remote Device 00000000:3B:00.0: Link 7\n"
    fabric = fabric_of_texts(("gpus.csv", CSV.format(width=16)), ("remotes.txt", remotes))
    assert fabric.far_end("n/gpu0/nvlink3").part == "n/gpu1"
    assert fabric.far_end("n/gpu1/nvlink7").port == "n/gpu0/nvlink3"


def test_an_output_belongs_to_the_host_it_names_then_to_its_folder_then_to_the_root():
    prompt = f"[root@gpu-7 ~]# nvidia-smi topo -m\n{TOPO.format(nic='SYS')}"
    plain = TOPO.format(nic="SYS")
    found = gathered(("a.txt", prompt), ("gpu-8/b.txt", plain), ("c.txt", plain), root="r")
    assert [str(said.node) for said in found.claims] == ["gpu-7", "gpu-8", "r"]


def test_what_was_not_used_is_listed_with_why():
    matrix = ("topo.txt", TOPO.format(nic="SYS"))
    found = gathered(("notes.txt", "the node smelled of smoke\n"), ("empty.txt", ""), matrix)
    assert any("notes.txt" in note and "no known tool" in note for note in found.unused)
    assert any("empty.txt" in note and "empty" in note for note in found.unused)
    assert found.used == ("topo.txt: nvidia-smi topo -m",)


def test_an_adapter_joins_its_node_by_guid_whatever_the_fabric_calls_it():
    ibstat = "CA 'mlx5_4'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tNode GUID: 0x1070fd0300c0ffee\n\tPort 1:\n"
    ibstat += "\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tPort GUID: 0x1070fd0300c0ffee\n"
    line = "SW    51 12 0x946dae03006a0df6 4x NDR - CA    78  1 0x1070fd0300c0ffee ( 'leaf-1' - 'localhost HCA-1' )\n"
    fabric = fabric_of_texts(("gpu-9/ibstat.txt", ibstat), ("ports.txt", line))
    assert fabric.leaf_of("gpu-9/mlx5_4") == "leaf-1"
    assert fabric.cable_of("gpu-9/mlx5_4") == "cable/gpu-9:mlx5_4~leaf-1:port12"
    assert fabric.link("cable/gpu-9:mlx5_4~leaf-1:port12").speed == 400


def test_aggregation_nodes_are_no_hosts():
    line = "CA    78  1 0x946dae03006a0dfe 4x HDR - SW    51 81 0x946dae03006a0df6 "
    line += "( 'Mellanox Technologies Aggregation Node' - 'leaf-1' )\n"
    assert fabric_of_texts(("ports.txt", line)).nodes == ()


def test_lldp_plugs_an_interface_into_its_switch_port():
    lldp = '{"lldp": {"interface": [{"ens11f0": {"chassis": {"tor-3": {"id": {"type": "mac", "value": "aa:bb"}}}, '
    lldp += '"port": {"id": {"type": "ifname", "value": "Ethernet1/5"}}}}]}}'
    sysfs = '{"/sys/bus/pci/devices/0000:1a:00.0/net/ens11f0/operstate": "up\\n", '
    sysfs += '"/sys/bus/pci/devices/0000:1a:00.0/infiniband/mlx5_2/ports/1/state": "4: ACTIVE\\n"}'
    fabric = fabric_of_texts(("n/lldp.json", lldp), ("n/sysfs.json", sysfs))
    assert fabric.leaf_of("n/mlx5_2") == "tor-3"


# The inventory


def written(tmp_path, text):
    path = tmp_path / "site.toml"
    path.write_text(text)
    return path


def test_an_inventory_gives_racks_and_rails(tmp_path):
    path = written(tmp_path, '[nodes."gpu[1-2]"]\nrack = "r12"\n[rails]\nmlx5_0 = 3\n')
    nodes = [NodeId("gpu1"), NodeId("gpu3")]
    fabric = merge(claims_of(read_inventory(path), path, nodes))
    assert (fabric.rack_of("gpu1"), fabric.rack_of("gpu3")) == ("r12", None)
    assert fabric.rail_of("gpu1/mlx5_0") == 3


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[nodes.a]\nshelf = 1\n", "shelf"),
        ("[nodes.a]\nrack = 7\n", "rack"),
        ("[nodes\n", "TOML"),
        ('[nodes."gpu[1-"]\nrack = "r"\n', "host set"),
    ],
)
def test_a_mistake_in_an_inventory_names_file_and_key(tmp_path, text, word):
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=word) as raised:
        claims_of(read_inventory(path), path, [])
    assert str(path) in str(raised.value)


# Who said it, and what nobody used


def test_a_switch_that_iblinkinfo_shows_is_not_put_in_the_mouth_of_ibnetdiscover():
    line = "SW    51 12 0x946dae03006a0df6 4x NDR - CA    78  1 0x1070fd0300c0ffee ( 'leaf-1' - 'gpu-9 mlx5_4' )\n"
    discovered = fabric_of_texts(("ports.txt", line))
    linked = fabric_of_captures("infiniband/iblinkinfo-edr-sb7700.txt")
    assert discovered.source_of("leaf-1", "guid") is Source.IBNETDISCOVER
    assert {linked.source_of(switch, "lid") for switch in linked.netswitches} == {Source.IBLINKINFO}


def test_an_output_that_tells_of_no_wiring_is_listed_as_not_used():
    found = gathered(("k.txt", capture("kernel-log/dmesg-mlx5-link-flap-bond-roce.log")))
    assert found.used == ()
    assert any("k.txt" in note and "says nothing about the fabric" in note for note in found.unused)


def test_lspci_names_the_model_where_nobody_else_does_and_nvidia_smi_goes_before_it():
    assert fabric_of_texts(("lspci.txt", lspci())).facts("n/gpu0")["model"] == "H100 SXM5 80GB"
    both = fabric_of_texts(("gpus.csv", CSV.format(width=16)), ("lspci.txt", lspci()))
    assert both.facts("n/gpu0")["model"] == "NVIDIA H100 80GB HBM3"
    assert both.contradictions == ()
