from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers.pcie import sysfs


@pytest.mark.parametrize(
    ("text", "state"), [("4: ACTIVE\n", 4), ("1: DOWN", 1), ("2: INIT", 2), ("5: ACTIVE_DEFER", 5)]
)
def test_a_port_state_is_its_number(text, state):
    assert sysfs.port_state(text) == state


@pytest.mark.parametrize(("text", "state"), [("5: LinkUp\n", 5), ("2: Polling", 2), ("3: Disabled", 3)])
def test_a_physical_state_is_its_number(text, state):
    assert sysfs.phys_state(text) == state


@pytest.mark.parametrize(
    ("text", "rate"), [("400 Gb/sec (4X NDR)\n", 400), ("100 Gb/sec (4X EDR)", 100), ("2.5 Gb/sec (1X SDR)", 2.5)]
)
def test_an_infiniband_rate_is_gigabits_a_second(text, rate):
    assert sysfs.rate_gbps(text) == rate


@pytest.mark.parametrize(("text", "speed"), [("32.0 GT/s PCIe\n", 32), ("2.5 GT/s PCIe", 2.5), ("8 GT/s", 8)])
def test_a_pcie_speed_is_gigatransfers_a_second(text, speed):
    assert sysfs.speed_gts(text) == speed


def test_the_speed_of_a_device_that_no_longer_answers_is_missing_and_never_zero():
    assert isnan(sysfs.speed_gts("Unknown\n"))


@pytest.mark.parametrize("read_from_all_ones", ["63\n", "255\n"])
def test_a_width_no_link_can_have_is_missing(read_from_all_ones):
    assert isnan(sysfs.link_width(read_from_all_ones))


def test_a_link_width_is_its_lanes():
    assert sysfs.link_width("16\n") == 16


def test_the_total_of_an_aer_file_is_its_total_line_and_not_the_sum_with_it():
    text = "RxErr 3\nBadTLP 2\nBadDLLP 0\nRollover 0\nTimeout 0\nNonFatalErr 0\nTOTAL_ERR_COR 5\n"
    assert sysfs.aer_total(text) == 5


def test_an_aer_file_without_a_total_line_is_added_up():
    assert sysfs.aer_total("RxErr 3\nBadTLP 2\n") == 5


@pytest.mark.parametrize("text", ["", "\n", "N/A", "17 apples", "0x11", "-", "error: permission denied"])
def test_what_is_no_number_is_missing_and_never_zero(text):
    assert isnan(sysfs.number(text))


def test_a_counter_that_fills_64_bits_is_read():
    assert sysfs.number("18446744073709551615\n") == 2.0**64


READERS = [
    sysfs.number,
    sysfs.port_state,
    sysfs.phys_state,
    sysfs.rate_gbps,
    sysfs.speed_gts,
    sysfs.link_width,
    sysfs.aer_total,
]


@pytest.mark.parametrize("read", READERS)
@given(text=st.text(max_size=200))
def test_no_file_of_sys_however_mangled_makes_a_reader_raise(read, text):
    assert isinstance(read(text), float)
