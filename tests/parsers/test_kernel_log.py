import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.parsers.lines import TextLines
from lanescope.parsers.logs import TOOLS
from lanescope.parsers.logs.host_events import DiskError, GpuBoard, Segfault
from lanescope.parsers.logs.kernel_log import KernelLine, OffBus, read_message
from lanescope.parsers.logs.log_stamp import Clock, Stamp, split_head, split_stamp
from lanescope.parsers.logs.nic_events import BondMember, Carrier, NicHealth, NicLink, NicModule, NicTemperature
from lanescope.parsers.logs.pcie_events import PcieContained, PcieError, PcieErrorBit, PcieLimited, PcieReported
from lanescope.parsers.logs.sxid import SXid
from lanescope.parsers.logs.system_log import parse_system_lines, parse_system_log
from lanescope.parsers.logs.xid import Xid
from lanescope.parsers.logs.xid_details import LinkRegisters, NvLink5Event, RecoveryChange
from lanescope.parsers.packed import unpacked
from lanescope.parsers.parsed import LONGEST_LINE

XID = "NVRM: Xid (PCI:0000:52:00): 48, pid=7062, name=python3, An uncorrectable double bit error"
SXID = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO (First)"


def readings(text, kind=object):
    lines = [line for line in parse_system_log(text).readings if isinstance(line, KernelLine)]
    return [line.reading for line in lines if isinstance(line.reading, kind)]


def test_an_xid_names_the_gpu_the_code_and_the_process_that_noticed():
    xid = read_message(XID)
    assert xid == Xid("0000:52:00.0", 48, "An uncorrectable double bit error", pid=7062, process="python3")


def test_an_unknown_process_is_no_process():
    xid = read_message("NVRM: Xid (PCI:0000:2a:00): 140, pid='<unknown>', name=<unknown>, An ECC error DRAM:0")
    assert (xid.pid, xid.process, xid.text) == (None, "", "An ECC error DRAM:0")


def test_a_device_number_that_looks_like_a_bus_stays_a_device_number():
    assert read_message("NVRM: Xid (PCI:0000:10:1c): 63, pid=1850, Row Remapper: New row").pci == "0000:10:1c.0"


def test_a_mig_instance_inside_the_parentheses_does_not_hide_the_gpu():
    xid = read_message("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9).")
    assert (xid.pci, xid.mig_instance) == ("0000:01:00.0", 5)


def test_a_process_name_may_hold_colons_and_a_negative_link_is_no_link():
    line = "NVRM: Xid (PCI:0019:01:00): 145, pid=8, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 12 (0x0)"
    assert (read_message(line).process, read_message(line).link) == ("ray::WorkerDict", 12)
    assert read_message("NVRM: Xid (PCI:0008:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406)").link is None


def test_an_xid_that_says_which_one_it_follows_is_believed():
    line = "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=18, name=python3, Ch 00000001 caused by previous Xid 149"
    assert read_message(line).cause == 149


def test_an_sxid_names_switch_port_and_severity():
    assert read_message(SXID) == SXid(3, "0000:c1:00.0", 28006, "nonfatal", 46, "MC TS crumbstore MCTO (First)")


@pytest.mark.parametrize("rest", ["Data {0x000001c0, 0x00bd5c8a}", "Severity 1 Engine instance 00"])
def test_a_line_that_only_adds_registers_says_so(rest):
    sxid = read_message(f"nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, {rest}")
    assert sxid.continues
    assert sxid.severity == ""


def test_an_sxid_that_breaks_off_after_the_word_link_names_no_port():
    assert read_message("nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20009, Non-fatal, Link").link is None


def test_a_gpu_off_the_bus_is_read_with_and_without_an_xid():
    text = "NVRM: Xid (PCI:0000:01:00): 79, pid=8, name=nvidia-smi, GPU has fallen off the bus.\n"
    text += "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.\n"
    xid, off_bus = readings(text)
    assert (xid.code, xid.pci, off_bus) == (79, "0000:01:00.0", OffBus("0000:01:00.0"))


def test_a_gpu_off_the_bus_told_in_three_lines_is_one_reading_at_the_first(captures):
    lines = parse_system_log(captures.text("kernel-log/dmesg-gpu-fallen-off-bus-multiline-noxid.log")).readings
    found = [(line.number, line.reading) for line in lines if line.kind == "OffBus"]
    assert found == [(1, OffBus("0000:b3:00.0"))]
    assert lines[0].stamp == Stamp(1843.308145, Clock.BOOT)


def test_a_raw_kmsg_record_with_escaped_line_ends_is_read_as_one_message():
    record = (
        "3,99,1843308145,-;NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: (PCI ID: 10de:26b5) installed in this system"
    )
    record += " has\\x0aNVRM: fallen off the bus and is not responding to commands."
    assert readings(record) == [OffBus("0000:b3:00.0")]


def test_a_terminal_escape_in_a_raw_record_stays_written_out():
    assert split_stamp("4,1,2,-;evil \\x1b[31m name")[1] == "evil \\x1b[31m name"


def test_narrow_pcie_bandwidth_names_the_port_that_limits(captures):
    limited = readings(captures.text("kernel-log/dmesg-pcie-limited-by-h100.log"), PcieLimited)
    assert [(one.pci, one.at, one.available_gbps) for one in limited] == [
        ("0000:04:00.0", "0000:01:00.0", 252.048),
        ("0000:8b:00.0", "0000:87:00.0", 252.048),
    ]
    assert {(one.speed_gts, one.width, one.capable_speed_gts, one.capable_width) for one in limited} == {
        (16, 16, 32, 16)
    }


def test_a_corrected_pcie_error_blames_the_device_and_not_the_port_that_reports(captures):
    errors = readings(captures.text("kernel-log/dmesg-aer-corrected-nvme-rxerr.log"), PcieError)
    assert errors == [PcieError("0000:02:00.0", "corrected", "Physical Layer")] * 2
    reported = readings(captures.text("kernel-log/dmesg-aer-corrected-nvme-rxerr.log"), PcieReported)
    assert {one.reporter for one in reported} == {"0000:00:1d.0"}


def test_a_link_that_was_cut_by_containment_is_read_with_its_fatal_error(captures):
    text = captures.text("kernel-log/dmesg-aer-corrected-then-dpc-fatal-linkdown.log")
    assert [one.pci for one in readings(text, PcieContained)] == ["0000:89:02.0", "0000:89:02.0"]
    assert readings(text, PcieError) == [PcieError("0000:89:02.0", "fatal", "Transaction Layer")]


def test_a_flapping_port_is_read_with_every_change_and_its_bond_is_not(captures):
    changes = readings(captures.text("kernel-log/dmesg-mlx5-link-flap-bond-roce.log"), NicLink)
    netdev = [one.up for one in changes if one.name == "enp83s0f0np0"]
    port = [one.up for one in changes if one.name == "mlx5_3"]
    assert (netdev, port) == ([False, True, False, True, False], [True, False, True, False])


@pytest.mark.parametrize(
    ("line", "stamp"),
    [
        ("[430954.509105] " + XID, Stamp(430954.509105, Clock.BOOT)),
        ("[    2.608284] " + XID, Stamp(2.608284, Clock.BOOT)),
        ("<4>[    2.608284] " + XID, Stamp(2.608284, Clock.BOOT)),
        ("[Sun Jul 28 09:15:27 2024] " + XID, Stamp(1722158127.0, Clock.LOCAL)),
        ("kern  :warn  : 2025-01-21T04:41:44,500000+00:00 " + XID, Stamp(1737434504.5, Clock.EPOCH)),
        ("2025-01-21T05:41:44+0100 node01 kernel: " + XID, Stamp(1737434504.0, Clock.EPOCH)),
        ("May 19 07:08:57 node01 kernel: [680111.646286] " + XID, Stamp(12035337.0, Clock.YEARLESS)),
        ("4,3973,227996636,-;" + XID, Stamp(227.996636, Clock.BOOT)),
        ("kernel: " + XID, None),
        (XID, None),
    ],
)
def test_the_time_is_read_in_every_form_and_the_message_is_the_same_in_all(line, stamp):
    assert split_stamp(line) == (stamp, XID)


def test_a_date_that_does_not_exist_is_no_time_and_the_line_is_still_read():
    assert readings("[Sun Feb 31 09:15:27 2024] " + XID, Xid)


def test_a_healthy_boot_log_has_no_readings_of_errors(captures):
    parsed = parse_system_log(captures.text("kernel-log/dmesg-boot-rtxpro6000-595.log"))
    kinds = {"DriverLoaded", "FirmwareKeeps", "IommuDomains", "KernelCommandLine"}
    assert {line.kind for line in parsed.readings} == kinds
    assert parsed.unread == []


def test_an_xid_line_that_breaks_off_is_noted_with_its_number_and_not_dropped():
    unread = parse_system_log("harmless\nNVRM: Xid (PCI:0000:52:00\n").unread
    assert [(line.number, line.text) for line in unread] == [(2, "NVRM: Xid (PCI:0000:52:00")]


def test_no_xid_or_sxid_line_of_any_real_log_is_left_unread(captures):
    assert [
        parse_system_log(text).unread for text in captures.all("kernel-log/*.log") if parse_system_log(text).unread
    ] == []


def test_an_nvlink5_line_gives_unit_severity_containment_injection_and_words():
    line = "NVRM: Xid (PCI:0008:01:00): 145, pid=1, name=a, RLW_SRC_TRACK Nonfatal XC1 i1 Link 12 (0x040988e2 0x8)"
    event = NvLink5Event("RLW_SRC_TRACK", "nonfatal", 1, injected=True, words=(0x040988E2, 8))
    assert (read_message(line).detail, read_message(line).link) == (event, 12)


@pytest.mark.parametrize("severity", ["Link Fatal", "Fatal", "fatal"])
def test_a_link_fatal_nvlink5_event_of_a_unit_with_a_space_is_fatal(severity):
    line = f"NVRM: Xid (PCI:0008:01:00): 150, MSE Degraded {severity} XC0 i0 Link -1 (0x00000000 0x00000000)"
    assert (read_message(line).detail.unit, read_message(line).detail.severity) == ("MSE Degraded", "fatal")


def test_the_registers_of_xid_74_are_read_in_the_order_printed():
    line = "NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14"
    xid = read_message(f"{line}(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)")
    assert (xid.link, xid.detail) == (14, LinkRegisters((0, 0, 0x10000, 0, 0, 0, 0)))
    assert read_message(line).detail is None


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("0x0 (None) to 0x2 (Node Reboot Required)", RecoveryChange(0, "None", 2, "Node Reboot Required")),
        ("None to Node Reboot Required", RecoveryChange(None, "None", None, "Node Reboot Required")),
    ],
)
def test_a_recovery_action_is_read_with_and_without_its_numbers(words, change):
    line = f"NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from {words}"
    assert read_message(line).detail == change


@pytest.mark.parametrize(
    "line",
    [
        "pcieport 0000:00:1d.0: AER: Multiple Corrected error received: 0000:02:00.0",
        "pcieport 0000:00:1d.0: AER: Multiple Correctable error message received from 0000:02:00.0 (no details found",
    ],
)
def test_the_port_that_reports_an_error_is_told_from_the_device_that_had_it_on_old_and_new_kernels(line):
    assert read_message(line) == PcieReported("0000:00:1d.0", "0000:02:00.0", "corrected", several=True)


@pytest.mark.parametrize(
    ("severity", "told"),
    [
        ("Corrected", "corrected"),
        ("Correctable", "corrected"),
        ("Uncorrected (Non-Fatal)", "nonfatal"),
        ("Uncorrectable (Fatal)", "fatal"),
    ],
)
def test_the_severity_of_a_pcie_error_is_read_in_old_and_new_words(severity, told):
    line = f"nvidia 0000:18:00.0: PCIe Bus Error: severity={severity}, type=Data Link Layer, (Transmitter ID)"
    assert read_message(line) == PcieError("0000:18:00.0", told, "Data Link Layer")


def test_a_status_bit_is_read_with_the_device_and_whether_it_came_first():
    line = "nvidia 0000:18:00.0:    [12] Timeout                (First)"
    assert read_message(line) == PcieErrorBit("0000:18:00.0", 12, "Timeout", first=True)


def test_a_sick_adapter_is_named_with_its_syndrome_where_the_line_names_it():
    line = "mlx5_core 0000:73:00.0: print_health_info:401:(pid 0): synd 0x1: firmware internal error"
    assert read_message(line) == NicHealth("0000:73:00.0", "firmware internal error", 1)


def test_a_hot_adapter_is_told_from_a_hot_module():
    adapter = "mlx5_core 0000:73:00.0: temp_warn:181:(pid 0): High temperature on sensors with bit set 0 1"
    module = "mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High Temperature"
    assert isinstance(read_message(adapter), NicTemperature)
    assert read_message(module) == NicModule("0000:5c:00.0", 0, "Cable error", "High Temperature")


def test_a_bond_of_an_older_kernel_names_its_member_too():
    line = "bond0: link status definitely down for interface eth1, disabling it"
    assert read_message(line) == BondMember("bond0", "eth1", up=False)


def test_a_disk_error_of_a_newer_kernel_is_read():
    line = "I/O error, dev nvme0n1, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2"
    assert read_message(line) == DiskError("nvme0n1", 2048, "READ")


def test_a_segfault_outside_of_any_library_names_none():
    line = "python3[77]: segfault at 10 ip 00007f7c7ac69996 sp 00007f7c12fd7c30 error 4"
    assert read_message(line) == Segfault("python3", 77, "")


def test_a_serial_number_belongs_to_the_gpu_named_before_it_and_to_none_without_one():
    gpu, serial = "NVRM: GPU at PCI:0000:9b:00: GPU-93ca625d-8e06-b0d2", "NVRM: GPU Board Serial Number: 1663"
    assert readings(f"{gpu}\n{serial}\n", GpuBoard) == [GpuBoard("0000:9b:00.0", "1663")]
    assert readings(f"{serial}\n", GpuBoard) == []


def test_a_failing_gpu_of_one_machine_is_not_mixed_with_the_lines_of_another():
    a = ["NVRM: The NVIDIA GPU 0000:b3:00.0", "NVRM: fallen off the bus and is not responding to commands."]
    b = ["NVRM: The NVIDIA GPU 0000:18:00.0", "NVRM: fallen off the bus and is not responding to commands."]
    lines = [f"node01: [ 1.5] {a[0]}", f"node02: [ 1.5] {b[0]}", f"node01: [ 1.6] {a[1]}", f"node02: [ 1.6] {b[1]}"]
    found = parse_system_log("\n".join(lines)).readings
    assert [(line.number, line.host, line.reading) for line in found] == [
        (1, "node01", OffBus("0000:b3:00.0")),
        (2, "node02", OffBus("0000:18:00.0")),
    ]


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("node17: [430954.509105] " + XID, "node17"),
        ("gpu-017.example.org: " + XID, "gpu-017.example.org"),
        ("May 19 07:08:57 node01 kernel: [680111.646286] " + XID, "node01"),
        ("2025-01-21T04:41:44.283302+00:00 node01 kernel: " + XID, "node01"),
        ("<4>1 2025-01-21T04:41:44.283302+00:00 node01 kernel - - - " + XID, "node01"),
        ("[430954.509105] node01 kernel: " + XID, "node01"),
        ("Wed 2024-07-31 23:14:18 UTC node01 kernel: " + XID, "node01"),
        ("1722467658.123456 node01 kernel: " + XID, "node01"),
        ("kern  :warn  : 2025-01-21T04:41:44,283302+00:00 " + XID, ""),
        ("\x1b[32m[430954.509105] \x1b[0m\x1b[31m" + XID + "\x1b[0m", ""),
    ],
)
def test_the_machine_is_known_where_the_line_names_it_and_the_message_is_the_same(line, host):
    head = split_head(line)
    assert (head.host, head.message) == (host, XID)


def test_what_another_program_says_about_an_xid_is_no_xid():
    assert readings(f"May 19 07:08:57 node01 gpud[77]: saw {XID}") == []
    assert readings(f"May 19 07:08:57 node01 kernel: {XID}")


def test_a_carrier_is_read_from_networkd_only():
    line = "Aug 17 06:18:01 node01 {}[5398]: ib6: Lost carrier"
    assert readings(line.format("systemd-networkd")) == [Carrier("ib6", gained=False)]
    assert readings(line.format("dhclient")) == []


@pytest.mark.parametrize("ending", ["\r\n", "\n", "  \n"])
def test_line_ends_and_blanks_at_the_end_change_nothing(ending):
    assert [reading.code for reading in readings(f"{XID}{ending}[ 1.5] {SXID}{ending}")] == [48, 28006]


@pytest.mark.parametrize(
    "text",
    [
        "node01:1234:1250 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n" * 3,
        "[rank0]:[E1120 07:32:10.123 ProcessGroupNCCL.cpp:616] Watchdog caught collective operation timeout\n",
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n",
        "18:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n\tLnkSta:\tSpeed 32GT/s, Width x16\n",
        "",
        "\0\1\2" * 400,
    ],
)
def test_what_is_no_log_is_recognized_as_none(text):
    assert [tool.name for tool in TOOLS if tool.recognizes(text)] == []


def test_a_log_of_several_programs_is_a_syslog():
    text = f"May 19 07:08:57 node01 CRON[1]: (root) CMD (true)\nMay 19 07:08:57 node01 kernel: {XID}\n"
    assert [tool.name for tool in TOOLS if tool.recognizes(text)] == ["syslog"]


def lines_of(data: bytes):
    return TextLines(unpacked(io.BytesIO(data))).lines()


def test_every_log_can_be_read_line_by_line_with_the_same_outcome(captures):
    for text in captures.all("kernel-log/*.log"):
        tool = next(tool for tool in TOOLS if tool.recognizes(text))
        assert tool.parse_lines(lines_of(text.encode())) == tool.parse(text)


def test_an_endless_line_is_cut_and_the_lines_after_it_keep_their_numbers():
    lines = list(lines_of(b"NVRM: " + b"x" * 3_000_000 + b"\n" + XID.encode() + b"\n"))
    assert [(number, len(line)) for number, line in lines] == [(1, LONGEST_LINE), (2, len(XID))]
    assert [line.number for line in parse_system_lines(iter(lines)).readings] == [2]


def test_reading_lines_that_tell_nothing_holds_nothing():
    tracemalloc.start()
    parse_system_lines((number, f"[{number}.000001] usb 1-2: New USB device found") for number in range(50_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300_000


def test_readings_past_the_bound_are_counted(monkeypatch):
    monkeypatch.setattr("lanescope.parsers.parsed.MOST_READINGS", 10)
    parsed = parse_system_log(f"{XID}\n" * 25)
    assert (len(parsed.readings), parsed.left_out) == (10, 15)


@settings(max_examples=60)
@given(data=st.data())
def test_no_kernel_log_however_mangled_makes_the_parser_raise(data):
    text = data.draw(
        st.sampled_from([XID, SXID, "[12.5] " + XID, "4,1,2,-;" + SXID, "May 19 07:08:57 n kernel: " + XID])
    )
    at = data.draw(st.integers(0, len(text)))
    noise = data.draw(st.text(max_size=20))
    parse_system_log(text[:at] + noise + text[at + data.draw(st.integers(0, 9)) :])


@given(st.binary(max_size=400))
def test_no_bytes_at_all_make_the_parser_raise(raw):
    parse_system_log(raw.decode("utf-8", "replace"))


def test_a_line_of_a_megabyte_costs_no_more_than_a_short_one():
    assert parse_system_log("NVRM: Xid (PCI:" + "0" * 1_000_000).readings == []
