"""What a line's registers ask for stands over what the number alone says."""

import pytest
from lanescope.parsers.logs.kernel_log import read_message
from lanescope.signals.xid_advice import advice
from lanescope.signals.xid_facts import xid_facts

NVLINK5 = "NVRM: Xid (PCI:0008:01:00): {}, {} XC0 i0 Link 01 ({})"
LINK_74 = "NVRM: Xid (PCI:0003:00:00): 74, pid=1, name=x, NVLink: fatal error detected on link 14"


def said(line):
    xid = read_message(line)
    return advice(xid, xid_facts(xid.code))


def test_a_link_that_went_down_asks_for_a_reset_and_then_for_what_its_reason_names():
    line = NVLINK5.format(149, "NETIR_LINK_EVT Fatal", "0x002405c6 0x00000000")
    assert said(line).startswith("Reset the GPU with no process on it")
    assert said(line).endswith("Check signal integrity of the link: BER, cable, seating, peer side")


def test_a_lost_packet_asks_to_restart_the_program_and_not_for_a_reset():
    line = NVLINK5.format(145, "RLW_SRC_TRACK Nonfatal", "0x040988e2 0x00000008")
    assert said(line) == "Restart the program; the GPU needs nothing"


def test_an_xid_74_asks_for_what_each_set_bit_asks_for_once():
    line = f"{LINK_74}(0x10000, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
    assert said(line).startswith("Check seating, cables and power connectors; Run DCGM diagnostics")


def test_harmless_bits_alone_ask_for_nothing():
    assert said(f"{LINK_74}(0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)") == "No reaction beyond logging"


def test_an_xid_154_asks_for_what_the_driver_names():
    line = "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    assert said(line).startswith("Restart the machine")


@pytest.mark.parametrize(
    "line",
    [
        f"{LINK_74}(0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
        LINK_74,
        NVLINK5.format(149, "NETIR_LINK_EVT Fatal", "0x0000007f 0x00000000"),
        "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x63 (Dance)",
    ],
)
def test_where_the_registers_say_nothing_the_number_stands(line):
    assert said(line) == xid_facts(read_message(line).code).action_text
