"""Limits of hosts and containers, and what NCCL complains of: the limit, the complaint, and both together."""

import pytest
from lanescope.incident.findings import Confidence

from .telling import judged, of_class

SMALL = "Filesystem      Size  Used Avail Use% Mounted on\nshm              64M     0   64M   0% /dev/shm\n"
NO_SPACE = (
    "a:1:2 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-Xab12 to 9637892 bytes, error: "
    "No space left on device (28)\n"
)
NOT_PINNED = "a:1:2 [0] misc/ibvwrap.cc:115 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
LOCKED = "max locked memory           (kbytes, -l) 64\n"
CHANNEL = "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"


def test_a_containers_default_shared_memory_is_possible_and_likely_once_nccl_met_it():
    (finding,) = of_class(judged({"a/df": SMALL}), "host-config/shm")
    assert (finding.component, finding.confidence) == ("a/host", Confidence.POSSIBLE)
    assert "64 MiB" in finding.title
    (finding,) = of_class(judged({"a/df": SMALL, "a/nccl": NO_SPACE}), "host-config/shm")
    assert finding.confidence == Confidence.LIKELY


@pytest.mark.parametrize(
    "text",
    [
        "tmpfs  504G  0  504G  0% /dev/shm\n",
        '"IpcMode": "host", "NetworkMode": "host", "ShmSize": 67108864\n',
        '"IpcMode": "private", "NetworkMode": "host", "ShmSize": 8589934592\n',
    ],
)
def test_enough_shared_memory_and_the_hosts_own_are_no_finding(text):
    assert of_class(judged({"a/x": text}), "host-config") == []


def test_limited_locked_memory_counts_where_rdma_is_used_and_is_likely_once_a_registration_failed():
    assert of_class(judged({"a/ulimit": LOCKED}), "host-config") == []
    (finding,) = of_class(judged({"a/ulimit": LOCKED, "a/nccl": CHANNEL}), "host-config/memlock")
    assert finding.confidence == Confidence.POSSIBLE
    (finding,) = of_class(judged({"a/ulimit": LOCKED, "a/nccl": CHANNEL + NOT_PINNED}), "host-config/memlock")
    assert finding.confidence == Confidence.LIKELY


def test_unlimited_locked_memory_is_no_finding():
    files = {"a/ulimit": LOCKED.replace("64", "unlimited"), "a/nccl": CHANNEL}
    assert of_class(judged(files), "host-config") == []


def test_a_governor_that_saves_power_is_possible_and_a_lead_where_the_driver_clocks_up_itself():
    (finding,) = of_class(
        judged({"a/gov": "powersave\n" * 8, "b/gov": "performance\n" * 8}), "host-config/cpu-governor"
    )
    assert (finding.component, finding.confidence) == ("a/host", Confidence.POSSIBLE)
    itself = 'analyzing CPU 0:\n  driver: intel_pstate\n  The governor "powersave" may decide which speed to use\n'
    (finding,) = of_class(judged({"a/gov": itself}), "host-config/cpu-governor")
    assert finding.confidence == Confidence.UNKNOWN


def test_nccls_own_word_on_versions_is_likely_and_two_outputs_that_differ_only_possible():
    warning = (
        "a:1:2 [0] init.cc:500 NCCL WARN Mismatched NCCL version detected : rank 0 version 22105 rank 8 version 21805\n"
    )
    (finding,) = of_class(judged({"a/nccl": warning}), "software/nccl-version")
    assert (finding.component, finding.confidence) == ("a/host", Confidence.LIKELY)
    versions = {f"{node}/log": f"NCCL version {one}+cuda12.4\n{CHANNEL.replace('a:', node + ':')}"
                for node, one in (("a", "2.21.5"), ("b", "2.18.5"), ("c", "2.21.5"))}  # fmt: skip
    (finding,) = of_class(judged(versions), "software/nccl-version")
    assert (finding.component, finding.confidence) == ("b/host", Confidence.POSSIBLE)


def test_ranks_over_sockets_count_where_rdma_is_expected():
    sockets = "a:1:2 [0] NCCL INFO Using network Socket\n"
    assert of_class(judged({"a/nccl": sockets}), "host-config") == []
    other = "b:1:2 [0] NCCL INFO Using network IB\n"
    (finding,) = of_class(judged({"a/nccl": sockets, "b/nccl": other}), "host-config/container-devices")
    assert (finding.component, finding.confidence) == ("a/host", Confidence.POSSIBLE)
    told = "a:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
    (finding,) = of_class(judged({"a/nccl": told + sockets}), "host-config")
    assert finding.confidence == Confidence.LIKELY
    assert "NCCL_IB_DISABLE=1" in finding.title


def test_requests_that_ran_out_of_retries_are_a_lead_to_the_peer_and_flushed_ones_nothing():
    text = (
        "a:1:2 [0] transport/net_ib.cc:1615 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<1234> with status={}\n"
    )
    (finding,) = of_class(judged({"a/nccl": text.format(12)}), "net-fabric")
    assert finding.confidence == Confidence.UNKNOWN
    assert "10.0.0.2" in finding.title
    assert of_class(judged({"a/nccl": text.format(5)}), "net-fabric") == []
