from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.parsers.parsed import MOST_UNREAD, Missing
from lanescope.parsers.pci import bus_address
from lanescope.parsers.pcie import TOOLS
from lanescope.parsers.pcie.lspci import parse_lspci
from lanescope.parsers.pcie.lspci_tree import TreeDevice, parse_lspci_tree

TREE = (Path(__file__).parents[1] / "data" / "pcie" / "lspci-tv.txt").read_text()
GPU = "19:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
LINK = "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"


def device(text):
    (found,) = parse_lspci(text).readings
    return found


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:9B:00.0", "0000:9b:00.0"),
        ("PCI:0000:9b:00", "0000:9b:00.0"),
        ("9b:00.1", "0000:9b:00.1"),
        ("0018:01:00", "0018:01:00.0"),
    ],
)
def test_a_bus_address_has_one_form_however_it_is_written(text, address):
    assert bus_address(text) == address


@pytest.mark.parametrize("text", ["", "0000", "zz:00.0", "0000:9b:00.9", "0000:9b:00.0; rm"])
def test_what_is_no_bus_address_is_none(text):
    assert bus_address(text) is None


@pytest.mark.parametrize(
    "title",
    ["19:00.0 3D controller", "0000:19:00.0 3D controller", "19:00.0 3D controller [0302]", "0000:19:00.0 0302"],
)
def test_a_device_is_the_same_with_and_without_its_domain_and_its_numbers(title):
    assert device(f"{title}: NVIDIA Corporation GH100 (rev a1)\n").address == "0000:19:00.0"


def test_numbers_alone_are_class_vendor_and_device():
    found = device("19:00.0 0302: 10de:2330 (rev a1)\n")
    assert (found.class_id, found.vendor_id, found.device_id, found.name) == ("0302", "10de", "2330", "")


def test_a_name_that_the_database_lacks_still_tells_the_device_number():
    assert device("19:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)\n").device_id == "2330"


def test_a_device_that_answers_all_ones_is_gone_and_its_link_lost():
    found = device(GPU.replace("rev a1", "rev ff").replace("\n", " (prog-if ff)\n") + "\t!!! Unknown header type 7f\n")
    assert (found.answers, found.width, found.missing["width"]) == (False, None, Missing.LOST)


def test_without_root_the_link_is_not_permitted_rather_than_absent():
    found = device(GPU + "\tCapabilities: <access denied>\n\tKernel driver in use: nvidia\n")
    assert (found.speed_gts, found.missing["speed_gts"], found.driver) == (None, Missing.NOT_PERMITTED, "nvidia")


def test_a_device_of_which_nothing_was_asked_misses_nothing():
    assert device(GPU).missing == {}


@pytest.mark.parametrize(
    ("status", "speed", "width"),
    [
        ("Speed 32GT/s (ok), Width x16 (ok)", False, False),
        ("Speed 16GT/s (downgraded), Width x8 (downgraded)", True, True),
        ("Speed 2.5GT/s (downgraded), Width x16", True, False),
        ("Speed 16GT/s, Width x8", True, True),
        ("Speed 32GT/s, Width x16", False, False),
        ("Speed 64GT/s (overdriven), Width x16 (strange)", False, False),
    ],
)
def test_a_link_is_downgraded_by_lspcis_word_and_else_by_comparison(status, speed, width):
    found = device(GPU + LINK + f"\t\tLnkSta:\t{status}\n")
    assert (found.speed_downgraded, found.width_downgraded) == (speed, width)


def test_a_port_that_leads_down_to_a_slower_device_is_not_called_downgraded_by_us():
    port = "\tCapabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00\n"
    found = device(
        "02:03.0 PCI bridge: Broadcom / LSI PEX890xx\n" + port + LINK + "\t\tLnkSta:\tSpeed 2.5GT/s, Width x16\n"
    )
    assert (found.speed_downgraded, found.width_downgraded) == (None, False)


def test_a_port_without_a_link_has_width_zero_and_no_speed():
    found = device(GPU + LINK + "\t\tLnkSta:\tSpeed unknown, Width x0 (downgraded)\n")
    assert (found.speed_gts, found.width) == (None, 0)


def test_numa_node_and_iommu_group_are_read_from_the_flags_of_v_too():
    found = device(GPU + "\tFlags: bus master, fast devsel, latency 0, IRQ 18, NUMA node 1, IOMMU group 47\n")
    assert (found.numa, found.iommu_group) == (1, 47)


def test_flags_that_are_set_say_what_was_seen_and_what_is_switched_on():
    found = device(
        GPU
        + "\t\tUESta:\tDLP- SDES- TLP- CmpltTO+ UnsupReq-\n\t\tCESta:\tRxErr+ BadTLP+ Timeout-\n"
        + "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+\n"
    )
    assert found.uncorrectable == ("CmpltTO",)
    assert found.correctable == ("RxErr", "BadTLP")
    assert found.acs == ("SrcValid", "ReqRedir", "CmpltRedir")


def test_prompts_separators_and_warnings_of_the_tool_carry_nothing():
    text = f"[root@gpu-017 ~]# lspci -vv | grep\npcilib: sysfs_read_vpd: read failed\n--\n{GPU}00: de 10 30 23 06 04\n"
    assert parse_lspci(text).unread == []


def test_lines_that_belong_to_no_device_are_noted():
    parsed = parse_lspci("\tLnkSta:\tSpeed 32GT/s, Width x16\n" + GPU + "what is this\n")
    assert [line.number for line in parsed.unread] == [1, 3]


def test_the_simulated_and_the_real_block_end_where_the_next_begins():
    first, second = parse_lspci(GPU + "\tNUMA node: 0\n" + GPU.replace("19:", "3b:") + "\tNUMA node: 1\n").readings
    assert (first.numa, second.numa, second.address) == (0, 1, "0000:3b:00.0")


def test_each_device_of_a_tree_hangs_on_the_bridge_above_it():
    parsed = parse_lspci_tree(TREE)
    assert parsed.unread == []
    assert parsed.readings[2] == TreeDevice("0000:55:04.0", "0000:54:00.0", 0x56, 0x6B)
    parents = {one.address: one.parent for one in parsed.readings}
    assert parents["0000:58:00.1"] == "0000:57:04.0"
    assert parents["0000:5c:00.0"] == "0000:57:08.0"
    assert parents["0000:00:04.0"] is None


def test_a_tree_names_its_devices_where_asked_to():
    names = {one.address: one.name for one in parse_lspci_tree(TREE).readings}
    assert names["0000:5c:00.0"] == "NVIDIA Corporation GV100 [Tesla V100 SXM2]"


def test_a_branch_of_a_tree_without_its_trunk_is_noted():
    parsed = parse_lspci_tree("             \\-04.0  Intel Corporation\n")
    assert (parsed.readings, [line.number for line in parsed.unread]) == ([], [1])


@pytest.mark.parametrize(("text", "name"), [(GPU, "lspci"), (TREE, "lspci -t")])
def test_a_list_and_a_tree_are_told_apart(text, name):
    assert [tool.name for tool in TOOLS if tool.recognizes(text)] == [name]


@pytest.mark.parametrize(
    "noise", ["\x00" * 5000, "19:00.0 " * 20_000, "|" * 70_000, "-[0000:00]-" * 9000, "+-" * 40_000]
)
def test_binary_and_endless_lines_are_bounded(noise):
    for tool in TOOLS:
        tool.recognizes(noise)
        assert len(tool.parse(noise).unread) <= MOST_UNREAD


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 900), cut=st.integers(0, 40), noise=st.text(max_size=30))
def test_no_list_or_tree_however_mangled_makes_a_parser_raise(at, cut, noise):
    text = (
        GPU + LINK + "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x2 (ok)\n\tBus: primary=00, secondary=01, subordinate=01\n"
    )
    text += TREE
    mangled = text[:at] + noise + text[at + cut :]
    for tool in TOOLS:
        tool.recognizes(mangled)
        tool.parse(mangled)
