"""A GPU that a tool gets no answer from is told, unless log or stream tell it already."""

from lanescope.incident.findings import Confidence

from .telling import judged, of_class

HANDLE = "Unable to determine the device handle for GPU0000:C2:00.0: Unknown Error\n"
LOST = "Unable to determine the device handle for GPU 0000:C2:00.0: GPU is lost.  Reboot the system\n"


def only(files):
    (found,) = of_class(judged(files), "gpu-off-bus")
    return found


def test_a_complaint_of_the_tool_names_the_gpu_by_its_address():
    found = only({"n1/nvidia-smi.txt": HANDLE})
    assert found.confidence is Confidence.POSSIBLE
    assert "0000:c2:00.0" in found.title


def test_the_drivers_own_word_is_likely():
    assert only({"n1/nvidia-smi.txt": LOST}).confidence is Confidence.LIKELY


def test_the_next_step_keeps_evidence_before_it_cycles_power():
    assert only({"n1/nvidia-smi.txt": LOST}).next.startswith("Save the kernel log")
