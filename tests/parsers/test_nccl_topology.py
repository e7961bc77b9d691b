"""NCCL's XML files: what is missing, cut, hostile or newer than the captures."""

from __future__ import annotations

from lanescope.parsers.nccl.graph_xml import NCCL_GRAPH, NcclGraphChannel, parse_graph_xml
from lanescope.parsers.nccl.topo_xml import (
    LINK_SPEEDS,
    NCCL_TOPOLOGY,
    NVSWITCH_CLASS,
    UNSEEN_SWITCH,
    NcclC2c,
    NcclCpu,
    NcclGpu,
    NcclLink,
    NcclNet,
    NcclPci,
    NcclPciLink,
    parse_topo_xml,
)

GRACE = """<system version="1">
  <cpu host_hash="0xc3a1" numaid="0" affinity="ff" arch="arm64">
    <pci busid="0008:00:00.0" class="0x060400" vendor="0x1000" link_speed="64.0 GT/s PCIe" link_width="16">
      <pcilink target="0009:00:00.0"/>
      <pci busid="0008:01:00.0" class="0x030200" link_speed="128.0 GT/s PCIe" link_width="">
        <gpu dev="0" sm="100" rank="0" gdr="0">
          <nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000"/>
          <c2c bw="44712" count="10"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="-1"><pci busid="0000:0a:00.0" class="0x020000" link_speed="" link_width="0"/></cpu>
</system>
"""


def of_type(kind, text):
    return [reading for reading in parse_topo_xml(text).readings if isinstance(reading, kind)]


def test_an_nvswitch_that_a_virtual_machine_does_not_see_keeps_its_stand_in():
    (link,) = of_type(NcclLink, GRACE)
    assert link == NcclLink("0008:01:00.0", UNSEEN_SWITCH, 18, NVSWITCH_CLASS)


def test_chip_to_chip_links_and_links_between_switches_are_read():
    assert of_type(NcclC2c, GRACE) == [NcclC2c("0008:01:00.0", 10, 44712)]
    assert of_type(NcclPciLink, GRACE) == [NcclPciLink("0008:00:00.0", "0009:00:00.0")]


def test_machines_in_one_file_are_told_apart_by_their_hash():
    assert [cpu.host_hash for cpu in of_type(NcclCpu, GRACE)] == ["0xc3a1", None]
    assert [pci.host_hash for pci in of_type(NcclPci, GRACE)] == ["0xc3a1", "0xc3a1", None]


def test_an_unknown_numa_node_and_an_empty_speed_are_missing_and_not_zero():
    assert [cpu.numa for cpu in of_type(NcclCpu, GRACE)] == [0, None]
    nic = of_type(NcclPci, GRACE)[-1]
    assert (nic.parent, nic.speed_gts, nic.width) == (None, None, None)


def test_a_speed_newer_than_the_table_is_read_as_it_stands():
    gpu = of_type(NcclPci, GRACE)[1]
    assert (gpu.speed_gts, gpu.width) == (128.0, None)


def test_gpudirect_that_is_off_is_false_and_not_missing():
    assert of_type(NcclGpu, GRACE)[0].gdr is False
    assert of_type(NcclGpu, GRACE.replace(' gdr="0"', ""))[0].gdr is None


def test_the_speeds_for_a_writer_read_back_as_they_are():
    for speed, text in LINK_SPEEDS.items():
        (pci,) = of_type(
            NcclPci,
            f'<system version="1"><cpu numaid="0"><pci busid="0000:01:00.0" link_speed="{text}"/></cpu></system>',
        )
        assert pci.speed_gts == speed


def test_a_nets_guid_is_turned_into_the_one_that_infiniband_tools_print():
    nets = '<net name="mlx5_0" guid="0x8011e0003ae6d94"/><net name="eth0" guid="0x0"/>'
    text = f'<system><cpu numaid="0"><nic>{nets}</nic></cpu></system>'
    infiniband, ethernet = of_type(NcclNet, text)
    assert (infiniband.guid, infiniband.system_image_guid) == ("08011e0003ae6d94", "946dae03001e0108")
    assert (ethernet.guid, ethernet.system_image_guid) == (None, None)


def test_of_a_cut_file_what_comes_before_the_cut_is_read_and_the_cut_is_noted():
    cut = GRACE[: GRACE.index("<c2c")]
    parsed = parse_topo_xml(cut)
    assert [type(reading).__name__ for reading in parsed.readings] == [
        "NcclCpu",
        "NcclPci",
        "NcclPciLink",
        "NcclPci",
        "NcclGpu",
        "NcclLink",
    ]
    assert len(parsed.unread) == 1
    assert "breaks off" in parsed.unread[0].why


def test_two_machines_pasted_with_prompts_between_are_both_read():
    parsed = parse_topo_xml(f"root@a:~# cat topo.xml\n{GRACE}\r\nroot@b:~# cat topo.xml\n{GRACE}root@b:~#\n")
    assert len(parsed.readings) == 2 * len(parse_topo_xml(GRACE).readings)
    assert parsed.unread == []


def test_entities_are_refused():
    entities = '<!DOCTYPE system [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    parsed = parse_topo_xml(f'{entities}\n<system version="1"><cpu numaid="0" arch="&b;"/></system>')
    assert parsed.readings == []
    assert "entities" in parsed.unread[0].why


def test_a_plain_document_type_is_accepted():
    parsed = parse_topo_xml(
        '<?xml version="1.0"?>\n<!DOCTYPE system SYSTEM "nowhere.dtd">\n<system version="1"><cpu numaid="0"/></system>'
    )
    assert len(parsed.readings) == 1
    assert parsed.unread == []


def test_an_element_that_is_not_known_is_noted_with_its_line():
    parsed = parse_topo_xml('<system version="1">\n<cpu numaid="0">\n<cxl busid="0000:01:00.0"/>\n</cpu></system>')
    assert [(line.number, line.why) for line in parsed.unread] == [(3, "is not known")]


def test_an_element_without_its_address_is_noted_and_not_guessed_at():
    parsed = parse_topo_xml('<system version="1"><cpu numaid="0"><pci class="0x030200"/></cpu></system>')
    assert [type(reading).__name__ for reading in parsed.readings] == ["NcclCpu"]
    assert [line.why for line in parsed.unread] == ["lacks what names it"]


def test_a_graph_is_no_topology_and_a_topology_no_graph():
    channel = '<channel><net dev="1"/><gpu dev="0"/><gpu dev="1"/><net dev="1"/></channel>'
    graph = f'<graphs version="1"><graph id="0" pattern="4">{channel}</graph></graphs>'
    assert NCCL_GRAPH.recognizes(graph)
    assert not NCCL_TOPOLOGY.recognizes(graph)
    assert not NCCL_GRAPH.recognizes(GRACE)
    assert parse_graph_xml(graph).readings[-1] == NcclGraphChannel(0, 0, (0, 1), (1, 1))


def test_a_comment_that_holds_a_tag_does_not_mislead_recognition():
    assert NCCL_TOPOLOGY.recognizes(f"<!-- <graphs> -->\n{GRACE}")
