"""What InfiniBand and Ethernet tools mean, where the captures don't show it."""

from __future__ import annotations

import pytest
from lanescope.parsers.infiniband.counters import saturating
from lanescope.parsers.infiniband.ethtool import parse_ethtool_statistics
from lanescope.parsers.infiniband.ibswinfo import parse_ibswinfo
from lanescope.parsers.infiniband.ip_link import parse_ip_link
from lanescope.parsers.infiniband.mlxlink import parse_mlxlink
from lanescope.parsers.infiniband.port_words import guid
from lanescope.parsers.infiniband.show_gids import parse_show_gids
from lanescope.parsers.infiniband.sysfs_files import parse_sysfs_lines, parse_sysfs_manifest
from lanescope.parsers.tools import recognize

PORT = "/sys/class/infiniband/mlx5_0/ports/1/"
BY_ADDRESS = "/sys/devices/pci0000:15/0000:15:01.0/0000:1a:00.0/infiniband/mlx5_4/ports/1/"


@pytest.mark.parametrize(
    ("name", "ceiling"),
    [
        ("symbol_error", 65535),
        ("link_downed", 255),
        ("excessive_buffer_overrun_errors", 15),
        ("port_xmit_wait", 2**32 - 1),
    ],
)
def test_a_counter_at_the_ceiling_of_its_own_width_says_at_least(name, ceiling):
    assert saturating(name, ceiling).at_least
    assert not saturating(name, ceiling - 1).at_least


def test_a_guid_has_sixteen_digits_and_one_of_zeros_is_none():
    assert guid("0x2c903006e29b0") == "0002c903006e29b0"
    assert guid("0002:c903:006e:29b0") == "0002c903006e29b0"
    assert guid("0x0000000000000000") is None


def test_the_rate_of_a_port_that_is_down_is_no_rate():
    text = "".join(
        f"{PORT}{file}:{value}\n" for file, value in {"state": "1: DOWN", "rate": "10 Gb/sec (4X SDR)"}.items()
    )
    (port,) = [one for one in parse_sysfs_lines(text).readings if type(one).__name__ == "HcaPort"]
    assert (port.rate_gbps, port.printed_gbps, port.state) == (None, 10.0, "Down")


def test_a_path_with_a_bus_address_is_split_at_its_end_and_not_inside_it():
    (hca, port) = parse_sysfs_lines(f"{BY_ADDRESS}state:4: ACTIVE\n").readings
    assert (port.device, port.state, port.bus_address) == ("mlx5_4", "Active", "0000:1a:00.0")
    assert hca.bus_address == "0000:1a:00.0"


def test_a_line_that_is_no_file_is_unread():
    parsed = parse_sysfs_lines(f"grep: {PORT}rate: Invalid argument\n{PORT}state:4: ACTIVE\n")
    assert [line.number for line in parsed.unread] == [1]


def test_a_speed_of_minus_one_is_missing():
    parsed = parse_sysfs_manifest('{"/sys/class/net/eth0/speed": "-1\\n", "/sys/class/net/eth0/operstate": "down\\n"}')
    assert [(one.name, one.speed_mbps, one.state) for one in parsed.readings] == [("eth0", None, "DOWN")]


@pytest.mark.parametrize("floor", ["15E-255", "15E-238"])
def test_a_floor_of_a_bit_error_rate_is_none_seen_and_not_a_number(floor):
    (report,) = parse_mlxlink(f"Effective Physical BER             : {floor}\n").readings
    assert report.effective_rate.is_floor
    assert report.effective_rate.rate is None


def test_a_bit_error_rate_that_is_none_is_unread():
    parsed = parse_mlxlink("Raw Physical BER                   : lots\nStatus Opcode                      : 2\n")
    assert [line.number for line in parsed.unread] == [1]
    assert parsed.readings[0].status_opcode == 2


def test_a_module_that_does_not_exist_is_missing_and_not_zero_degrees():
    (report,) = parse_mlxlink("Temperature [C]                    : N/A\nStatus Opcode : 0\n").readings
    assert (report.temperature_c, report.missing["temperature_c"]) == (None, "not applicable")


def test_an_interface_without_statistics_is_not_applicable():
    parsed = parse_ethtool_statistics("no stats available\n")
    assert ([one.reason for one in parsed.absent], parsed.readings) == (["no stats available"], [])


def test_counters_of_queues_and_lanes_are_told_apart():
    parsed = parse_ethtool_statistics("NIC statistics:\n     rx3_packets: 7\n     rx_err_lane_2_phy: 9\n")
    assert [(one.queue, one.lane, one.count) for one in parsed.readings] == [(3, None, 7), (None, 2, 9)]


def test_a_table_of_gids_that_was_cut_says_so():
    text = "DEV\tPORT\tINDEX\tGID\tIPv4\tVER\tDEV\nn_gids_found=3\n"
    assert [line.why for line in parse_show_gids(text).unread] == ["0 were read"]


def test_interfaces_that_are_no_list_are_unread_and_empty_rows_are_passed_over():
    assert [one.name for one in parse_ip_link('[{},{"ifindex":1,"ifname":"ib0"}]').readings] == ["ib0"]
    assert parse_ip_link('[1, "x"]').unread


def test_two_fans_of_a_switch_with_one_that_says_nothing_are_two_fans():
    parsed = parse_ibswinfo("PSU0 status        | OK\n-----------------\nfan#1 (rpm) |\nfan#2 (rpm) | 7000\n")
    assert [one.rpm for one in parsed.readings if type(one).__name__ == "SwitchFan"] == [None, 7000]


def test_an_empty_text_and_a_program_are_no_tools_output():
    assert recognize("") is None
    assert recognize("\x7fELF\x02\x01\x01" + "\x00" * 100) is None
