"""Several outputs in one text, values that are none, and Ethernet settings: where the captures show no such thing."""

from __future__ import annotations

import pytest
from lanescope.parsers.infiniband.ethtool_settings import parse_ethtool_settings
from lanescope.parsers.infiniband.ibswinfo import SwitchFan, SwitchInfo, SwitchPsu, parse_ibswinfo
from lanescope.parsers.infiniband.mlxlink import parse_mlxlink
from lanescope.parsers.infiniband.show_gids import parse_show_gids
from lanescope.parsers.infiniband.sysfs_files import parse_sysfs_lines, parse_sysfs_manifest
from lanescope.parsers.parsed import Missing
from lanescope.parsers.tools import TOOLS

PORT = "/sys/class/infiniband/mlx5_0/ports/1/"
GIDS = """DEV     PORT    INDEX   GID                                     IPv4            VER     DEV
---     ----    -----   ---                                     ------------    ---     ---
mlx5_3  1       3       0000:0000:0000:0000:0000:ffff:c0a8:0a02 192.168.10.2    v2      net1
n_gids_found=1
"""
SWITCH = """=================================================
{title}
=================================================
part number        | MSB7790-ES2F
-------------------------------------------------
PSU0 status        | {status}
     power (W)     | 72
-------------------------------------------------
fan#1 (rpm)        | 8493
"""
SETTINGS = """Settings for eth5:
\tSupported ports: [ FIBRE ]
\tSupported link modes:   100000baseKR4/Full
\t                        100000baseSR4/Full
\tAdvertised FEC modes: RS
\tSpeed: {speed}
\tDuplex: {duplex}
\tAuto-negotiation: on
\tPort: Direct Attach Copper
\tLink detected: {link}
"""


def test_each_of_two_tables_of_gids_is_counted_for_itself():
    parsed = parse_show_gids(GIDS + GIDS)
    assert (len(parsed.readings), parsed.unread) == (2, [])


def test_two_reports_of_mlxlink_stay_two():
    first, second = "State  : Active\nSymbol BER  : 15E-255\n", "State  : Polling\nSymbol BER  : 3E-9\n"
    reports = parse_mlxlink(first + second).readings
    assert [report.state for report in reports] == ["Active", "Polling"]
    assert [report.rates[0].rate for report in reports] == [None, 3e-9]


@pytest.mark.parametrize("row", ["Raw Physical Errors Per Lane : 1,x,3", "Width : wide"])
def test_a_value_of_mlxlink_that_is_none_is_unread_and_shifts_no_lane(row):
    parsed = parse_mlxlink(f"State : Active\n{row}\n")
    assert [line.number for line in parsed.unread] == [2]
    assert (parsed.readings[0].raw_errors_per_lane, parsed.readings[0].width) == ((), None)


def test_two_switches_keep_their_own_power_supplies_and_fans():
    text = SWITCH.format(title="SwitchIB one", status="OK") + SWITCH.format(title="SwitchIB two", status="ERROR")
    parsed = parse_ibswinfo(text)
    assert [type(reading) for reading in parsed.readings] == [SwitchInfo, SwitchPsu, SwitchFan] * 2
    assert [switch.title for switch in parsed.readings[::3]] == ["SwitchIB one", "SwitchIB two"]
    assert [supply.status for supply in parsed.readings[1::3]] == ["OK", "ERROR"]
    assert parsed.unread == []


@pytest.mark.parametrize("form", ["lines", "manifest"])
def test_a_counter_that_the_port_does_not_have_is_not_applicable_and_never_dropped(form):
    path, said = f"{PORT}counters/symbol_error", "N/A (no PMA)"
    if form == "lines":
        parsed = parse_sysfs_lines(f"{path}:{said}\n")
    else:
        parsed = parse_sysfs_manifest(f'{{"{path}": "{said}\\n"}}')
    assert [(one.subject, one.reason) for one in parsed.absent] == [("mlx5_0 port 1 symbol_error", said)]


def test_a_counter_longer_than_any_counter_is_unread():
    parsed = parse_sysfs_lines(f"{PORT}state:4: ACTIVE\n{PORT}counters/link_downed:{'9' * 40}\n")
    assert [line.number for line in parsed.unread] == [2]


def test_files_of_other_parts_are_unread_and_make_no_text_one_of_adapters():
    other = "/sys/bus/pci/devices/0000:19:00.0/aer_dev_fatal:TOTAL_ERR_FATAL 3\n"
    assert [line.number for line in parse_sysfs_lines(f"{PORT}state:4: ACTIVE\n{other}").unread] == [2]
    recognized = [tool.name for tool in TOOLS if tool.recognizes(other)]
    assert "grep -r . /sys/class/infiniband" not in recognized


def test_ethernet_settings_tell_speed_and_link():
    (settings,) = parse_ethtool_settings(SETTINGS.format(speed="100000Mb/s", duplex="Full", link="yes")).readings
    assert (settings.interface, settings.speed_mbps, settings.link_detected) == ("eth5", 100000, True)
    assert (settings.port, settings.fec_modes) == ("Direct Attach Copper", ("RS",))


def test_the_speed_of_an_interface_without_a_link_is_missing_and_not_zero():
    parsed = parse_ethtool_settings(SETTINGS.format(speed="Unknown!", duplex="Unknown! (255)", link="no"))
    (settings,) = parsed.readings
    assert (settings.speed_mbps, settings.duplex, settings.link_detected) == (None, None, False)
    assert settings.missing == {"speed_mbps": Missing.NOT_APPLICABLE}
    assert parsed.unread == []


def test_ethernet_settings_are_recognized_as_such_alone():
    text = SETTINGS.format(speed="100000Mb/s", duplex="Full", link="yes")
    assert [tool.name for tool in TOOLS if tool.recognizes(text)] == ["ethtool"]
