"""Flags and errors since the driver loaded are told; totals over a GPU's life are not."""

from lanescope.incident.findings import Confidence, Severity

from .telling import judged, of_class


def report(volatile=0, aggregate=0, threshold="No"):
    return {
        "n1/q.txt": (
            "==============NVSMI LOG==============\n\nDriver Version : 550.1\nAttached GPUs : 1\nGPU 00000000:10:00.0\n"
            "    Product Name                          : NVIDIA L40S\n    ECC Errors\n        Volatile\n"
            f"            DRAM Uncorrectable            : {volatile}\n        Aggregate\n"
            f"            DRAM Uncorrectable            : {aggregate}\n"
            f"            SRAM Threshold Exceeded       : {threshold}\n"
        )
    }


def test_errors_since_the_driver_loaded_are_a_lead():
    (found,) = of_class(judged(report(volatile=3, aggregate=3)), "gpu-memory")
    assert (found.confidence, found.severity) == (Confidence.POSSIBLE, Severity.WARNING)
    assert "3 uncorrectable memory errors" in found.title


def test_the_threshold_flag_is_what_a_vendor_goes_by():
    (found,) = of_class(judged(report(threshold="Yes")), "gpu-memory")
    assert (found.fault_class, found.confidence) == ("gpu-memory/sram", Confidence.LIKELY)


def test_totals_over_a_gpus_life_raise_nothing():
    assert of_class(judged(report(aggregate=40)), "gpu-memory") == []
