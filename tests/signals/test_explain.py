"""`explain`: what a number, a counter or a log line means, for somebody under time pressure."""

import pytest
from lanescope.incident.codes import sxid_codes, xid_codes
from lanescope.incident.counter_facts import counters
from lanescope.incident.errors import InputError
from lanescope.signals.explain import explain

XID_145 = "NVRM: Xid (PCI:0008:01:00): 145, pid=1, name=acctg, RLW_SRC_TRACK Nonfatal XC1 i{} Link 12 (0x040988e2 0x8)"


@pytest.mark.parametrize("asked", ["xid 79", "Xid 79", "XID: 79", "xid79", "79", " xid #79 \n"])
def test_an_xid_is_explained_however_it_is_written(asked):
    text = explain(asked)
    assert text.startswith("Xid 79: GPU fell off the bus\n")
    assert "fatal: the GPU or link is not usable until the action is done" in text
    assert "(reboot)" in text
    assert "hardware    likely" in text


def test_where_sources_disagree_it_says_how_and_who():
    text = explain("xid 63")
    assert "they differ Largest disagreement" in text
    assert "gcm: not critical" in text
    assert "aznhc: fails the node" in text
    assert "Azure/azurehpc-health-checks" in text


@pytest.mark.parametrize("asked", ["sxid 20009", "SXID 20009", "20009"])
def test_an_sxid_is_explained_with_who_calls_it_fatal(asked):
    text = explain(asked)
    assert text.startswith("SXid 20009: HW_DLPL_RX_SHORT_ERROR_RATE")
    assert "driver, H100 switches: nonfatal" in text
    assert "nvsentinel: CHECK_LINK_MECHANICAL_CONNECTIONS" in text


def test_a_number_that_no_table_lists_says_so_and_what_to_do():
    assert "no table lists it" in explain("xid 9999")
    assert "open a support case" in explain("xid 9999")
    assert "family" in explain("sxid 10999")


def test_every_number_and_every_counter_of_the_tables_can_be_explained():
    asked = [f"xid {code}" for code in xid_codes()] + [f"sxid {code}" for code in sxid_codes()] + list(counters())
    short = [name for name in asked if "meaning" not in explain(name)]
    assert short == []


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("symbol_error", "symbol_error"),
        ("recovery_errors", "NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY"),
        ("nvml_fi_dev_ecc_dbe_vol_total", "NVML_FI_DEV_ECC_DBE_VOL_TOTAL"),
        ("NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L3", "NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_*"),
        ("outbound_pci_stalled_wr", "outbound_pci_stalled_rd / outbound_pci_stalled_wr"),
    ],
)
def test_a_counter_is_found_by_its_own_name_by_ours_and_by_one_it_stands_for(asked, row):
    assert explain(asked).startswith(f"{row}\n")


def test_a_counter_tells_its_limits_and_that_its_ceiling_is_a_bound():
    text = explain("link_downed")
    assert "8 bits: 255 means at least 255" in text
    assert "suspicious from 1\n" in text


def test_a_line_gives_its_sub_code_with_the_action_of_that_sub_code():
    text = explain(XID_145.format(0))
    assert text.startswith("Xid 145 of the GPU at 0008:01:00.0\n")
    assert "NVLink      12" in text
    assert "acctg (pid 1), which is seldom the one to blame" in text
    assert "RLW_SRC_TRACK status 0x00000008: non-fatal (drivers before R575)" in text
    assert text.index("(restart_app)") < text.index("(decode_subcode)")


def test_an_injected_error_is_called_a_test():
    assert "it is a test, not a fault" in explain(XID_145.format(1))
    assert "it is a test, not a fault" not in explain(XID_145.format(0))


def test_a_link_that_went_down_says_why():
    line = "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x024445c6 0x00000000 0x00000000)"
    assert "down because" in explain(line)


def test_words_that_fit_no_sub_code_are_not_expected():
    assert "No row of the decoding sheet fits" in explain(XID_145.format(0).replace("0x040988e2", "0x0000007f"))


def test_a_line_of_xid_74_is_decoded_bit_by_bit():
    line = "NVRM: Xid (PCI:0003:00:00): 74, pid=1, name=x, NVLink: fatal error detected on link 14"
    text = explain(f"{line}(0x10000, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)")
    assert "register 1 bit 16" in text
    assert "register 3 bit 16" in text
    assert "All are zero" in explain(f"{line}(0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)")


def test_a_recovery_action_is_told_in_words():
    line = "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    assert "Node Reboot Required (before: None)" in explain(line)
    assert "Restart the machine" in explain(line)


def test_a_consequence_names_its_cause():
    line = "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=18, name=python3, Ch 00000001 caused by previous Xid 149"
    assert "follows     Xid 149" in explain(line)


def test_a_gpu_off_the_bus_without_an_xid_is_explained_as_one():
    text = explain("NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: fallen off the bus and is not responding to commands.")
    assert "this line has no Xid, and means 79" in text
    assert "Xid 79: GPU fell off the bus" in text


def test_the_word_on_an_sxid_line_stands_over_the_table():
    line = "nvidia-nvswitch0: SXid (PCI:0000:06:00.0): 20009, Fatal, Link 04 RX Short Error Rate"
    text = explain(f"node01: {line}")
    assert "SXid 20009 of nvswitch0 at 0000:06:00.0, port 4 on node01" in text
    assert "  severity    fatal\n" in text


def test_a_line_that_only_adds_registers_sends_to_the_one_before():
    line = "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x000001c0, 0x00bd5c8a}"
    assert "severity and port stand there" in explain(line)


def test_a_line_of_the_fabric_manager_is_explained_by_its_sxid():
    words = "detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3"
    text = explain(f"[Feb 27 2025 15:10:02] [ERROR] [tid 12727] {words} port 61")
    assert "error of the NVSwitch at 0000:86:00.0" in text
    assert "SXid 12028" in text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "mlx5_core 0000:d2:00.0: poll_health:174: device's health compromised - reached miss count.",
            "firmware is dead",
        ),
        ("mlx5_core 0000:5c:00.0: Detected insufficient power on the PCIe slot (27W).", "often harmless at boot"),
        ("pcieport 0000:00:1d.0: AER: Corrected error received: 0000:02:00.0", "names a port on the path"),
        ("pcieport 0000:89:02.0: DPC: containment event, status:0x1f01 source:0x0000", "devices below vanish"),
        ("Aug 17 06:18:01 node01 systemd-networkd[5398]: ib6: lost carrier", "Link flaps"),
    ],
)
def test_lines_that_are_neither_xid_nor_sxid_are_explained_too(line, words):
    assert words in explain(line)


def test_a_link_that_is_slow_by_design_is_not_called_narrow():
    line = "pci 0000:04:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at 0000:01:00.0"
    text = explain(f"{line} (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)")
    assert "fewer lanes" not in text


def test_a_long_paste_is_explained_in_part_and_says_so():
    assert "5 more lines not explained" in explain(f"{XID_145.format(0)}\n" * 25)


def test_words_of_a_node_reach_the_page_printable():
    text = explain("NVRM: Xid (PCI:0000:01:00): 43, pid=1, name=a\x1b]0;b\x07c, Ch 00000008")
    assert all(letter.isprintable() or letter == "\n" for letter in text)


@pytest.mark.parametrize("asked", ["", "kermit", "xid", "xid seventy", "sxid -1", "xid ²", "1" * 5000, "\0" * 100])
def test_what_can_not_be_explained_is_refused_with_what_can(asked):
    with pytest.raises(InputError, match="give an Xid"):
        explain(asked)
