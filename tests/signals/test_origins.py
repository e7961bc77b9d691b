"""Origin before victims: GPUs off the bus, Xids and SXids, nodes and drivers that stopped answering."""

import time

import pytest
from lanescope.incident.events import ClockMeasured, NodeState
from lanescope.incident.findings import Confidence, Severity
from lanescope.incident.ids import NodeId
from lanescope.signals.judge import compare, judge
from lanescope.signals.timeline import first_mover, timeline

FELL = "NVRM: Xid (PCI:0000:4c:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
FELL_AGAIN = "NVRM: GPU 0000:4c:00.0: GPU has fallen off the bus."
GPU2 = "n1/gpu2"
ADDRESSES = ("19", "3b", "4c", "5d", "9b", "bb", "cb", "db")


def xid(bus, code, text="Ch 00000008"):
    return f"NVRM: Xid (PCI:0000:{bus}:00): {code}, pid=48211, name=python3, {text}"


def sxid(code, severity="Fatal", port=37, bus="83"):
    return f"nvidia-nvswitch0: SXid (PCI:0000:{bus}:00.0): {code}, {severity}, Link {port} LTSSM Fault Up"


def lose(story):
    """GPU 2 of n1 leaves the bus, as driver and kernel tell it."""
    story.log("n1", FELL)
    story.log("n1", FELL_AGAIN, after=0.000004)
    story.silence(GPU2)
    story.put(GPU2, nvml_error=15)


def test_a_gpu_off_the_bus_is_one_finding_whatever_its_parts_show(story):
    lose(story)
    story.put("n1/gpu2/pcie", current_width=1)
    story.put("n1/gpu2/nvlink3", state=0)
    finding = story.tick(3).only()
    assert (finding.component, finding.fault_class, finding.severity) == (
        GPU2, "gpu-off-bus/unknown", Severity.CRITICAL,
    )  # fmt: skip
    assert "0000:4c:00.0" in finding.title


def test_63_followers_of_one_gone_gpu_are_its_victims(fleet):
    lose(fleet)
    for node in range(1, 9):
        for gpu, bus in enumerate(ADDRESSES):
            if (node, gpu) != (1, 2):
                fleet.log(f"n{node}", xid(bus, 45), after=2 + 0.01 * gpu)
    finding = fleet.tick(10).only()
    assert len(finding.victims) == 63
    assert fleet.findings() == (finding,)


def test_switch_errors_after_a_gone_gpu_are_its_consequences(story):
    lose(story)
    for port in (36, 37, 40):
        story.log("n1", sxid(20034, port=port), after=12)
    story.log("n1", xid("19", 74, "NVLink: fatal error detected on link 3(0x0)"), after=12)
    finding = story.tick(20).only()
    assert set(finding.victims) == {"n1/gpu0"}, "ports 36, 37 and 40 are the far ends of GPU 2's own lanes"


def test_errors_long_before_or_after_a_gone_gpu_stand_on_their_own(story):
    story.log("n1", sxid(23001, port=5))
    story.tick(100)
    lose(story)
    story.tick(3)
    assert {finding.rule.partition(":")[0] for finding in story.faults()} == {"gpu_gone", "sxids"}


def test_followers_on_nodes_whose_clock_nobody_measured_are_not_folded(fleet):
    lose(fleet)
    fleet.tell(ClockMeasured(time=fleet.now, node=NodeId("n2"), offset=0.0, uncertainty=500.0))
    fleet.log("n2", xid("19", 45), after=2)
    assert fleet.tick(5).only().victims == ()


def test_a_nodes_wrong_clock_does_not_hide_its_followers(fleet):
    lose(fleet)
    fleet.tell(ClockMeasured(time=fleet.now, node=NodeId("n2"), offset=-300.0, uncertainty=0.01))
    fleet.log("n2", xid("19", 45), after=2 - 300)
    assert fleet.tick(5).only().victims == ("n2/gpu0",)


def test_a_gpu_that_only_went_silent_is_possible_and_no_more(story):
    story.silence(GPU2)
    finding = story.tick().only()
    assert (finding.component, finding.confidence) == (GPU2, Confidence.POSSIBLE)


def test_a_gpu_that_fell_off_without_an_xid_and_was_never_seen_is_named_by_its_address(story):
    for line in ("NVRM: The NVIDIA GPU 0000:b3:00.0", "NVRM: (PCI ID: 10de:26b5) installed in this system has"):
        story.log("n1", line)
    story.log("n1", "NVRM: fallen off the bus and is not responding to commands.")
    assert story.tick().only().component == "n1/pcie/0000:b3:00.0"


def test_a_gpu_that_answers_again_is_a_warning_that_says_so(story):
    story.log("n1", FELL)
    finding = story.tick(3).only()
    assert (finding.severity, "answers again" in finding.title) == (Severity.WARNING, True)


def test_when_the_link_above_broke_first_the_gpu_is_not_the_first_suspect(story):
    story.log("n1", "pcieport 0000:4a:00.0: DPC: containment event, status:0x1f01 source:0x0000", after=-1)
    lose(story)
    finding = story.tick(3).only()
    assert (finding.fault_class, finding.fru) == ("gpu-off-bus/link", "baseboard")


def test_two_gpus_gone_together_name_what_they_may_share(story):
    lose(story)
    story.put("n1/gpu3", nvml_error=15)
    story.log("n1", FELL.replace("4c", "5d"))
    first, second = story.tick(3).faults()
    assert "gpu3" in first.argues_against[0]
    assert "gpu2" in second.argues_against[0]


def test_a_gone_gpu_keeps_its_victims_after_its_samples_have_scrolled_away(story):
    story.tick(3)
    story.put(GPU2, nvml_error=15)
    story.log("n1", xid("19", 45), after=2)
    story.tick(3)
    early = story.only()
    story.tick(130)
    assert compare([early], [story.only()]).raised == ()


@pytest.mark.parametrize("code", [13, 31, 43, 45])
def test_xids_of_programs_are_information_about_software(story, code):
    story.log("n1", xid("19", code))
    (finding,) = story.tick().findings()
    assert (finding.severity, finding.fru, finding.fault_class) == (Severity.INFO, "software", "software")


def test_a_memory_xid_is_about_the_gpus_memory_with_what_the_table_says(story):
    story.log("n1", xid("19", 48, "An uncorrectable double bit error (DBE)"))
    finding = story.tick().only()
    assert (finding.component, finding.fru, finding.severity) == (
        "n1/gpu0/hbm", "gpu-module", Severity.CRITICAL,
    )  # fmt: skip
    assert "Uncorrectable ECC error" in finding.title


def test_sixteen_lines_of_one_xid_are_one_finding(story):
    for number in range(16):
        story.log("n1", xid("19", 119, "Timeout after 6s of waiting for RPC response"), after=0.1 * number)
    finding = story.tick(5).only()
    assert "more than 10 times" in finding.title
    assert len(finding.evidence) <= 8


def test_the_first_mover_of_a_chain_of_xids_carries_its_followers(fleet):
    fleet.log("n1", xid("19", 149, "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6)"))
    for node in range(1, 9):
        for bus in ADDRESSES:
            if (node, bus) != (1, "19"):
                fleet.log(f"n{node}", xid(bus, 145, "RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x0)"), after=0.5)
    finding = fleet.tick(5).only()
    assert (finding.component, len(finding.victims)) == ("n1/gpu0/nvlink8", 63)


def test_an_xid_that_says_it_follows_another_one_is_not_put_under_a_third(story):
    story.log("n1", xid("19", 48, "DBE"))
    story.log("n1", xid("3b", 45, "Ch 00000001 caused by previous Xid 149"), after=1)
    finding = next(one for one in story.tick(3).findings() if one.component == "n1/gpu1")
    assert "Xid 149" in finding.argues_against[0]


def test_what_the_driver_asks_for_is_read_out_and_is_no_fault(story):
    story.log("n1", xid("19", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset \x1b[31mRequired)"))
    (finding,) = story.tick().findings()
    assert (finding.fru, finding.is_fault) == ("none", False)
    assert "GPU Reset" in finding.title
    assert "\x1b" not in finding.title


def test_the_word_on_an_sxid_line_stands_over_the_table(story):
    story.log("n1", sxid(20009, "Fatal", port=5))
    assert story.tick().only().severity is Severity.CRITICAL


def test_an_sxid_names_the_gpu_lane_that_ends_at_its_port(story):
    story.log("n1", sxid(20012, "Non-fatal", port=18 * 3 + 2))
    finding = story.tick().only()
    assert (finding.component, finding.fault_class) == ("n1/gpu3/nvlink2", "nvlink-link/marginal")


def test_an_sxid_that_is_usually_benign_is_no_fault(story):
    story.log("n1", sxid(22013, "Non-fatal", port=60))
    (finding,) = story.tick().findings()
    assert (finding.is_fault, finding.fault_class) == (False, "not-a-fault/by-design")


def test_lines_about_other_things_raise_nothing(story):
    story.log("n1", "usb 1-1: new high-speed USB device number 2")
    story.log("n1", "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context")
    assert story.tick().findings() == ()


def test_a_node_that_refuses_is_a_finding_with_its_reason_and_accuses_no_hardware(story):
    story.state("n1", NodeState.FAILED, "Permission denied (publickey)")
    finding = story.only()
    assert (finding.component, finding.fru, finding.fault_class) == ("n1", "none", "unknown")
    assert finding.title == "n1: Permission denied (publickey)"


def test_a_node_that_says_nothing_any_more_is_a_finding_while_the_others_go_on(fleet):
    fleet.tick(6, quiet=["n3"])
    assert fleet.only().component == "n3"


def test_a_node_on_its_way_up_is_not_a_finding(story):
    story.state("n1", NodeState.CONNECTING)
    assert story.findings() == ()


def test_a_hung_driver_is_software_and_says_since_when_and_where(story):
    story.hang("n1", "nvml")
    finding = story.only()
    assert (finding.component, finding.fault_class) == ("n1/host", "software/driver")
    assert "uninterruptible sleep, in rm_wait" in finding.title
    assert finding.evidence[0] == f"J{story.events}"


def test_a_log_nobody_may_read_is_not_a_finding(story):
    story.fail("n1", "kmsg", "permission denied")
    assert story.findings() == ()


def test_gpus_that_cannot_be_read_at_all_are_a_finding_about_the_driver(story):
    story.fail("n1", "nvml", "driver/library version mismatch")
    assert "driver/library version mismatch" in story.only().title


def test_what_stands_and_says_the_same_is_not_told_again(story):
    story.put("n1/gpu5/nvlink7", state=0)
    before = story.tick().findings()
    after = story.tick(200).findings()
    change = compare(before, after)
    assert (change.raised, change.cleared) == ((), ())


def test_what_is_no_longer_found_is_cleared(story):
    story.put("n1/gpu5/nvlink7", state=0)
    before = story.tick().findings()
    story.put("n1/gpu5/nvlink7", state=1)
    assert compare(before, story.tick().findings()).cleared == (before[0].key,)


def test_the_order_between_nodes_is_only_certain_beyond_their_clocks_errors(fleet):
    fleet.log("n1", xid("19", 48, "DBE"))
    fleet.log("n2", xid("19", 48, "DBE"), after=0.001)
    fleet.log("n3", xid("19", 48, "DBE"), after=5)
    mover = first_mover(timeline(fleet.snapshot))
    assert (mover.burst.node, [rival.node for rival in mover.rivals]) == ("n1", ["n2"])


def test_64_nodes_are_judged_in_a_twentieth_of_a_second(begin):
    story = begin(nodes=64)
    for gpu in range(8):
        story.log("n9", xid("19", 45), after=gpu)
    story.tick(4)
    story.findings()
    story.rise("n7/gpu5/nvlink7", "recovery_errors")
    snapshot, fabric = story.tick().judged_on()
    taken = []
    for _ in range(5):
        began = time.process_time()
        judge(snapshot, fabric)
        taken.append(time.process_time() - began)
    assert min(taken) < 0.05
