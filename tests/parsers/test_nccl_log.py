"""What NCCL's debug log means, where no capture shows it."""

from __future__ import annotations

from pathlib import Path

from lanescope.parsers.nccl.bus_id import address_of_bus_id
from lanescope.parsers.nccl.log import NCCL_LOG, parse_nccl_log
from lanescope.parsers.nccl.log_channels import Channel, ChannelOrder
from lanescope.parsers.nccl.log_latest import LastCollective
from lanescope.parsers.nccl.log_messages import (
    Communicator,
    FabricClique,
    FabricInfo,
    GdrSupport,
    NetworkDevice,
    NvlsSupport,
    Setting,
)
from lanescope.parsers.nccl.log_warnings import IbCompletionError, NcclWarning
from lanescope.parsers.nccl.pytorch_watchdog import WatchdogTimeout
from lanescope.parsers.tools import recognize

GB200 = (Path(__file__).parents[1] / "data" / "nccl" / "init-gb200.log").read_text()


def of_type(kind, text):
    return [reading for reading in parse_nccl_log(text).readings if isinstance(reading, kind)]


def test_a_bus_id_holds_domain_bus_device_and_function():
    assert address_of_bus_id("9b000") == "0000:9b:00.0"
    assert address_of_bus_id("0x1801000") == "0018:01:00.0"
    assert address_of_bus_id("1e0") == "0000:00:1e.0"
    assert address_of_bus_id("XXXX") is None


def test_a_launchers_prefix_is_kept_beside_the_host():
    (setting,) = of_type(Setting, GB200)
    assert (setting.before, setting.host, setting.device) == ("[1,2]<stdout>:", "tray-03", 2)
    assert (setting.name, setting.value) == ("NCCL_NET_GDR_LEVEL", "PXB")


def test_network_devices_keep_the_index_by_which_channels_name_them():
    first, second = of_type(NetworkDevice, GB200)
    assert (first.index, first.name, first.port, first.link) == (0, "mlx5_0", 1, "IB")
    assert (second.index, second.name, second.link) == (1, "mlx5_1", "RoCE")


def test_sockets_have_an_address_and_no_port():
    (device,) = of_type(NetworkDevice, "a:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.4.0.13<0>")
    assert (device.network, device.name, device.port, device.link) == ("Socket", "eth0", None, "10.4.0.13")


def test_gpudirect_that_is_off_for_one_hca_names_it():
    (gdr,) = of_type(GdrSupport, GB200)
    assert (gdr.hca, gdr.available) == ("mlx5_1", False)


def test_the_nvlink_fabric_gives_cluster_clique_and_state():
    (info,) = of_type(FabricInfo, GB200)
    assert (info.bus_address, info.clique_id, info.state, info.health_mask) == ("0018:01:00.0", 0x7FFE, 3, 0x55)
    (clique,) = of_type(FabricClique, GB200)
    assert (clique.mnnvl, clique.size, clique.rank) == (True, 72, 10)


def test_nvls_that_is_not_available_is_no_warning():
    (support,) = of_type(NvlsSupport, GB200)
    assert (support.on_device, support.available) == (2, False)
    assert of_type(NcclWarning, GB200) == []


def test_a_relayed_channel_names_nic_and_relaying_rank():
    (channel,) = of_type(Channel, GB200)
    assert (channel.nic, channel.proxy_rank, channel.gdrdma, channel.to_rank) == (1, 0, True, 74)
    (order,) = of_type(ChannelOrder, GB200)
    assert order.ranks == (0, 1, 3, 2)


def test_a_network_channel_without_gdrdma_is_told_from_one_where_it_does_not_apply():
    network, local = of_type(
        Channel,
        "b:1:2 [4] NCCL INFO Channel 00 : 0[7000] -> 12[88000] [receive] via NET/IB/5/Shared\n"
        "b:1:2 [4] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/IPC/read",
    )
    assert (network.gdrdma, network.nic) == (False, 5)
    assert local.gdrdma is None


def test_the_newer_completion_line_names_status_in_words_and_the_hca():
    (error,) = of_type(
        IbCompletionError,
        "n1:7:9 [4] transport/net_ib/p2p.cc:401 (ncclIbTest) NCCL WARN NET/IB: Got completion from peer "
        "10.2.0.4<54862> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=4 vendor_err=129 "
        "req_type=Recv  localGid fe80::1 remoteGidsfe80::2 hca mlx5_4",
    )
    assert (error.status, error.vendor_error, error.opcode, error.hca) == (12, 129, 0, "mlx5_4")
    assert (error.local_gid, error.remote_gid, error.device) == ("fe80::1", "fe80::2", 4)


def test_a_warning_that_names_a_cuda_error_gives_its_number():
    (warning,) = of_type(
        NcclWarning,
        "w:1:1 [0] transport/nvls.cc:379 (nvlsAllocateMem) NCCL WARN Failed to bind NVLink SHARP (NVLS) "
        "Multicast memory of size 2097152 : CUDA error 802 'system not yet initialized'.\n"
        "This is usually caused by a system error.",
    )
    assert (warning.function, warning.cuda_error) == ("nvlsAllocateMem", 802)


def test_of_collectives_the_last_of_each_process_is_kept():
    line = (
        "h:{pid}:1 [0] NCCL INFO AllReduce: opCount {count:x} sendbuff 0x1 recvbuff 0x2 count 4 datatype 7 op 0 root 0 "
        "comm 0xab [nranks=2] stream 0x3\n"
    )
    text = "".join(
        line.format(pid=pid, count=count) for count in range(40) for pid in (10, 11) if (pid, count) != (11, 39)
    )
    assert {one.pid: one.op_count for one in of_type(LastCollective, text)} == {10: 39, 11: 38}


def test_a_communicator_split_off_from_another_is_read_with_its_id():
    (communicator,) = of_type(
        Communicator,
        "h:1:2 [3] NCCL INFO ncclCommSplit comm 0xa rank 1 nranks 4 cudaDev 3 nvmlDev 3 busId 59000 parent 0xb "
        "splitCount 2 color 0 key 1 commId 0x5ae7 - Init START",
    )
    assert (communicator.bus_address, communicator.comm_id, communicator.stage) == (
        "0000:59:00.0",
        "0x5ae7",
        "Init START",
    )


def test_two_processes_writing_over_each_other_are_two_lines():
    text = "a:1:2 [0] NCCL INFO Ring 00 : 1 -> 0 -> 1 b:3:4 [1] NCCL INFO Ring 00 : 0 -> 1 -> 0\n"
    assert [(ring.host, ring.rank) for ring in parse_nccl_log(text).readings] == [("a", 0), ("b", 1)]


def test_escapes_and_carriage_returns_change_nothing():
    text = "\x1b[32ma:1:2 [0] NCCL INFO\x1b[0m Using network IB\r\n"
    assert parse_nccl_log(text).readings[0].network == "IB"


def test_a_line_that_breaks_off_is_unread_with_its_number_and_chatter_is_passed_over():
    parsed = parse_nccl_log(
        "epoch 3 loss 0.1\na:1:2 [0] NCCL INFO Launch mode Parallel\na:1:2 [0] NCCL INFO Channel 00/0 : 3[3] -> 4"
    )
    assert parsed.readings == []
    assert [line.number for line in parsed.unread] == [3]


def test_the_watchdogs_lines_in_the_same_file_are_read_along(captures):
    watchdog = captures.text("nccl/pytorch-watchdog-timeout-reduce-scatter.log")
    both = GB200 + watchdog
    assert recognize(both) is NCCL_LOG
    assert [one.rank for one in of_type(WatchdogTimeout, both)] == [0, 4, 3]


def test_a_log_is_read_line_by_line_as_it_is_as_a_whole():
    lines = enumerate(GB200.splitlines(), start=1)
    assert NCCL_LOG.parse_lines is not None
    assert NCCL_LOG.parse_lines(lines).readings == parse_nccl_log(GB200).readings
