"""GPUDirect RDMA that one node lacks: what NCCL chose beside what the kernel has, and what must not be concluded."""

from lanescope.incident.findings import Confidence

from .telling import judged, of_class

CORE = "ib_core  319488  {count} rdma_cm,ib_ipoib,{more}ib_umad,ib_uverbs,mlx5_ib,ib_cm\n"
WITH = "nvidia_peermem  16384  0\n" + CORE.format(count=8, more="nvidia_peermem,")
WITHOUT = CORE.format(count=7, more="")


def channel(host, direction, way, rank=0):
    return f"{host}:100:200 [0] NCCL INFO Channel 00/0 : {rank}[0] -> 8[0] [{direction}] via NET/IB/0{way}\n"


def setting(host, name, value):
    return f"{host}:100:200 [0] NCCL INFO {name} set by environment to {value}.\n"


def missing(files):
    return of_class(judged(files), "nic-host/gdr-missing")


def test_a_node_whose_channels_stage_and_whose_module_is_not_loaded_is_likely_named():
    (finding,) = missing(
        {
            "a/nccl.txt": channel("a", "send", "/GDRDMA"),
            "b/nccl.txt": channel("b", "receive", ""),
            "a/lsmod.txt": WITH,
            "b/lsmod.txt": WITHOUT,
        }
    )
    assert (finding.component, finding.confidence) == ("b/host", Confidence.LIKELY)
    assert "without GDRDMA" in finding.title
    assert len(finding.evidence) == 3


def test_one_log_of_the_whole_job_tells_its_nodes_apart_by_the_lines_own_hosts():
    (finding,) = missing({"head/job.log": channel("a", "send", "/GDRDMA") + channel("b", "receive", "")})
    assert finding.component == "b/host"
    assert finding.confidence == Confidence.POSSIBLE


def test_channels_that_differ_alone_are_only_possible():
    (finding,) = missing({"a/x": channel("a", "receive", "/GDRDMA"), "b/x": channel("b", "receive", "")})
    assert finding.confidence == Confidence.POSSIBLE
    assert "lsmod" in finding.next


def test_sends_alone_without_it_may_be_the_choice_of_old_gpus():
    (finding,) = missing(
        {
            "a/nccl": channel("a", "receive", "/GDRDMA"),
            "b/nccl": channel("b", "send", ""),
            "b/lsmod": WITHOUT,
        }
    )
    assert finding.confidence == Confidence.POSSIBLE
    assert any("before Ampere" in against for against in finding.argues_against)


def test_a_setting_that_forbids_it_is_the_cause_and_no_module_is():
    files = {
        "a/nccl": channel("a", "receive", "/GDRDMA"),
        "b/nccl": setting("b", "NCCL_NET_GDR_LEVEL", "LOC") + channel("b", "receive", ""),
    }
    (finding,) = missing(files)
    assert "NCCL_NET_GDR_LEVEL=LOC" in finding.title
    assert "modprobe" not in finding.next


def test_nodes_that_all_have_it_or_all_talk_over_sockets_say_nothing():
    assert missing({"a/x": channel("a", "send", "/GDRDMA"), "b/x": channel("b", "receive", "/GDRDMA")}) == []
    socket = channel("a", "send", "").replace("NET/IB/0", "NET/Socket/0")
    assert missing({"a/x": socket, "b/x": channel("b", "send", "/GDRDMA")}) == []


def test_a_module_that_an_excerpt_could_not_show_is_not_missing():
    files = {"a/lsmod": WITH, "b/lsmod": "nvidia_uvm  1679360  0\nnvidia  56807424  2 nvidia_uvm,nvidia_modeset\n"}
    assert missing(files) == []


def test_a_module_on_some_nodes_only_is_possible_until_nccl_is_heard():
    (finding,) = missing({"a/lsmod": WITH, "b/lsmod": WITHOUT})
    assert (finding.component, finding.confidence) == ("b/host", Confidence.POSSIBLE)
    assert any("DMA-BUF" in against for against in finding.argues_against)


def test_a_node_with_dma_buf_needs_no_module():
    buffer = "b:1:2 [0] NCCL INFO DMA-BUF is available on GPU device 0\n"
    assert missing({"a/lsmod": WITH, "b/lsmod": WITHOUT, "b/nccl": buffer}) == []
