"""What probes that drive installed tools ask of nodes, what they cross, and how the tools' own words are read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lanescope.incident.errors import NotTested, ProbeError, Unparsable
from lanescope.incident.ids import gpu_id, host_id
from lanescope.incident.platforms import platform
from lanescope.incident.source import TaskOutput
from lanescope.probes.catalogue import CATALOGUE
from lanescope.topology.paths import peer_copy_path
from lanescope.topology.sources.platform import fabric_of

from .tool_runs import DATA, N0, TOOLS, captured, crossed, ran, read, trial_of


def test_no_probe_that_drives_a_tool_is_run_by_a_search():
    assert not [name for name in TOOLS if CATALOGUE[name].searches]


def test_every_probe_that_drives_a_tool_names_the_tool_and_its_package():
    needs = {name: CATALOGUE[name].needs for name in TOOLS if name != "fabric_state"}
    assert all(need and all(each.name and each.package for each in need) for need in needs.values())
    assert ("ib_read_bw", "perftest") in {(need.name, need.package) for need in needs["rdma_read"]}


@pytest.mark.parametrize("name", TOOLS)
def test_every_target_is_crossed_and_no_part_carries_more_than_all(hgx, name):
    probe, trial = CATALOGUE[name], trial_of(name)
    way = probe.exercises(hgx, trial.targets)
    assert set(trial.targets) <= crossed(way)
    assert all(0 < crossing.share <= 1 for crossing in way)
    assert len(crossed(way)) == len(way)


@pytest.mark.parametrize("name", TOOLS)
def test_the_cost_names_the_node_and_is_one_line(hgx, name):
    cost = CATALOGUE[name].cost(trial_of(name).targets)
    assert "n0" in cost
    assert "\n" not in cost


# nvbandwidth


def test_the_slowest_pair_of_a_matrix_counts_and_is_named_by_its_bus_addresses(hgx):
    measured = read(hgx, "nvbandwidth_p2p", ran(matrix(slow=(5, 2)), tool="/usr/local/bin/nvbandwidth"))
    assert measured.windows == (200.0,)
    assert measured.detail == "Slowest of 56: gpu2 to gpu5, 200.0 GB/s; the median is 397.0 GB/s."
    assert measured.measured_by.startswith("nvbandwidth v0.8, driver 570.124.06")
    assert "one window" in measured.measured_by


def matrix(slow: tuple[int, int]) -> str:
    """nvbandwidth's write test on eight GPUs: rows are written to, columns write."""
    devices = [platform("h100_hgx").device(f"gpu{gpu}").address for gpu in range(8)]
    lines = ["nvbandwidth Version: v0.8", "Built from Git version: v0.8", "", "CUDA Runtime Version: 12080"]
    lines += ["CUDA Driver Version: 12080", "Driver Version: 570.124.06", ""]
    lines += [f"Device {at}: NVIDIA H100 80GB HBM3 (0000{address[:-2]})" for at, address in enumerate(devices)]
    lines += ["", "Running device_to_device_memcpy_write_ce.", "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)"]
    lines += [" " + "".join(f"{column:10d}" for column in range(8))]
    for row_at in range(8):
        cells = ["N/A" if row_at == at else "200.00" if (row_at, at) == slow else "397.00" for at in range(8)]
        lines.append(f"{row_at:2d}" + "".join(f"{cell:>10}" for cell in cells)[1:])
    return "\n".join([*lines, "", "SUM device_to_device_memcpy_write_ce 22035.00", ""])


def test_the_captured_matrix_of_two_sockets_gives_its_slowest_pair(hgx):
    measured = read(hgx, "nvbandwidth_p2p", ran(captured("bandwidth/nvbandwidth-v08-d2d-6xa6000.txt")))
    assert measured.windows == (21.80,)
    assert measured.detail.startswith("Slowest of 30: device 0 to device 5")


def test_a_test_that_this_machine_can_not_run_is_no_measurement(hgx):
    text = "nvbandwidth Version: v0.8\n\nRunning device_to_device_memcpy_write_ce.\nWaived: \n"
    with pytest.raises(Unparsable, match=r"nvbandwidth on n0 .* no result"):
        read(hgx, "nvbandwidth_p2p", ran(text, tool="/usr/local/bin/nvbandwidth"))


def test_nvbandwidth_crosses_what_copies_between_all_gpus_cross_and_expects_the_published_figure(hgx):
    probe, node = CATALOGUE["nvbandwidth_p2p"], (host_id(N0),)
    assert crossed(peer_copy_path(hgx, gpu_id("n0", 1), gpu_id("n0", 6))) <= crossed(probe.exercises(hgx, node))
    assert probe.expected(hgx, node) == platform("h100_hgx").expect["nvbandwidth_d2d_write_ce"].value


# nccl-tests


def test_the_bus_bandwidth_of_a_collective_is_read_with_the_check_of_its_data(hgx):
    text = (DATA / "bandwidth" / "sendrecv_perf.txt").read_text()
    measured = read(hgx, "nccl_tests_sendrecv", ran(text, tool="/opt/nccl-tests/build/sendrecv_perf"))
    assert measured.windows == (85.22,)
    assert (measured.check, measured.detail) == ("good", "All values arrived right; in place 85.4 GB/s.")
    assert measured.measured_by.startswith("sendrecv_perf of nccl-tests 2.17.6")


def test_values_that_arrived_wrong_are_wrong_however_fast(hgx):
    text = (DATA / "bandwidth" / "sendrecv_perf.txt").read_text()
    text = text.replace("85.22   85.22       0", "85.22   85.22      12").replace("values : 0 OK", "values : 1 FAILED")
    measured = read(hgx, "nccl_tests_sendrecv", ran(text, 1))
    assert measured.check == "wrong"
    assert measured.detail.startswith("12 values arrived wrong")


def test_old_outputs_whose_data_were_not_compared_say_so(hgx):
    text = captured("bandwidth/nccl-tests-alltoall-8xA100.log")
    measured = read(hgx, "nccl_tests_alltoall", ran(text))
    assert measured.windows == (224.31,)
    assert measured.check == ""
    assert measured.detail.startswith("The data were not compared")


def test_a_collective_that_broke_off_is_no_measurement_and_says_why(hgx):
    text = "gpu-017: Test CUDA failure common.cu:1180 'invalid device ordinal'\n"
    with pytest.raises(Unparsable, match="invalid device ordinal"):
        read(hgx, "nccl_tests_allreduce", ran(text, 2))


def test_figures_that_were_published_for_a_whole_rack_are_not_expected_of_a_tray(hgx):
    rack = fabric_of(["t0"], platform("gb300_nvl72"))
    node = (host_id("t0"),)
    assert math.isnan(CATALOGUE["nccl_tests_allreduce"].expected(rack, node))
    assert CATALOGUE["nccl_tests_alltoall"].expected(rack, node) == 628
    assert CATALOGUE["nccl_tests_allreduce"].expected(hgx, (host_id(N0),)) == 480


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_level_of_the_diagnostic_is_asked_for_in_json(hgx, level):
    name = f"dcgm_diag_{level}"
    ((node, task),) = CATALOGUE[name].tasks(trial_of(name), hgx)
    assert (node, task.arguments["argv"]) == (N0, ["dcgmi", "diag", "-r", str(level), "-j"])


def test_a_captured_diagnostic_that_passed_is_good(hgx):
    measured = read(hgx, "dcgm_diag_2", ran(captured("dcgm/dcgmi-diag-r2-pass-a100-333.txt"), tool="/usr/bin/dcgmi"))
    assert (measured.check, measured.windows) == ("good", ())
    assert measured.detail == "11 tests passed."
    assert measured.measured_by == "dcgmi diag -r 2, DCGM 3.3.3, driver 535.104.12"


def test_a_captured_failure_is_wrong_though_dcgm_says_it_ran_successfully(hgx):
    measured = read(hgx, "dcgm_diag_1", ran(captured("dcgm/dcgmi-diag-r1-fail.json"), 226))
    assert measured.check == "wrong"
    assert measured.detail.startswith("Persistence Mode failed")


def test_a_captured_failure_of_one_gpu_names_it_and_the_reason(hgx):
    measured = read(hgx, "dcgm_diag_2", ran(captured("dcgm/dcgmi-diag-r2-thermal-violation.txt"), 226))
    assert measured.check == "wrong"
    assert measured.detail.startswith("GPU Memory failed on GPU 0: GPU 0 Thermal violations totaling 13.3 seconds")


def test_a_diagnostic_that_skipped_everything_tested_nothing(hgx):
    with pytest.raises(NotTested, match="DCGM skipped all"):
        read(hgx, "dcgm_diag_3", ran(captured("dcgm/dcgmi-diag-r3-skip-t400.json")))


def test_failures_of_dcgm_4_are_read_too(hgx):
    text = (DATA / "dcgm" / "diag-r2-dcgm4-fail.txt").read_text()
    assert read(hgx, "dcgm_diag_2", ran(text, 226)).check == "wrong"


def test_a_host_engine_that_does_not_run_is_named(hgx):
    text = "Error: Unable to establish a connection to the specified host: localhost\n"
    with pytest.raises(NotTested, match="host engine does not run"):
        read(hgx, "dcgm_diag_1", ran(text, 1))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
SAID = st.text(max_size=40) | st.sampled_from(
    [
        matrix((1, 2))[:900],
        '{"DCGM GPU Diagnostic": {',
        " #bytes #iterations\n 8 9 nan\n",
        "Fail - GPU: 9\n| a | Fail |",
    ]
)
KEYS = st.sampled_from(
    ["out", "err", "head", "tool", "exit", "counters", "nic", "name", "before", "after", "state", "is"]
)
LINES = st.lists(st.dictionaries(KEYS, JSON | SAID) | JSON, max_size=12)


@settings(max_examples=120, deadline=None)
@given(one=LINES, other=LINES, name=st.sampled_from(TOOLS))
def test_no_answer_however_mangled_raises_anything_but_a_probe_error(hgx, one, other, name):
    outputs = [TaskOutput(f"R1T1.{at}", tuple(lines), 100.0, 101.0, 2.0) for at, lines in enumerate((one, other))]
    try:
        measured = CATALOGUE[name].read(outputs, trial_of(name), hgx)
    except ProbeError:
        return
    assert all(0 < value < math.inf for value in measured.windows)
    assert len(measured.windows) <= 1
    assert measured.check in ("", "good", "wrong")
