"""Excerpts and lists about PCIe that people paste: bare bridges, registers, addresses, command lines, flows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.parsers.kernel_command_line import parse_kernel_command_line
from lanescope.parsers.logs.iommu_events import FirmwareKeeps, IommuDomains, IommuFault, IommuOn
from lanescope.parsers.logs.kernel_log import read_message
from lanescope.parsers.parsed import MOST_UNREAD
from lanescope.parsers.pcie.device_places import DevicePlace, parse_device_places
from lanescope.parsers.pcie.lspci import parse_lspci
from lanescope.parsers.pcie.setpci import AcsControl, parse_acs_control
from lanescope.parsers.peer_copies import PeerCopies, peer_copies
from lanescope.parsers.platform.lscpu import CpuSockets, parse_lscpu
from lanescope.parsers.platform.numactl import NumaNode
from lanescope.parsers.table import Table
from lanescope.parsers.tools import TOOLS, recognize

BRIDGE = "b7:01.0 PCI bridge\n\t\tLnkCap:\tPort #1, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 32GT/s, Width x4\n"
REGISTER = "0000:40:01.1 (ecap 000d @2a0) @2a6 = 001d\n0000:40:03.1 (ecap 000d @2a0) @2a6 = 0000\n"
PATHS = (
    "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1a:00.0\n"
    "/sys/devices/pci0000:37/0000:37:01.0/0000:3a:00.0/infiniband/mlx5_3\n"
)
RAILS = "GPU#0 mlx5_0 0000:1a:00.0\nGPU#1 mlx5_3 0000:3c:00.0\n"
COMMAND_LINE = "BOOT_IMAGE=/vmlinuz-6.8.0 root=/dev/md0 ro quiet intel_iommu=on pci=realloc=off\n"
LSCPU = (
    "Architecture:             x86_64\nSocket(s):                2\nNUMA node(s):             8\n"
    "NUMA node0 CPU(s):        0-3,64\nNUMA node1 CPU(s):        4-7\n"
)
FORMS = [
    (BRIDGE, "lspci"), (REGISTER, "setpci"), (PATHS, "PCI addresses of devices"), (RAILS, "PCI addresses of devices"),
    (COMMAND_LINE, "/proc/cmdline"), (LSCPU, "lscpu"), ("amd_iommu=off iommu=off\n", "/proc/cmdline"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name"), FORMS)
def test_each_excerpt_is_recognized_as_one_tools_and_no_others(text, name):
    assert [tool.name for tool in TOOLS if tool.recognizes(text)] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "please look at 40:03.1 on node a\n",
        "0x001d\n",
        "12:01.5 everything fine\n",
        "mode=fast size=3\nroot=/dev/md0 twice\n",
        "the PCI bridge at b7:01.0\n",
    ],
)
def test_prose_and_values_of_nobody_are_not_taken_for_such_excerpts(text):
    tool = recognize(text)
    assert tool is None or tool.name not in {name for _, name in FORMS}


def test_a_bridge_without_a_name_keeps_its_link():
    (bridge,) = parse_lspci(BRIDGE).readings
    assert (bridge.address, bridge.class_name, bridge.name) == ("0000:b7:01.0", "PCI bridge", "")
    assert (bridge.width, bridge.max_width, bridge.width_downgraded) == (4, 16, True)


@pytest.mark.parametrize(
    ("line", "states"), [("ASPM Disabled; RCB 64 bytes", ""), ("ASPM L0s L1 Enabled; RCB 64 bytes", "L0s L1")]
)
def test_states_of_rest_are_read_where_a_link_has_them(line, states):
    (bridge,) = parse_lspci(f"{BRIDGE}\t\tLnkCtl:\t{line}\n").readings
    assert bridge.aspm == states
    assert parse_lspci(BRIDGE).readings[0].aspm is None


@pytest.mark.parametrize(
    ("words", "count"), [("Retimer- 2Retimers-", 0), ("Retimer+ 2Retimers-", 1), ("Retimer+ 2Retimers+", 2)]
)
def test_retimers_on_a_link_are_counted(words, count):
    text = f"{BRIDGE}\t\tLnkSta2: Current De-emphasis Level: -3.5dB, {words} CrosslinkRes: unsupported\n"
    assert parse_lspci(text).readings[0].retimers == count


def test_a_register_says_what_it_switches_on():
    first, second = parse_acs_control(REGISTER).readings
    assert first == AcsControl("0000:40:01.1", 0x1D)
    assert first.acs == ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")
    assert second.acs == ()


def test_a_port_without_access_control_is_not_applicable_and_no_zero():
    text = "setpci: 0000:40:01.0: Instance #0 of Extended Capability 000d not found - there are 0 ones with that ID.\n"
    parsed = parse_acs_control(REGISTER + text)
    assert len(parsed.readings) == 2
    assert len(parsed.absent) == 1


def test_a_path_of_sys_names_the_bridges_above_a_device():
    first, second = parse_device_places(PATHS).readings
    assert first == DevicePlace("0000:1a:00.0", bridges=("0000:15:01.0", "0000:16:00.0", "0000:17:02.0"))
    assert (second.name, second.address) == ("mlx5_3", "0000:3a:00.0")


def test_a_link_that_ls_prints_names_nic_and_path():
    path = "../../devices/pci0000:15/0000:15:01.0/0000:1a:00.0/infiniband/mlx5_0"
    line = f"lrwxrwxrwx 1 root root 0 Mar  3 09:11 mlx5_0 -> {path}"
    assert parse_device_places(line).readings == [DevicePlace("0000:1a:00.0", "mlx5_0", bridges=("0000:15:01.0",))]


def test_a_list_of_rails_says_which_gpu_uses_which_nic():
    assert parse_device_places(RAILS).readings[1] == DevicePlace("0000:3c:00.0", "mlx5_3", gpu=1)


def test_the_last_of_equal_parameters_stands_behind_the_others():
    (line,) = parse_kernel_command_line("iommu=off quiet iommu=pt\n").readings
    assert [str(word) for word in line.of("iommu")] == ["iommu=off", "iommu=pt"]
    assert line.of("quiet")[0].value is None


def test_sockets_and_numa_nodes_are_read_of_lscpu():
    parsed = parse_lscpu(LSCPU)
    assert parsed.readings == [CpuSockets(2, 8), NumaNode(0, (0, 1, 2, 3, 64)), NumaNode(1, (4, 5, 6, 7))]
    assert parsed.unread == []


def test_an_endless_range_of_cpus_is_bounded():
    (node,) = parse_lscpu("NUMA node0 CPU(s): 0-999999999999\n").readings
    assert len(node.cpus) < 10_000


@pytest.mark.parametrize(
    ("message", "reading"),
    [
        ("DMAR: IOMMU enabled", IommuOn("Intel")),
        ("pci 0000:00:00.2: AMD-Vi: Found IOMMU cap 0x40", IommuOn("AMD")),
        ("iommu: Default domain type: Passthrough (set via kernel command line)", IommuDomains(translated=False)),
        ("iommu: Default domain type: Translated ", IommuDomains(translated=True)),
        (
            "DMAR: [DMA Write NO_PASID] Request device [3b:00.0] fault addr 0x90000000 [fault reason 0x05] PTE Write",
            IommuFault("0000:3b:00.0", write=True),
        ),
        (
            "nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0016 address=0xfc00 flags=0x0030]",
            IommuFault("0000:41:00.0", write=None),
        ),
        ("acpi PNP0A08:00: _OSC: platform does not support [AER LTR]", FirmwareKeeps(("AER", "LTR"))),
    ],
)
def test_lines_about_translation_and_firmware_are_read(message, reading):
    assert read_message(message) == reading


def table(*rows, columns=("pattern", "op", "total_GBps")):
    return Table(columns, rows)


def test_flows_of_a_table_are_read_with_their_direction_and_total():
    told = peer_copies(table(("GPU0->GPU4 + GPU1->GPU6 (one uplink)", "write", "2.7"), ("GPU2->GPU3", "read", "51")))
    assert told == (PeerCopies(((0, 4), (1, 6)), "write", 2.7), PeerCopies(((2, 3),), "read", 51.0))


def test_directions_may_stand_in_the_names_of_the_columns():
    told = peer_copies(table(("0", "GPU0->GPU4", "39", "50"), columns=("n", "flows", "write GB/s", "read GB/s")))
    assert [(one.operation, one.total_gbs) for one in told] == [("write", 39.0), ("read", 50.0)]


@pytest.mark.parametrize(
    "told",
    [
        table(("n644-n699", "x", "49"), columns=("pair", "op", "busbw_GBps")),
        table(("GPU0->GPU4", "write", "n/a")),
        table(("GPU0->GPU4", "write", "39"), columns=("pattern", "op", "mean_GBps")),
        table(),
    ],
)
def test_tables_about_something_else_hold_no_copies(told):
    assert peer_copies(told) == ()


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 400), cut=st.integers(0, 40), noise=st.text(max_size=30))
def test_no_excerpt_however_mangled_makes_a_parser_raise(at, cut, noise):
    for text, _ in FORMS:
        mangled = text[:at] + noise + text[at + cut :]
        for tool in TOOLS:
            if tool.recognizes(mangled):
                assert len(tool.parse(mangled).unread) <= MOST_UNREAD
