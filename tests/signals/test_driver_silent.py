"""When nvidia-smi gets no report, the software is named before any GPU."""

import pytest
from lanescope.incident.findings import Confidence

from .telling import judged

MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n"
NOT_REACHED = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running.\n"
)


def only(text):
    (found,) = judged({"n1/smi.txt": text})
    return found


def test_a_library_of_another_version_than_the_module_is_an_update_without_a_reload():
    found = only(MISMATCH)
    assert (found.fault_class, found.fru, found.confidence) == (
        "software/driver-mismatch", "software", Confidence.LIKELY,
    )  # fmt: skip
    assert "reload" in found.next


def test_a_driver_that_can_t_be_reached_is_a_question_of_its_module():
    found = only(NOT_REACHED)
    assert (found.fault_class, found.confidence) == ("software/driver", Confidence.POSSIBLE)


def test_no_devices_is_open_between_lost_and_never_given():
    found = only("No devices were found\n")
    assert found.fault_class == "gpu-off-bus"
    assert "given no GPU" in found.argues_against[0]


def test_a_damaged_inforom_names_the_gpu():
    text = "WARNING: infoROM is corrupted at gpu 0000:C2:00.0\n"
    found = only(text)
    assert found.fault_class == "gpu-firmware"
    assert "0000:c2:00.0" in found.title


@pytest.mark.parametrize(
    "text", ["Failed to initialize NVML: Insufficient Permissions\n", "nvidia-smi: command not found\n"]
)
def test_who_may_not_ask_or_has_no_tool_learns_nothing_about_the_node(text):
    assert judged({"n1/smi.txt": text}) == ()
