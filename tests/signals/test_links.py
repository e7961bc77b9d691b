"""Links that are down, narrow or slow, and those that only look so."""

import pytest
from lanescope.incident.findings import Confidence, Severity
from lanescope.incident.ids import ComponentId
from lanescope.signals.pcie_links import pcie_links

NAN = float("nan")


def test_a_healthy_fleet_raises_nothing(fleet):
    assert fleet.findings() == ()


def test_a_wired_lane_that_is_down_while_its_siblings_are_up_is_a_finding(story):
    story.put("n1/gpu5/nvlink7", state=0)
    finding = story.tick().only()
    assert (finding.component, finding.fault_class, finding.fru) == (
        "n1/gpu5/nvlink7", "nvlink-link/down", "gpu-module",
    )  # fmt: skip
    assert "17 of 18" in finding.title


def test_the_log_lines_of_a_down_lane_are_its_evidence_and_no_findings_of_their_own(story):
    story.put("n1/gpu5/nvlink7", state=0)
    story.log("n1", "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 20034, Fatal, Link 97 LTSSM Fault Up")
    story.log("n1", "NVRM: Xid (PCI:0000:bb:00): 74, pid=1, name=x, NVLink: fatal error detected on link 7(0x0)")
    finding = story.tick().only()
    assert "(SXid 20034, Xid 74)" in finding.title
    assert {f"J{story.events - n}" for n in (5, 4)} <= set(finding.evidence)


def test_a_lane_that_is_not_supported_is_not_a_finding(story):
    story.put("n1/gpu5/nvlink7", state=NAN)
    assert story.tick().findings() == ()


def test_a_lane_that_is_not_wired_is_not_a_finding(begin):
    story = begin()
    story.fact("n1/gpu5/nvlink7", "remote_type", None)
    story.put("n1/gpu5/nvlink7", state=0)
    assert story.tick(3).findings() == ()


def test_a_platform_without_nvlink_raises_nothing(begin):
    story = begin()
    for key in story.values["n1"]["nvml"]:
        if "nvlink" in key[0]:
            story.values["n1"]["nvml"][key] = NAN
    assert story.tick(3).findings() == ()


def test_dead_lanes_of_several_gpus_to_one_switch_are_one_finding_on_the_switch(story):
    for gpu in range(4):
        story.put(f"n1/gpu{gpu}/nvlink6", state=0)
    finding = story.tick().only()
    assert (finding.component, len(finding.victims)) == ("n1/nvswitch1", 4)


def test_when_all_links_of_a_node_are_down_software_comes_first(story):
    for gpu in range(8):
        for lane in range(18):
            story.put(f"n1/gpu{gpu}/nvlink{lane}", state=0)
    finding = story.tick().only()
    assert (finding.component, finding.fru) == ("n1/service/fabricmanager", "software")


def test_all_links_of_one_gpu_down_are_one_finding_on_the_gpu(story):
    for lane in range(18):
        story.put(f"n1/gpu3/nvlink{lane}", state=0)
    assert story.tick().only().component == "n1/gpu3"


def test_a_port_that_went_down_is_critical_and_its_cable_comes_first(story):
    story.put("n1/mlx5_4", port_state=1, phys_state=2)
    finding = story.tick().only()
    assert (finding.component, finding.fru, finding.severity) == ("n1/mlx5_4", "cable", Severity.CRITICAL)


def test_a_port_never_seen_active_among_active_equals_is_only_possible(begin):
    story = begin()
    story.put("n1/mlx5_4", port_state=1, phys_state=2)
    finding = story.tick(3).only()
    assert finding.confidence is Confidence.POSSIBLE
    assert any("by design" in reason for reason in finding.argues_against)


def test_a_disabled_port_is_not_a_finding(story):
    story.put("n1/mlx5_4", port_state=1, phys_state=3)
    assert story.tick().findings() == ()


def test_ports_of_another_link_layer_are_no_equals(begin):
    story = begin()
    story.fact("n1/mlx5_4", "link_layer", "Ethernet")
    story.put("n1/mlx5_4", port_state=1, phys_state=2)
    assert story.tick(3).findings() == ()


def test_a_link_without_a_subnet_manager_is_configuration_and_no_cable(begin):
    story = begin()
    story.put("n1/mlx5_4", port_state=2, phys_state=5)
    assert story.tick(3).only().fru == "configuration"


def test_a_nic_that_trained_with_half_its_lanes_is_a_finding_at_rest(begin):
    story = begin()
    story.put("n1/mlx5_4/pcie", current_width=8)
    finding = story.tick(2).only()
    assert (finding.component, finding.fault_class) == ("n1/mlx5_4/pcie", "pcie-link/width-degraded")
    assert "x8 instead of x16" in finding.title


def test_a_narrow_link_between_a_switch_and_its_root_port_is_found_too(story):
    story.put("n1/pcie/0000:16:00.0", current_width=8)
    assert story.tick().only().component == "n1/pcie/0000:16:00.0"


def test_a_switch_is_two_bridges_with_no_link_between_them():
    gpu = ComponentId("n/gpu0")
    path = "0000:01:00.0/0000:02:00.0/0000:03:00.0/0000:04:00.0/0000:05:00.0"
    links = pcie_links({(gpu, "pcie_path"): path, (gpu, "bus_address"): "0000:06:00.0"})
    assert [(link.id, link.upper) for link in links] == [
        ("n/gpu0/pcie", "n/pcie/0000:05:00.0"),
        ("n/pcie/0000:04:00.0", "n/pcie/0000:03:00.0"),
        ("n/pcie/0000:02:00.0", "n/pcie/0000:01:00.0"),
    ]


def test_an_unused_port_of_a_pcie_switch_is_not_a_finding(story):
    story.put("n1/pcie/0000:17:00.0", current_width=0)
    assert story.tick().findings() == ()


def test_a_device_wider_than_its_board_is_not_a_fault(begin):
    story = begin()
    story.fact("n1/pcie/0000:4a:01.0", "max_width", 8)
    story.put("n1/mlx5_4/pcie", current_width=8)
    (finding,) = story.tick(2).findings()
    assert (finding.fault_class, finding.severity) == ("not-a-fault/board-limit", Severity.INFO)


def test_a_width_nobody_could_read_is_not_a_finding(story):
    story.put("n1/mlx5_4/pcie", current_width=NAN, speed_gts=NAN)
    assert story.tick().findings() == ()


def test_idle_gen1_is_not_a_finding(story):
    for gpu in range(8):
        story.put(f"n1/gpu{gpu}/pcie", speed_gts=2.5)
    assert story.tick(10).findings() == ()


def test_gen3_while_the_gpu_works_is_a_finding(story):
    story.put("n1/gpu1/pcie", speed_gts=8)
    story.put("n1/gpu1", utilization_pct=97)
    finding = story.tick(10).only()
    assert (finding.component, finding.fault_class) == ("n1/gpu1/pcie", "pcie-link/speed-degraded")


def test_a_gpu_that_begins_to_work_is_given_time_to_bring_its_link_up(story):
    story.put("n1/gpu1/pcie", speed_gts=2.5)
    story.tick(10)
    story.put("n1/gpu1", utilization_pct=97)
    assert story.tick(2).findings() == ()


def test_a_device_faster_than_its_board_is_not_a_finding_under_load(begin):
    story = begin()
    story.fact("n1/pcie/0000:17:00.0", "max_speed_gts", 16.0)
    story.put("n1/gpu0/pcie", speed_gts=16)
    story.put("n1/gpu0", utilization_pct=97)
    assert story.tick(10).findings() == ()


@pytest.mark.parametrize(("words_a_second", "found"), [(1e5, 0), (1e9, 1)])
def test_a_slow_nic_link_is_told_only_while_traffic_flows(story, words_a_second, found):
    story.put("n1/mlx5_4/pcie", speed_gts=16)
    for _ in range(8):
        story.rise("n1/mlx5_4", "port_xmit_data", words_a_second)
        story.tick()
    assert len(story.findings()) == found
