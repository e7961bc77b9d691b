import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.parsers.kernel_log import (
    NicLink,
    OffBus,
    PcieContained,
    PcieError,
    PcieLimited,
    SXid,
    Xid,
    read_kernel_log,
    read_message,
)
from lanescope.parsers.log_stamp import Clock, Stamp, split_stamp

XID = "NVRM: Xid (PCI:0000:52:00): 48, pid=7062, name=python3, An uncorrectable double bit error"
SXID = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO (First)"


def readings(text, kind=object):
    return [line.reading for line in read_kernel_log(text).readings if isinstance(line.reading, kind)]


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
    lines = read_kernel_log(captures.text("kernel-log/dmesg-gpu-fallen-off-bus-multiline-noxid.log")).readings
    assert [(line.number, line.reading) for line in lines] == [(1, OffBus("0000:b3:00.0"))]
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
    parsed = read_kernel_log(captures.text("kernel-log/dmesg-boot-rtxpro6000-595.log"))
    assert [line for line in parsed.readings if not isinstance(line.reading, PcieLimited)] == []
    assert parsed.unread == []


def test_an_xid_line_that_breaks_off_is_noted_with_its_number_and_not_dropped():
    unread = read_kernel_log("harmless\nNVRM: Xid (PCI:0000:52:00\n").unread
    assert [(line.number, line.text) for line in unread] == [(2, "NVRM: Xid (PCI:0000:52:00")]


EXPECTED_XIDS = {
    "dmesg-T-h100-vm-xid43-31-94.log": {43: 2, 31: 1, 94: 1},
    "dmesg-T-xid119-h100-xe9680.log": {119: 5},
    "dmesg-ctime-xid13-109.log": {13: 3, 109: 1},
    "dmesg-gb200-xid149-154-incident.log": {149: 5, 154: 4},
    "dmesg-xid48-63-94-dbe-row-remap.log": {48: 1, 63: 1, 94: 1},
    "journal-xid45-caused-by-xid149-host-missing.log": {45: 7},
    "syslog-xid63-64-aws-a100.log": {63: 1},
}


@pytest.mark.parametrize(("name", "expected"), EXPECTED_XIDS.items())
def test_every_xid_of_a_real_log_is_read(captures, name, expected):
    found = {}
    for xid in readings(captures.text(f"kernel-log/{name}"), Xid):
        found[xid.code] = found.get(xid.code, 0) + 1
    assert found == expected


def test_no_xid_or_sxid_line_of_any_real_log_is_left_unread(captures):
    assert [
        read_kernel_log(text).unread for text in captures.all("kernel-log/*.log") if read_kernel_log(text).unread
    ] == []


@settings(max_examples=60)
@given(data=st.data())
def test_no_kernel_log_however_mangled_makes_the_parser_raise(data):
    text = data.draw(
        st.sampled_from([XID, SXID, "[12.5] " + XID, "4,1,2,-;" + SXID, "May 19 07:08:57 n kernel: " + XID])
    )
    at = data.draw(st.integers(0, len(text)))
    noise = data.draw(st.text(max_size=20))
    read_kernel_log(text[:at] + noise + text[at + data.draw(st.integers(0, 9)) :])


@given(st.binary(max_size=400))
def test_no_bytes_at_all_make_the_parser_raise(raw):
    read_kernel_log(raw.decode("utf-8", "replace"))


def test_a_line_of_a_megabyte_costs_no_more_than_a_short_one():
    assert read_kernel_log("NVRM: Xid (PCI:" + "0" * 1_000_000).readings == []
