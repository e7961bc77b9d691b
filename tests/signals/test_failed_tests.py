"""What burn-ins, collectives and diagnostics found wrong themselves."""

import json

import pytest
from lanescope.incident.findings import Confidence, Severity

BURN = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-0000-0000-0000-000000000000)
100.0%  proc'd: 900 (49000 Gflop/s) - 900 (49010 Gflop/s)   errors: {0} - {1}   temps: 60 C - 61 C
Killing processes.. Freed memory for dev 0
done

Tested 2 GPUs:
\tGPU 0: {2}
\tGPU 1: {3}
"""
COLLECTIVE = """\
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 1 iters: 20 validation: 1
#
# Using devices
{ranks}
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  1048576   262144     float     sum      -1    57.30   18.30   18.30     {wrong}    56.90   18.43   18.43      0
# Out of bounds values : {wrong} FAILED
# Avg bus bandwidth    : 18.36
#
"""


def ranks_on(*hosts):
    return "\n".join(
        f"#  Rank  {rank} Group  0 Pid 12{rank}4 on {host:>10} device  {rank} [0000:1b:00] NVIDIA H100 80GB HBM3"
        for rank, host in enumerate(hosts)
    )


@pytest.fixture
def found(judged):
    def judge_text(text):
        return [one for one in judged(("n1", "", text)) if one.rule == "failed_tests"]

    return judge_text


def test_a_gpu_that_computes_wrong_values_while_others_do_not_is_named(found):
    (finding,) = found(BURN.format(0, "17 (WARNING!)", "OK", "FAULTY"))
    assert (finding.component, finding.fru, finding.severity) == ("n1/gpu1", "gpu-module", Severity.CRITICAL)
    assert finding.confidence is Confidence.LIKELY
    assert "17 wrong values" in finding.title


def test_where_every_gpu_is_faulty_the_run_may_be_and_each_is_only_possible(found):
    findings = found(BURN.format("3 (WARNING!)", "17 (WARNING!)", "FAULTY", "FAULTY"))
    assert [one.confidence for one in findings] == [Confidence.POSSIBLE, Confidence.POSSIBLE]


def test_a_burn_without_errors_raises_nothing(found):
    assert found(BURN.format(0, 0, "OK", "OK")) == []


def test_wrong_values_after_a_collective_are_a_fault_of_their_own(found):
    (finding,) = found(COLLECTIVE.format(wrong=7, ranks=ranks_on("n4", "n4")))
    assert (finding.component, finding.severity, finding.confidence) == ("n4", Severity.CRITICAL, Confidence.POSSIBLE)
    assert "#wrong 7" in finding.title


def test_wrong_values_across_nodes_name_no_node_with_confidence(found):
    (finding,) = found(COLLECTIVE.format(wrong=7, ranks=ranks_on("n4", "n5")))
    assert finding.confidence is Confidence.UNKNOWN
    assert "n4 and n5" in finding.title


def test_a_collective_without_wrong_values_raises_nothing(found):
    assert found(COLLECTIVE.format(wrong=0, ranks=ranks_on("n4", "n5"))) == []


def diagnostic(test, warning):
    result = {"gpu_ids": "3", "status": "Fail", "warnings": [warning]}
    passed = {"gpu_ids": "0,1,2", "status": "Pass"}
    category = {"category": "Hardware", "tests": [{"name": test, "results": [passed, result]}]}
    return json.dumps({"DCGM GPU Diagnostic": {"test_categories": [category]}}, indent=1)


def test_a_memory_test_that_found_wrong_bits_names_the_gpu(found):
    (finding,) = found(diagnostic("GPU Memory", "GPU 3 had uncorrectable ECC errors: DBE 2"))
    assert (finding.component, finding.fault_class) == ("n1/gpu3", "gpu-memory")
    assert finding.confidence is Confidence.LIKELY


def test_a_memory_test_that_failed_of_heat_is_heat(found):
    (finding,) = found(diagnostic("GPU Memory", "Thermal violations totaling 13.3 seconds for GPU 3"))
    assert (finding.fault_class, finding.confidence) == ("gpu-throttle/thermal", Confidence.POSSIBLE)


def test_a_failed_check_of_software_is_software(found):
    (finding,) = found(diagnostic("Persistence Mode", "Persistence mode for GPU 3 is disabled"))
    assert (finding.fault_class, finding.fru, finding.severity) == ("software", "software", Severity.WARNING)
