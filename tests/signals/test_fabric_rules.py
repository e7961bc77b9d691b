"""What the fabric itself shows: sources that disagree, and nodes that have fewer parts than their platform."""

from lanescope.incident.findings import Severity
from lanescope.incident.ids import ComponentId, NodeId


def of_rule(story, rule):
    return [finding for finding in story.findings() if finding.rule == rule]


def test_sources_that_agree_raise_nothing(story):
    for lane in range(18):
        address = story.snapshot.nodes["n1"].fact(ComponentId(f"n1/gpu0/nvlink{lane}"), "remote_address")
        story.fact(f"n1/gpu0/nvlink{lane}", "listed_address", address)
    assert story.tick().findings() == ()


def test_a_tool_that_lists_another_nvswitch_than_the_driver_is_a_contradiction(story):
    others = ("0000:83:00.0", "0000:84:00.0")
    told = story.snapshot.nodes["n1"].fact(ComponentId("n1/gpu3/nvlink7"), "remote_address")
    story.fact("n1/gpu3/nvlink7", "listed_address", next(other for other in others if other != told))
    (finding,) = of_rule(story.tick(), "contradictions")
    assert (finding.component, finding.severity) == ("n1/gpu3/nvlink7", Severity.WARNING)
    assert "NVML says" in finding.title
    assert "nvidia-smi nvlink -R says" in finding.title


def test_a_baseboard_that_shows_seven_gpus_from_the_start_misses_one(begin):
    story = begin(nodes=0)
    story.add_node(NodeId("n1"), without="gpu5")
    (finding,) = of_rule(story.tick(3), "parts_missing")
    assert finding.component == "n1"
    assert "gpu5" in finding.title
    assert "virtual machine" in finding.argues_against[0]


def test_a_gpu_that_is_known_to_be_lost_is_not_called_missing_too(story):
    story.put("n1/gpu5", nvml_error=15)
    assert of_rule(story.tick(2), "parts_missing") == []
