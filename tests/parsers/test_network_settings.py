"""How networks are set up: MTU, GIDs, flow control; and storage clients in the kernel log."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanescope.parsers.infiniband.ibstat import Hca, HcaPort
from lanescope.parsers.infiniband.ibv_devinfo import PortMtu, parse_ibv_devinfo
from lanescope.parsers.infiniband.ip_text import parse_ip_text
from lanescope.parsers.infiniband.roce_settings import FlowControl, parse_flow_control
from lanescope.parsers.infiniband.show_gids import Gid
from lanescope.parsers.intake import read
from lanescope.parsers.logs.kernel_log import read_message
from lanescope.parsers.logs.storage_events import StorageServer
from lanescope.parsers.tools import TOOLS, recognize

IP_LINK = (
    "3: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq master bond0 state UP mode DEFAULT qlen 1000\n"
    "    link/ether b8:3f:d2:00:00:01 brd ff:ff:ff:ff:ff:ff\n    altname enp26s0f0np0\n"
    "4: ib0@ib1: <BROADCAST,MULTICAST> mtu 2044 qdisc noop state DOWN mode DEFAULT group default qlen 256\n"
)
DEVINFO = """hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.1002
\tnode_guid:\t\t\tb83f:d203:0000:0001
\tboard_id:\t\t\tMT_0000000838
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t1024 (3)
\t\t\tlink_layer:\t\tEthernet
\t\t\tGID[  3]:\t\t::ffff:10.0.0.1, RoCE v2
"""
QOS = """Priority trust state: dscp
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
\tbuffer      0   0   0   1   0   0   0   0
"""
TEXTS = {
    "ip link": IP_LINK,
    "ibv_devinfo": DEVINFO,
    "mlnx_qos": QOS,
    "cma_roce_mode": "RoCE v2\n",
    "ethtool -a": "Pause parameters for ens1:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n",
}


@pytest.mark.parametrize("tool", TEXTS)
def test_an_output_is_recognized_as_one_tools_and_no_others_and_read_whole(tool):
    assert [one.name for one in TOOLS if one.recognizes(TEXTS[tool])] == [tool]
    found = recognize(TEXTS[tool])
    assert found is not None
    parsed = found.parse(TEXTS[tool])
    assert parsed.readings
    assert parsed.unread == []


@given(name=st.sampled_from(sorted(TEXTS)), at=st.integers(0, 600), junk=st.text(max_size=40))
def test_no_text_however_mangled_makes_a_parser_raise(name, at, junk):
    tool = next(one for one in TOOLS if one.name == name)
    text = TEXTS[name][:at] + junk + TEXTS[name][at:]
    tool.recognizes(text)
    tool.parse(text)


def test_interfaces_keep_their_mtu_state_and_bond():
    up, down = parse_ip_text(IP_LINK).readings
    assert (up.name, up.mtu, up.state, up.carrier, up.bond, up.link_type) == (
        "ens1f0np0",
        9000,
        "UP",
        True,
        "bond0",
        "ether",
    )
    assert (down.name, down.mtu, down.state, down.carrier) == ("ib0", 2044, "DOWN", False)


def test_lines_that_a_grep_left_of_ip_and_ifconfig_are_enough():
    assert [one.mtu for one in parse_ip_text("2: ens1: <BROADCAST,UP> mtu 1500 qdisc mq state UP\n").readings] == [1500]
    (old,) = parse_ip_text("ens1: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 9000\n").readings
    assert (old.mtu, old.carrier) == (9000, True)


def test_an_adapter_tells_firmware_state_mtu_and_gids():
    hca, port, mtu, gid = parse_ibv_devinfo(DEVINFO).readings
    assert isinstance(hca, Hca)
    assert (hca.firmware, hca.board) == ("28.39.1002", "MT_0000000838")
    assert isinstance(port, HcaPort)
    assert (port.state, port.link_layer, port.rate_gbps) == ("Active", "Ethernet", None)
    assert mtu == PortMtu("mlx5_0", 1, 1024, 4096)
    assert isinstance(gid, Gid)
    assert (gid.index, gid.ipv4, gid.version) == (3, "10.0.0.1", "v2")
    assert gid.gid == "0000:0000:0000:0000:0000:ffff:0a00:0001"


def test_an_excerpt_without_its_port_line_is_of_the_first_port():
    assert PortMtu("mlx5_1", 1, 4096, None) in parse_ibv_devinfo("hca_id: mlx5_1\n  active_mtu:  4096 (5)\n").readings


def test_flow_control_reads_alike_from_both_tools():
    assert parse_flow_control(QOS).readings == [FlowControl("", (3,), "dscp")]
    dcb = "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off \n"
    assert parse_flow_control(dcb).readings == [FlowControl("", (3,))]


@pytest.mark.parametrize(
    ("message", "reading"),
    [
        ("nfs: server 10.0.0.5 not responding, still trying", StorageServer("nfs", "10.0.0.5", False)),
        ("nfs: server 10.0.0.5 OK", StorageServer("nfs", "10.0.0.5", True)),
        (
            "Lustre: scratch-OST0003-osc-ffff8881: Connection to scratch-OST0003 (at 10.0.0.9@o2ib) was lost; ",
            StorageServer("lustre", "scratch-OST0003", False),
        ),
        (
            "Lustre: scratch-OST0003-osc-ffff8881: Connection restored to 10.0.0.9@o2ib (at 10.0.0.9@o2ib)",
            StorageServer("lustre", "scratch-OST0003", True),
        ),
        ("libceph: osd12 (1)10.0.0.7:6801 socket closed (con state OPEN)", StorageServer("ceph", "osd12", False)),
    ],
)
def test_what_a_storage_client_says_of_its_server(message, reading):
    assert read_message(message) == reading


@pytest.mark.parametrize("stamp", ["[  100.500000] ", ""])
def test_a_log_of_nothing_but_storage_complaints_is_a_kernel_log(stamp):
    text = f"{stamp}nfs: server 10.0.0.5 not responding, still trying\n{stamp}nfs: server 10.0.0.5 OK\n"
    (section,) = read("log.txt", io.BytesIO(text.encode()))
    assert section.tool is not None
    assert section.tool.name == "kernel log"
