"""Names of columns that people give, and what they are taken for."""

import pytest
from lanescope.signals.column_names import AtMoment, Role, measured_column, moment_of, role_of


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("host", Role.NODE),
        ("Node 2", Role.NODE),
        ("src_node", Role.NODE),
        ("gpu", Role.GPU),
        ("GPU_ID", Role.GPU),
        ("nvlink", Role.LINK),
        ("node_a", Role.NODE),
        ("link_recovery_t0", Role.OTHER),
        ("gpu temperature", Role.OTHER),
        ("busbw_GBps", Role.RATE),
        ("Bandwidth (GB/s)", Role.RATE),
        ("avg latency us", Role.TIME),
        ("size", Role.CONDITION),
        ("num_nodes", Role.CONDITION),
        ("to", Role.END),
        ("rack", Role.OTHER),
        ("memory total GB", Role.OTHER),
        ("expected_bw", Role.OTHER),
        ("link_speed_gbps", Role.OTHER),
        ("port speed Gbps", Role.OTHER),
        ("", Role.OTHER),
    ],
)
def test_a_name_tells_what_its_column_holds(name, role):
    assert role_of(name) is role


def test_bus_bandwidth_is_compared_before_others_and_a_rate_before_a_time():
    assert measured_column(["latency_us", "algbw", "busbw"]) == (2, Role.RATE)
    assert measured_column(["node", "rack"]) is None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("crc_t0", AtMoment("crc", 0)),
        ("t1 recovery events", AtMoment("recovery_events", 1)),
        ("errors before", AtMoment("errors", 0)),
        ("errors_after", AtMoment("errors", 1)),
        ("total", None),
        ("t1", None),
    ],
)
def test_a_name_tells_which_point_in_time_its_column_holds(name, told):
    assert moment_of(name) == told
