"""Ways between PCIe peers: access control, translation, arbitration, and what only looks like a fault of them."""

import pytest
from lanescope.incident.findings import Confidence, Severity

from .telling import judged, of_class

ON = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"
OFF = "SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd+ EgressCtrl- DirectTrans-"
HEADING = "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
HANGS = "box:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n" + HEADING
DETOUR = "box:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
PASSES = DETOUR + "# Out of bounds values : 0 OK\n"


def bridge(address, secondary, acs=ON, subordinate=None):
    buses = f"primary={address[:2]}, secondary={secondary}, subordinate={subordinate or secondary}"
    control = f"\t\tACSCtl:\t{acs}\n" if acs else ""
    return f"{address} PCI bridge: Intel Corporation Device 352a\n\tBus: {buses}, sec-latency=0\n{control}"


def gpu(address):
    return f"{address} 3D controller: NVIDIA Corporation GA102GL [RTX A6000] (rev a1)\n"


def nic(address):
    return f"{address} Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"


def two_ports(acs=ON):
    """Two GPUs, each below a root port of its own, and a port with a disk."""
    return (
        bridge("20:01.0", "21", acs) + gpu("21:00.0") + bridge("30:01.0", "31", acs) + gpu("31:00.0")
        + bridge("40:01.0", "41", ON) + "41:00.0 Non-Volatile memory controller: Samsung Device a80a\n"
    )  # fmt: skip


def one_switch(down=ON, above=ON, second=gpu):
    """A switch below a root port, with a GPU and another device below it."""
    return (
        bridge("20:01.0", "21", above, "25") + bridge("21:00.0", "22", None, "25")
        + bridge("22:00.0", "23", down) + gpu("23:00.0") + bridge("22:01.0", "24", down) + second("24:00.0")
    )  # fmt: skip


def acs(files):
    return of_class(judged(files), "pcie-p2p-path/acs")


def test_redirection_with_a_run_that_fails_only_with_p2p_names_every_bridge_between():
    (finding,) = acs({"n1/lspci": two_ports(), "n1/on": HANGS, "n1/off": PASSES})
    assert (finding.confidence, finding.severity, finding.fru) == (
        Confidence.LIKELY, Severity.CRITICAL, "configuration",
    )  # fmt: skip
    assert "20:01.0, 30:01.0" in finding.title
    assert "40:01.0" not in finding.title + finding.next
    assert set(finding.evidence) == {"J1", "J2", "J3"}
    assert "setpci -s 30:01.0 ECAP_ACS+6.w=0000" in finding.next


def test_without_a_run_that_passes_anything_may_have_stopped_the_other():
    (finding,) = acs({"n1/lspci": two_ports(), "n1/on": HANGS})
    assert finding.confidence is Confidence.POSSIBLE


@pytest.mark.parametrize("other", [DETOUR + HEADING, PASSES.replace("SHM", "P2P")])
def test_runs_that_p2p_does_not_tell_apart_prove_nothing(other):
    (finding,) = acs({"n1/lspci": two_ports(), "n1/on": HANGS, "n1/other": other})
    assert finding.confidence is Confidence.UNKNOWN


def test_runs_of_another_node_prove_nothing():
    (finding,) = acs({"n1/lspci": two_ports(), "n2/on": HANGS, "n2/off": PASSES})
    assert finding.confidence is Confidence.UNKNOWN


def test_bridges_that_do_not_redirect_are_no_finding_whatever_runs_show():
    assert acs({"n1/lspci": two_ports(OFF), "n1/on": HANGS, "n1/off": PASSES}) == []


def test_below_one_switch_its_own_ports_are_named_and_not_the_root_port_above():
    (finding,) = acs({"n1/lspci": one_switch()})
    assert finding.confidence is Confidence.POSSIBLE
    assert "22:00.0, 22:01.0" in finding.title
    assert "20:01.0" not in finding.title


def test_a_root_port_above_a_switch_lies_on_no_way_between_its_devices():
    assert acs({"n1/lspci": one_switch(down=OFF)}) == []


def test_a_nic_below_the_same_switch_is_a_peer_too():
    (finding,) = acs({"n1/lspci": one_switch(second=nic)})
    assert {part.kind for part in finding.victims} == {"gpu", "nic"}


def test_gpus_that_nvlink_joins_do_not_need_the_way_over_pcie():
    matrix = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\t0-31\t0\nGPU1\tNV4\t X \t0-31\t0\n"
    assert acs({"n1/lspci": two_ports(), "n1/topo": matrix}) == []


def test_a_register_read_later_stands_over_what_lspci_printed():
    cleared = "20:01.0 (ecap 000d @2a0) @2a6 = 0000\n30:01.0 (ecap 000d @2a0) @2a6 = 0000\n"
    assert acs({"n1/lspci": two_ports(), "n1/setpci": cleared}) == []
    assert len(acs({"n1/lspci": two_ports(OFF), "n1/setpci": cleared.replace("0000\n", "001d\n")})) == 1


def test_an_iommu_that_translates_is_told_where_p2p_fails_and_no_bridge_redirects():
    files = {
        "n1/lspci": two_ports(OFF), "n1/topo": matrix_of("PHB"),
        "n1/cmdline": "root=/dev/sda1 intel_iommu=on\n", "n1/on": HANGS, "n1/off": PASSES,
    }  # fmt: skip
    (finding,) = of_class(judged(files), "pcie-p2p-path/iommu")
    assert finding.confidence is Confidence.POSSIBLE
    assert "intel_iommu=on" in finding.title


@pytest.mark.parametrize("line", ["intel_iommu=on iommu=pt\n", "iommu=off\n", "root=/dev/sda1 ro quiet\n"])
def test_an_iommu_that_is_off_or_passed_through_is_no_finding(line):
    files = {
        "n1/lspci": two_ports(OFF),
        "n1/topo": matrix_of("PHB"),
        "n1/cmdline": line,
        "n1/on": HANGS,
        "n1/off": PASSES,
    }
    assert of_class(judged(files), "pcie-p2p-path/iommu") == []


def test_an_iommu_that_translates_and_harms_nothing_is_no_finding():
    files = {"n1/lspci": two_ports(OFF), "n1/topo": matrix_of("PHB"), "n1/cmdline": "root=/dev/sda1 intel_iommu=on\n"}
    assert judged(files) == ()


def test_what_the_iommu_refused_a_gpu_is_told_of_that_gpu_and_of_no_other_device():
    refused = (
        "[   10.100000] DMAR: [DMA Write] Request device [{}] fault addr 0x9000 [fault reason 05] PTE Write access is "
        "not set\n"
    )
    files = {"n1/lspci": two_ports(OFF), "n1/dmesg": refused.format("31:00.0") + refused.format("41:00.0")}
    (finding,) = of_class(judged(files), "pcie-p2p-path/iommu")
    assert (finding.component, finding.confidence) == ("n1/gpu1", Confidence.POSSIBLE)


def matrix_of(kind, gpus=2):
    heads = [f"GPU{at}" for at in range(gpus)]
    rows = ["\t".join([one, *("X" if one == other else kind for other in heads), "0-31", "0"]) for one in heads]
    return "\n".join(["\t" + "\t".join(heads) + "\tCPU Affinity\tNUMA Affinity", *rows, ""])


def paired(gpus=8):
    """Pairs of GPUs below one switch each, all on one socket."""
    heads = [f"GPU{at}" for at in range(gpus)]
    rows = []
    for one in range(gpus):
        kinds = ["X" if one == other else "PIX" if one // 2 == other // 2 else "NODE" for other in range(gpus)]
        rows.append("\t".join([heads[one], *kinds, "0-31", "0"]))
    return "\n".join(["\t" + "\t".join(heads) + "\tCPU Affinity\tNUMA Affinity", *rows, ""])


ALONE = ("GPU2->GPU4,write,41.0", "GPU3->GPU6,write,41.2")
COLLAPSE = "GPU2->GPU4 + GPU3->GPU6,write,3.1"
READS = "GPU2->GPU4 + GPU3->GPU6,read,52.0"
ONE_TARGET = "GPU2->GPU4 + GPU3->GPU5,write,44.0"


def arbitration(*rows, topo=None):
    copies = "\n".join(["flows,direction,total_GBps", *rows, ""])
    return of_class(judged({"n1/topo": topo or paired(), "n1/copies": copies}), "pcie-p2p-path/switch-arbitration")


def test_writes_of_one_uplink_to_two_root_ports_that_collapse_accuse_the_switch_and_no_gpu():
    (finding,) = arbitration(*ALONE, COLLAPSE, READS, ONE_TARGET)
    assert (finding.confidence, finding.component.kind) == (Confidence.POSSIBLE, "bridge")
    assert "writes from gpu2 and gpu3" in finding.title
    assert "3.1 GB/s" in finding.title
    assert set(finding.evidence) == {"J1", "J2"}


def test_reads_that_collapse_too_are_another_fault():
    assert arbitration(*ALONE, COLLAPSE, READS.replace("52.0", "3.3")) == []


def test_two_flows_that_share_an_uplink_are_no_fault():
    assert arbitration(*ALONE, COLLAPSE.replace("3.1", "40.5"), READS) == []


def test_a_collapse_to_one_target_is_not_the_switch_of_the_sources():
    assert arbitration("GPU2->GPU4,write,41", ONE_TARGET.replace("44.0", "3.0"), READS) == []


def test_without_a_flow_alone_there_is_no_yardstick():
    assert arbitration(COLLAPSE, READS) == []


@pytest.mark.parametrize("kind", ["NV18", "SYS"])
def test_sources_that_share_no_switch_share_no_uplink(kind):
    assert arbitration(*ALONE, COLLAPSE, READS, topo=matrix_of(kind, gpus=8)) == []


SLOWER = """Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 640.10  18.20
     1  18.30 641.00
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 640.00  {direct}
     1  18.25 640.90
"""


def test_direct_copies_slower_than_those_over_host_memory_accuse_the_way_and_no_gpu():
    (finding,) = judged({"n1/p2p": SLOWER.format(direct=" 7.10")})
    assert (finding.component, finding.fault_class) == ("n1/host", "pcie-p2p-path")
    assert "1 of 2 pairs" in finding.title
    assert "7.1 GB/s with it, 18.2 without" in finding.title


def test_direct_copies_as_fast_as_the_detour_are_no_finding():
    assert judged({"n1/p2p": SLOWER.format(direct="17.90")}) == ()


def test_where_bridges_redirect_they_are_told_and_not_the_slow_copies_again():
    (finding,) = judged({"n1/lspci": two_ports(), "n1/p2p": SLOWER.format(direct=" 7.10")})
    assert (finding.fault_class, finding.confidence) == ("pcie-p2p-path/acs", Confidence.POSSIBLE)
    assert "7.1 GB/s" in finding.title
