"""MIG is told where it is on, and warned of where a node is mixed."""

from lanescope.incident.findings import Severity

from .telling import judged, of_class


def modes(*on):
    rows = "".join(f"{at}, 00000000:{16 + at}:00.0, NVIDIA A100-SXM4-40GB, {mode}\n" for at, mode in enumerate(on))
    return {"n1/gpus.csv": "index, pci.bus_id, name, mig.mode.current\n" + rows}


def test_a_node_with_mig_on_some_of_its_gpus_is_warned_of():
    (found,) = of_class(judged(modes("Enabled", "Disabled")), "host-config")
    assert (found.fault_class, found.severity, found.component) == ("host-config/mig", Severity.WARNING, "n1/host")
    assert "1 of 2 GPUs" in found.title


def test_a_node_that_is_sliced_whole_is_only_told():
    (found,) = of_class(judged(modes("Enabled", "Enabled")), "host-config")
    assert found.severity is Severity.INFO


def test_gpus_without_mig_are_not_worth_a_word():
    assert of_class(judged(modes("Disabled", "[N/A]")), "host-config") == []
