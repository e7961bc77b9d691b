"""Versions and settings that make one node or part the odd one out, live and in files; honest about small fleets."""

from lanescope.incident.findings import Confidence, Severity
from lanescope.signals.drift import compare_fleet
from lanescope.signals.readings import NOTHING_READ

from .conftest import Story
from .telling import judged, told


def drifts(story):
    return compare_fleet(story.snapshot.nodes.values(), NOTHING_READ)


def raised(findings):
    return [finding for finding in findings if finding.rule == "drift"]


def csv(driver="535.104.05", *vbios):
    rows = "".join(f"{n}, NVIDIA H100 80GB HBM3, {driver}, {one}\n" for n, one in enumerate(vbios or ("96.00.74",)))
    return f"index, name, driver_version, vbios_version\n{rows}"


def test_equal_nodes_have_no_drift_and_are_said_to_have_been_compared():
    story = Story(nodes=3)
    for node in ("n1", "n2", "n3"):
        story.fact(node, "driver_version", "535.104.05")
    found = drifts(story)
    assert found.drifts == ()
    assert "driver" in found.compared
    assert raised(story.findings()) == []


def test_the_node_with_another_driver_than_most_is_possibly_named():
    story = Story(nodes=4)
    for node in ("n1", "n2", "n3", "n4"):
        story.fact(node, "driver_version", "550.54.14" if node == "n3" else "535.104.05")
    (finding,) = raised(story.findings())
    assert finding.component == "n3/host"
    assert finding.fault_class == "software/driver-mismatch"
    assert (finding.confidence, finding.severity) == (Confidence.POSSIBLE, Severity.WARNING)
    assert "550.54.14" in finding.title


def test_of_two_nodes_nobody_is_the_odd_one():
    (finding,) = raised(judged({"a/gpus": csv("535.104.05"), "b/gpus": csv("550.54.14")}))
    assert (finding.confidence, finding.severity) == (Confidence.UNKNOWN, Severity.INFO)
    assert "nobody is the odd one out" in finding.argues_against[0]


def test_one_gpu_of_a_node_with_another_vbios_is_named_itself():
    (finding,) = raised(judged({"a/gpus": csv("535", "96.00.74", "96.00.74", "96.00.99", "96.00.74")}))
    assert (finding.component, finding.fault_class) == ("a/gpu2", "gpu-firmware/vbios-mismatch")


def test_a_node_all_of_whose_gpus_differ_alike_is_named_as_a_node():
    files = {f"n{n}/gpus": csv("535", *(("96.00.99",) if n == 2 else ("96.00.74",)) * 4) for n in range(4)}
    (finding,) = raised(judged(files))
    assert finding.component == "n2/host"


def test_gpus_of_another_model_are_no_equals():
    other = csv("535", "94.02.26").replace("H100 80GB HBM3", "A100-SXM4-80GB")
    assert raised(judged({"a/gpus": csv("535"), "b/gpus": csv("535"), "c/gpus": other})) == []


def test_where_a_node_boots_from_is_no_setting_and_only_words_that_differ_are_shown():
    lines = {
        f"n{n}/cmdline": f"BOOT_IMAGE=/v root=UUID={n} ro iommu=pt{'' if n == 1 else ' pci=realloc=off'}\n"
        for n in range(4)
    }
    (finding,) = raised(judged(lines))
    assert finding.component == "n1/host"
    assert finding.severity == Severity.INFO
    assert "pci=realloc=off" in finding.title
    assert "iommu" not in finding.title
    same = {f"n{n}/cmdline": f"BOOT_IMAGE=/v root=UUID={n} ro iommu=pt\n" for n in range(4)}
    assert raised(judged(same)) == []


def test_a_bios_is_compared_among_machines_of_one_kind():
    def dmi(machine, version):
        return f"/sys/class/dmi/id/product_name:{machine}\n/sys/class/dmi/id/bios_version:{version}\n"

    found = compare_fleet((), told({"a/x": dmi("X", "1.0"), "b/x": dmi("Y", "2.0"), "c/x": dmi("X", "1.0")}))
    assert [one.what for one in found.drifts] == ["machine"]


def test_the_newer_of_two_moments_counts():
    files = {"a/t0-gpus": csv("535"), "a/t1-gpus": csv("550"), "b/gpus": csv("550"), "c/gpus": csv("550")}
    assert raised(judged(files)) == []


def test_outputs_of_nobody_known_are_not_compared():
    found = compare_fleet((), told({"unknown/x": csv("535"), "a/x": csv("550")}))
    assert found.drifts == ()
