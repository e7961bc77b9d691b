"""MTU, GIDs, flow control, ports and storage: what differs between ends, and what must not be made of it."""

import pytest
from lanescope.incident.findings import Confidence

from .conftest import Story
from .telling import judged, of_class


def link(mtu, name="ens1f0np0", state="UP"):
    return f"3: {name}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu {mtu} qdisc mq state {state} mode DEFAULT\n"


def gids(*rows, device="mlx5_0"):
    head = (
        "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n"
    )
    body = ""
    for index, ipv4, version in rows:
        a, b, c, d = map(int, ipv4.split("."))
        gid = f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"
        body += f"{device}\t1\t{index}\t{gid}\t{ipv4}  \t{version}\tens1f0np0\n"
    return f"{head}{body}n_gids_found={len(rows)}\n"


def index(host, number):
    return f"{host}:1:2 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to {number}.\n"


def qos(enabled):
    return f"PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     {enabled}\n"


def counters(**values):
    return "NIC statistics:\n" + "".join(f"     {name}: {value}\n" for name, value in values.items())


LOSSLESS, LOSSY = qos("0   0   0   1   0   0   0   0"), qos("0   0   0   0   0   0   0   0")


def test_the_interface_whose_mtu_is_smaller_than_its_peers_is_possibly_named():
    (finding,) = of_class(judged({f"n{i}/ip": link(1500 if i == 2 else 9000) for i in range(4)}), "net-fabric/mtu")
    assert (finding.component, finding.confidence) == ("n2/ens1f0np0", Confidence.POSSIBLE)
    assert "1500" in finding.title
    assert "9000" in finding.title


def test_a_ping_that_is_refused_makes_it_likely():
    ping = "PING 10.0.0.2 (10.0.0.2) 8972(9000) bytes of data.\nping: local error: message too long, mtu=1500\n"
    files = {"a/ip": link(1500), "b/ip": link(9000), "a/ping": ping}
    (finding,) = of_class(judged(files), "net-fabric/mtu")
    assert (finding.component, finding.confidence) == ("a/ens1f0np0", Confidence.LIKELY)


@pytest.mark.parametrize(("name", "state"), [("docker0", "UP"), ("lo", "UP"), ("ens1f0np0", "DOWN")])
def test_interfaces_that_no_traffic_between_nodes_takes_are_not_compared(name, state):
    assert of_class(judged({"a/ip": link(1500, name, state), "b/ip": link(9000, name, state)}), "net-fabric") == []


def test_equal_mtus_say_nothing():
    assert of_class(judged({"a/ip": link(9000), "b/ip": link(9000)}), "net-fabric") == []


def test_an_index_that_names_a_roce_v1_entry_is_likely_wrong():
    table = gids((1, "10.0.0.1", "v1"), (3, "10.0.0.1", "v2"))
    (finding,) = of_class(judged({"a/gids": table, "a/nccl": index("a", 1)}), "net-fabric/gid")
    assert (finding.component, finding.confidence) == ("a/mlx5_0", Confidence.LIKELY)
    assert "NCCL_IB_GID_INDEX=1" in finding.title


def test_an_index_that_names_a_roce_v2_entry_is_right():
    table = gids((1, "10.0.0.1", "v1"), (3, "10.0.0.1", "v2"))
    assert of_class(judged({"a/gids": table, "a/nccl": index("a", 3)}), "net-fabric") == []


def test_an_entry_that_moved_between_two_moments_is_named_and_likely_once_a_request_names_it():
    files = {"a/t0-gids": gids((3, "10.0.0.1", "v2")), "a/t1-gids": gids((3, "169.254.3.7", "v2"))}
    (finding,) = of_class(judged(files), "net-fabric/gid-changed")
    assert finding.confidence == Confidence.POSSIBLE
    failed = (
        "a:1:2 [0] transport/net_ib.cc:1615 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<1234> with status=12 "
        "opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.0.0.1 remoteGids ::ffff:10.0.0.2\n"
    )
    (finding,) = of_class(judged({**files, "a/nccl": failed}), "net-fabric/gid-changed")
    assert finding.confidence == Confidence.LIKELY


def test_a_table_that_stays_the_same_did_not_change():
    table = gids((3, "10.0.0.1", "v2"))
    assert of_class(judged({"a/t0-gids": table, "a/t1-gids": table}), "net-fabric") == []


def test_discards_that_move_on_a_node_without_flow_control_are_likely_its_cause():
    files = {
        "a/t0-eth": counters(rx_discards_phy=10),
        "a/t1-eth": counters(rx_discards_phy=50010),
        "a/qos": LOSSY,
        "b/qos": LOSSLESS,
    }
    (finding,) = of_class(judged(files), "net-fabric/lossy-roce")
    assert (finding.component.node, finding.confidence) == ("a", Confidence.LIKELY)
    assert "+50000" in finding.title


def test_discards_since_boot_alone_say_nothing():
    assert of_class(judged({"a/eth": counters(rx_discards_phy=50010)}), "net-fabric") == []


def test_counters_that_did_not_move_say_nothing():
    files = {"a/t0-eth": counters(rx_discards_phy=50010), "a/t1-eth": counters(rx_discards_phy=50010)}
    assert of_class(judged(files), "net-fabric") == []


def test_flow_control_that_differs_is_possible_and_names_the_node_without():
    (finding,) = of_class(judged({"a/qos": LOSSY, "b/qos": LOSSLESS, "c/qos": LOSSLESS}), "net-fabric/lossy-roce")
    assert (finding.component, finding.confidence) == ("a/host", Confidence.POSSIBLE)


def ibstat(*rates, state="Active"):
    text = ""
    for number, rate in enumerate(rates):
        text += (
            f"CA 'mlx5_{number}'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: {state}\n\t\tPhysical state: LinkUp\n"
            f"\t\tRate: {rate}\n\t\tLink layer: InfiniBand\n"
        )
    return text


def test_a_port_at_half_the_rate_of_all_its_equals_is_likely_at_fault():
    (finding,) = of_class(judged({"a/ibstat": ibstat(400, 400, 200, 400, 400)}), "net-link/speed")
    assert (finding.component, finding.confidence) == ("a/mlx5_2", Confidence.LIKELY)


def test_two_ports_of_two_speeds_are_only_possible_and_equal_ports_nothing():
    (finding,) = of_class(judged({"a/ibstat": ibstat(400, 200)}), "net-link/speed")
    assert finding.confidence == Confidence.POSSIBLE
    assert of_class(judged({"a/ibstat": ibstat(400, 400)}), "net-link") == []


def test_a_port_with_a_link_that_nobody_configured_lacks_a_subnet_manager():
    (finding,) = of_class(judged({"a/ibstat": ibstat(10, state="Initializing")}), "net-fabric/sm")
    assert "Initializing" in finding.title


def test_a_link_that_goes_down_again_and_again_flaps_and_one_that_went_once_does_not():
    story = Story()
    nic = next(part for part, key in story.snapshot.nodes["n1"].facts if part.kind == "nic")
    address = story.snapshot.nodes["n1"].fact(nic, "bus_address")
    for number in range(4):
        assert number < 2 or of_class(story.findings(), "net-link/flap")
        story.log("n1", f"mlx5_core {address} mlx5_0: Link down", after=200 * number)
        story.log("n1", f"mlx5_core {address} mlx5_0: Link up", after=200 * number + 5)
        if number == 0:
            assert of_class(story.findings(), "net-link/flap") == []
    (finding,) = of_class(story.findings(), "net-link/flap")
    assert (finding.component, finding.confidence) == (nic, Confidence.LIKELY)


def nfs(*states):
    words = {False: "not responding, still trying", True: "OK"}
    return "".join(f"[{100 + n}.000000] nfs: server 10.0.0.5 {words[state]}\n" for n, state in enumerate(states))


def test_a_server_that_several_nodes_miss_is_possibly_slow_itself():
    (finding,) = of_class(judged({"a/dmesg": nfs(False), "b/dmesg": nfs(False, True)}), "storage")
    assert (finding.fault_class, finding.confidence) == ("storage/slow-server", Confidence.POSSIBLE)
    assert "1 node still waiting" in finding.title
    assert finding.victims == ("b/host",)


def test_one_nodes_server_that_answers_again_is_a_lead_and_no_more():
    (finding,) = of_class(judged({"a/dmesg": nfs(False, True)}), "storage")
    assert finding.confidence == Confidence.UNKNOWN


def test_storage_complaints_of_a_live_node_count_once():
    story = Story()
    story.log("n1", "nfs: server 10.0.0.5 not responding, still trying")
    (finding,) = of_class(story.findings(), "storage")
    assert "once" in finding.title
