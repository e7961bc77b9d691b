"""Why clocks are held down: the machine's brake, heat, a power cap, or somebody's wish; idle is none of them."""

import pytest
from lanescope.incident.findings import Confidence, Severity

from .telling import judged, of_class

REASONS = (
    "Idle",
    "Applications Clocks Setting",
    "SW Power Cap",
    "HW Slowdown",
    "HW Thermal Slowdown",
    "HW Power Brake Slowdown",
    "SW Thermal Slowdown",
)
NESTED = ("HW Thermal Slowdown", "HW Power Brake Slowdown")


def report(*active, clock=1980):
    lines = ["Clocks Event Reasons"]
    for reason in REASONS:
        indent = "        " if reason in NESTED else "    "
        lines.append(f"{indent}{reason:<30}: {'Active' if reason in active else 'Not Active'}")
    return "\n".join([*lines, "Clocks", f"    SM                                : {clock} MHz"]) + "\n"


def only(files):
    (found,) = of_class(judged(files), "gpu-throttle")
    return found


BRAKED = report("HW Slowdown", "HW Power Brake Slowdown", clock=345)
IDS = (
    "Product Name                    : NVIDIA L40\n    Device Id                   : 0x26B510DE\n"
    "    Sub System Id               : 0x169D10DE\n"
)


def test_a_power_brake_without_heat_or_cap_is_the_machines_doing():
    found = only({"n1/perf.txt": BRAKED})
    assert (found.fault_class, found.fru) == ("gpu-throttle/power-brake-external", "power")
    assert (found.confidence, found.severity) == (Confidence.LIKELY, Severity.CRITICAL)
    assert "345 MHz" in found.title
    assert "gpu-module" not in found.fru


def test_a_bmc_that_does_not_know_the_gpu_explains_the_brake():
    bmc = "Looking for VID=0x10de DID=0x26b5 SVID=0x10de SDID=0x169d\nDidn't find a power table match for device\n"
    found = only({"n1/perf.txt": BRAKED, "n1/ids.txt": IDS, "bmc7/bmc.txt": bmc})
    assert found.fru == "firmware"
    assert "10de:26b5" in found.title


def test_a_bmc_that_does_not_know_another_device_explains_nothing():
    bmc = "Looking for VID=0x10de DID=0x1111\nDidn't find a power table match\n"
    assert only({"n1/perf.txt": BRAKED, "n1/ids.txt": IDS, "bmc7/bmc.txt": bmc}).fru == "power"


def test_a_brake_beside_heat_is_only_possible():
    braked = report("HW Slowdown", "HW Power Brake Slowdown", "HW Thermal Slowdown")
    assert only({"n1/perf.txt": braked}).confidence is Confidence.POSSIBLE


def test_heat_is_told_as_heat():
    found = only({"n1/perf.txt": report("HW Slowdown", "HW Thermal Slowdown")})
    assert found.fault_class == "gpu-throttle/thermal"


@pytest.mark.parametrize(
    ("reason", "kind"), [("SW Power Cap", "power-cap"), ("Applications Clocks Setting", "clock-locked")]
)
def test_limits_that_somebody_set_are_information(reason, kind):
    found = only({"n1/perf.txt": report(reason)})
    assert (found.fault_class, found.severity) == (f"gpu-throttle/{kind}", Severity.INFO)


def test_an_idle_gpu_is_not_throttled():
    assert of_class(judged({"n1/perf.txt": report("Idle", "SW Power Cap", clock=210)}), "gpu-throttle") == []


def test_a_live_gpu_is_judged_while_it_works_and_by_what_lasts(story):
    story.put("n1/gpu3", utilization_pct=100, clocks_event_reasons=0x80 | 0x08)
    story.tick(20)
    (found,) = of_class(story.findings(), "gpu-throttle")
    assert found.fault_class == "gpu-throttle/power-brake-external"
    story.put("n1/gpu3", clocks_event_reasons=0)
    story.tick(40)
    assert of_class(story.findings(), "gpu-throttle") == []


def test_a_live_gpu_that_does_nothing_is_not_judged(story):
    story.put("n1/gpu3", utilization_pct=0, clocks_event_reasons=0x80 | 0x08)
    story.tick(20)
    assert of_class(story.findings(), "gpu-throttle") == []
