"""Programs that check copies, memory and arithmetic of GPUs: their text in real processes, on simulated libraries."""

from __future__ import annotations

import ctypes
import importlib.util
import random
from pathlib import Path
from types import ModuleType

import pytest

from . import ptx  # noqa: TID251 (this folder, not the room)
from .cuda_child import GPUS, NODE_PROGRAMS, Child, build, error, found  # noqa: TID251

BASE, REPORT, WORDS = 0x1000, 0x100000, 333
OUT, REFERENCE, BY_WARP, BY_SM = 0x1000, 0x40000, 0x50000, 0x60000


@pytest.fixture(scope="session")
def libraries(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("libcuda"))


@pytest.fixture
def child(libraries, tmp_path) -> Child:
    return Child(libraries, tmp_path)


def module(name: str) -> ModuleType:
    """A file of the node that imports none of the others."""
    spec = importlib.util.spec_from_file_location(f"node_{name}", NODE_PROGRAMS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="session")
def kernels() -> ModuleType:
    return module("kernels")


# Kernels, in an interpreter.


def patterns(kernels):
    return {
        "constant": kernels.Pattern("constant", 0xAAAAAAAA, kernels.CONSTANT),
        "mixed": kernels.Pattern("mixed", 0x1234567),
        "moved on": kernels.Pattern("moved on", 7, start=100),
        "with a period": kernels.Pattern("with a period", 7, start=90, period=97),
    }


def numbers(pattern, *more):
    return [value.value for value in pattern.arguments(BASE, WORDS)] + list(more)


def empty_report():
    return {REPORT + 4 * place: 0 for place in range(68)}


def report_of(kernels, memory):
    raw = b"".join(memory[REPORT + 4 * place].to_bytes(4, "little") for place in range(68))
    return kernels.Report.from_buffer_copy(raw)


@pytest.mark.parametrize("name", ["constant", "mixed", "moved on", "with a period"])
def test_the_fill_kernel_writes_each_word_of_the_pattern_once_and_nothing_else(kernels, name):
    pattern, memory = patterns(kernels)[name], {}
    ptx.run(kernels.MEMORY, "fill", numbers(pattern), 3, 32, memory)
    assert memory == {BASE + 4 * index: pattern.word(index) for index in range(WORDS)}


@pytest.mark.parametrize("name", ["constant", "mixed", "moved on", "with a period"])
def test_the_check_kernel_counts_and_locates_what_differs(kernels, name):
    pattern = patterns(kernels)[name]
    memory = empty_report() | {BASE + 4 * index: pattern.word(index) for index in range(WORDS)}
    bad = {7: 1, 100: 1 << 31, 332: 0x10}
    for index, bits in bad.items():
        memory[BASE + 4 * index] ^= bits
    ptx.run(kernels.MEMORY, "check", numbers(pattern, REPORT), 3, 32, memory)
    report = report_of(kernels, memory)
    assert (report.count, report.bits) == (3, 0x80000011)
    assert {row.index: row.expected ^ row.got for row in report.rows[:3]} == bad


def test_more_mismatches_than_the_report_lists_are_counted_and_overrun_nothing(kernels):
    pattern = patterns(kernels)["mixed"]
    memory = empty_report() | {BASE + 4 * index: pattern.word(index) ^ 2 for index in range(WORDS)}
    ptx.run(kernels.MEMORY, "check", numbers(pattern, REPORT), 3, 32, memory)
    assert report_of(kernels, memory).count == WORDS
    assert max(memory) == REPORT + ctypes.sizeof(kernels.Report) - 4 == REPORT + 4 * 67


def test_a_period_as_the_host_writes_it_is_what_the_device_expects(kernels):
    pattern = patterns(kernels)["with a period"]
    words = (ctypes.c_uint32 * 97).from_buffer_copy(pattern.one_period())
    assert [words[(index + 90) % 97] for index in range(WORDS)] == [pattern.word(index) for index in range(WORDS)]


def places(turns, reference=0):
    return [OUT, reference, BY_WARP, BY_SM, turns]


@pytest.mark.parametrize("kind", ["fma", "integer"])
def test_all_warps_compute_the_same_and_their_lanes_differ(kernels, kind):
    memory = {}
    ptx.run(kernels.LOADS[kind], kind, places(5), 2, 64, memory)
    results = [memory[OUT + 4 * thread] for thread in range(128)]
    assert len(memory) == 128
    assert all(results[at : at + 32] == results[:32] for at in range(0, 128, 32))
    assert len(set(results[:32])) == 32


def test_what_the_integer_kernel_ends_with_is_known_beforehand(kernels):
    memory = {}
    ptx.run(kernels.LOADS["integer"], "integer", places(9), 1, 32, memory)
    assert [memory[OUT + 4 * lane] for lane in range(32)] == kernels.integer_results(9)


def test_the_single_precision_chains_stay_bounded(kernels):
    text = kernels.LOADS["fma"].replace("xor.b32 %r6, %r6, %r7;", "")
    memory = {}
    ptx.run(text, "fma", places(200), 1, 32, memory)
    assert all(abs(ptx.single(memory[OUT + 4 * lane])) < 100 for lane in range(32))


def test_results_that_differ_from_the_reference_are_counted_by_warp_and_by_multiprocessor(kernels):
    right = kernels.integer_results(3)
    memory = {REFERENCE + 4 * lane: value for lane, value in enumerate(right)}
    memory[REFERENCE + 4 * 5] ^= 1
    memory |= {BY_WARP + 4 * warp: 0 for warp in range(4)} | {BY_SM + 4 * 17: 0}
    ptx.run(kernels.LOADS["integer"], "integer", places(3, REFERENCE), 2, 64, memory, sm=17)
    assert [memory[BY_WARP + 4 * warp] for warp in range(4)] == [1] * 4
    assert memory[BY_SM + 4 * 17] == 4
    assert OUT not in memory


# Copies whose data are compared.

CORRUPT = "4096 0x10"
PAIR = {"op": "p2p", "gpus": GPUS[:2], "bytes": 1 << 20, "rounds": 4}
ONE = {"op": "h2d", "gpus": GPUS[:1], "bytes": 1 << 20, "rounds": 4}


def verdict(lines):
    (said,) = found(lines, "verify")
    return said


@pytest.mark.parametrize("arguments", [PAIR, ONE, {**ONE, "op": "d2h"}], ids=["p2p", "h2d", "d2h"])
def test_good_copies_are_compared_whole_and_timed_round_by_round(child, arguments):
    lines = child.run("verify_copy", arguments, "data")
    assert (verdict(lines)["wrong_bytes"], verdict(lines)["blame"]) == (0, "")
    assert verdict(lines)["bytes"] == 4 << 20
    assert found(lines, "w") == [0, 1, 2, 3]
    assert lines[-1]["end"] == "done"


@pytest.mark.parametrize(
    ("arguments", "rule", "blame"),
    [
        (PAIR, f"corrupt p2p 0 1 {CORRUPT}", "copy"),
        (PAIR, f"corrupt d2h 1 * {CORRUPT}", "read-back"),
        (PAIR, f"flaky d2h 1 * {CORRUPT}", "read-back"),
        (PAIR, "badcell 1 12345 0xff", "target memory"),
        (PAIR, "badcell 0 12345 0xff", "source memory"),
        (PAIR, f"corrupt h2d 0 * {CORRUPT}", "write to the source"),
        (ONE, f"corrupt h2d 0 * {CORRUPT}", "copy"),
        (ONE, f"corrupt d2h 0 * {CORRUPT}", "read-back"),
        (ONE, "badcell 0 12345 0xff", "target memory"),
        ({**ONE, "op": "d2h"}, f"corrupt d2h 0 * {CORRUPT}", "copy"),
        ({**ONE, "op": "d2h"}, "badcell 0 12345 0xff", "source memory"),
        ({**ONE, "op": "d2h"}, f"corrupt h2d 0 * {CORRUPT}", "write to the source"),
    ],
    ids=lambda value: value["op"] if isinstance(value, dict) else value.replace(" ", "-"),
)
def test_what_changed_the_data_is_told_from_what_only_carried_them(child, arguments, rule, blame):
    said = verdict(child.run("verify_copy", arguments, f"data; {rule}"))
    assert said["blame"] == blame
    assert said["wrong_bytes"] > 0


@pytest.mark.parametrize(
    ("rule", "blame"),
    [
        (f"corrupt p2p 0 1 {CORRUPT}", "copy"),
        (f"flaky d2h 1 * {CORRUPT}", "read-back"),
        ("badcell 1 12345 0xff", "target memory"),
    ],
    ids=["copy", "read-back", "target memory"],
)
def test_a_gpu_that_runs_no_kernel_of_ours_is_judged_from_the_host(child, rule, blame):
    said = verdict(child.run("verify_copy", PAIR, f"data; fail cuModuleLoadDataEx 218 *; {rule}"))
    assert said["blame"] == blame


def test_without_kernels_a_wrong_copy_from_the_host_blames_nobody(child):
    said = verdict(child.run("verify_copy", ONE, f"data; fail cuModuleLoadDataEx 218 *; corrupt h2d 0 * {CORRUPT}"))
    assert said["wrong_bytes"] == 256
    assert said["blame"] == ""


def test_a_mismatch_is_told_by_bytes_bits_distance_and_places(child):
    said = verdict(child.run("verify_copy", PAIR, f"data; corrupt p2p 0 1 {CORRUPT}"))
    assert (said["wrong_bytes"], said["flipped"], said["stride"]) == (256, 256, 4096)
    assert said["bits"] == "1000000000000000"
    assert [row["offset"] for row in said["first"]] == [4096 * page - 8 for page in range(1, 9)]
    assert all(int(row["expected"], 16) ^ int(row["got"], 16) == 0x10 for row in said["first"])


def test_a_copy_that_moves_nothing_is_wrong_in_every_byte_and_not_stale_right(child):
    said = verdict(child.run("verify_copy", PAIR))
    assert said["wrong_bytes"] > 0.98 * (1 << 20)


def test_a_verified_copy_that_never_completes_is_a_deadline_that_names_it(child):
    lines = child.run("verify_copy", PAIR, "data; stall p2p 0 1", seconds=1.0)
    assert error(lines)["name"] == "DEADLINE"
    assert error(lines)["call"] == "copy, round 0"
    assert lines[-1]["end"] == "deadline"


def test_the_lanes_counters_are_read_at_both_edges(child):
    lines = child.run("verify_copy", PAIR, "data", nvml={"lanes": 18, "moving": [GPUS[0], 7, 162]})
    (rows,) = found(lines, "counters")
    assert [row["lane"] for row in rows if row["after"] > row["before"]] == [7]
    assert len(rows) == 2 * 18 * 3


def test_differences_are_found_wherever_they_are(tmp_path):
    differences = module("differences")
    size = (1 << 20) + 4096 + 100
    want = random.Random(3).randbytes(size)
    got = bytearray(want)
    for place in (0, 4095, 4096, 1 << 20, size - 1):
        got[place] ^= 0x80
    one, other = ctypes.create_string_buffer(want, size), ctypes.create_string_buffer(bytes(got), size)
    seen = differences.Differences(ctypes.addressof(one), ctypes.addressof(other), size)
    assert (seen.wrong_bytes, seen.flipped, seen.pages) == (5, 5, 4)
    assert seen.places == [0, 4095, 4096, 1 << 20, size - 1]
    assert [row["offset"] for row in seen.report()["first"]] == [0, 4088, 4096, 1 << 20, (size - 1) // 8 * 8]


# Memory.

MEMORY = {"gpus": GPUS[:1]}


def test_good_memory_keeps_all_patterns_over_the_share_that_was_asked_for(child):
    lines = child.run("memory_check", {**MEMORY, "share": 0.5}, "memory 64")
    (memory,) = found(lines, "memory")
    assert memory["wrong_words"] == 0
    assert memory["patterns"] == ["mixed", "fives", "tens", "zeros", "ones"]
    assert memory["covered"] == 32 << 20
    assert found(lines, "step") == ["fill", "check"] * 5


def test_a_bad_cell_is_counted_and_located_with_its_bit(child):
    lines = child.run("memory_check", MEMORY, "memory 64; badcell 0 5000001 0x04")
    (memory,) = found(lines, "memory")
    first_allocation = 512  # the report of the kernel
    offset = (5000001 - first_allocation) // 4 * 4
    assert {(row["chunk"], row["offset"]) for row in memory["first"]} == {(0, offset)}
    assert memory["bits"] == "00000400"
    assert memory["wrong_words"] == memory["wrong_again"] == len(memory["first"]) >= 2


def test_ecc_and_remap_counters_are_read_before_and_after(child):
    lines = child.run("memory_check", MEMORY, "memory 64", nvml={"ecc": [[1, 0], [5, 0]]})
    rows = {row["name"]: (row["before"], row["after"]) for row in found(lines, "counters")[0]}
    assert rows["ecc_corrected"] == (1, 5)
    assert rows["ecc_uncorrected"] == rows["remapped_uncorrectable"] == (0, 0)


def test_patterns_for_which_no_time_is_left_are_said_to_be_left_out(child):
    (memory,) = found(child.run("memory_check", {**MEMORY, "seconds": 0.1}, "memory 512"), "memory")
    assert memory["patterns"] == ["mixed"]
    assert memory["left_out"] == ["fives", "tens", "zeros", "ones"]


def test_memory_that_is_free_in_pieces_is_checked_in_pieces(child):
    lines = child.run("memory_check", {**MEMORY, "share": 1.0, "seconds": 0.1}, "memory 65")
    (memory,) = found(lines, "memory")
    assert memory["covered"] == 64 << 20, "the last of the free memory went to the report"


def test_a_gpu_without_free_memory_says_so(child):
    assert error(child.run("memory_check", MEMORY, "memory 1"))["name"] == "CUDA_ERROR_OUT_OF_MEMORY"


def test_a_memory_kernel_that_never_completes_is_a_deadline_that_names_it(child):
    lines = child.run("memory_check", MEMORY, "memory 64; stall check 0", seconds=2.5)
    assert (error(lines)["name"], error(lines)["call"]) == ("DEADLINE", "check")


# Load.

LOAD = {"gpus": GPUS[:1], "kinds": ["fma"], "seconds": 0.35}


def burn(lines):
    (said,) = found(lines, "burn")
    return said


def test_each_kind_of_load_runs_in_turn_and_all_results_are_right(child):
    lines = child.run("burn", {**LOAD, "kinds": ["integer", "fma", "wmma"]})
    burns = found(lines, "burn")
    assert [each["kind"] for each in burns] == ["integer", "fma", "wmma"]
    assert [each["wrong_warps"] for each in burns] == [0, 0, 0]
    assert [each["known"] for each in burns] == [True, False, False]
    assert all(each["launches"] > 2 and each["tflops"]["median"] > 0 for each in burns)


def test_equal_gpus_have_equal_digests(child):
    one, other = (burn(child.run("burn", {**LOAD, "gpus": [gpu]})) for gpu in GPUS[:2])
    assert one["digest"] == other["digest"]
    assert burn(child.run("burn", {**LOAD, "turns": 7}))["digest"] != one["digest"]


def test_a_warp_that_computes_something_else_later_is_found_with_its_multiprocessor(child):
    said = burn(child.run("burn", LOAD, "wrong fma 0 17"))
    assert said["wrong_warps"] == 1
    assert said["first"] == [{"block": 2, "warp": 17}]
    assert [row["sm"] for row in said["sms"]] == [1]
    assert said["wrong_results"] == 32 * (said["launches"] - 1)


def test_power_heat_clock_and_what_holds_it_down_are_looked_at_meanwhile(child):
    vitals = [[650000, 70, 1900, 0x4], [690000, 88, 1500, 0x44], [600000, 80, 1700, 0x4]]
    lines = child.run("burn", LOAD, nvml={"vitals": vitals})
    said = burn(lines)["vitals"]
    assert said["looks"] == len(found(lines, "look")) >= 3
    assert said["power_w"]["max"] == 690.0
    assert said["temperature_c"]["max"] == 88
    assert said["sm_mhz"]["min"] == 1500
    assert said["reasons"] == {"sw_power_cap": said["looks"], "hw_thermal_slowdown": 1}
    assert said["power_limit_w"] == 700.0


def test_a_driver_from_before_535_is_asked_by_the_old_name(child):
    said = burn(child.run("burn", LOAD, nvml={"vitals": [[650000, 70, 1900, 0x8]], "old": True}))["vitals"]
    assert said["reasons"] == {"hw_slowdown": said["looks"]}
    assert said["looks_without_reasons"] == 0


def test_without_nvml_the_load_runs_and_nobody_looked(child):
    assert burn(child.run("burn", LOAD))["vitals"] == {"looks": 0}


def test_a_load_that_never_completes_is_a_deadline_that_names_it(child):
    lines = child.run("burn", {**LOAD, "kinds": ["wmma"]}, "stall wmma 0", seconds=1.0)
    assert (error(lines)["name"], error(lines)["call"]) == ("DEADLINE", "wmma first results")
    assert lines[-1]["end"] == "deadline"


def test_a_load_ends_in_time_for_its_answer_whatever_it_was_asked_for(child):
    lines = child.run("burn", {**LOAD, "seconds": 200}, seconds=2.5)
    assert burn(lines)["wrong_warps"] == 0


def test_a_translation_that_fails_says_what_the_driver_said(child):
    assert error(child.run("burn", LOAD, "fail cuModuleLoadDataEx 218 *"))["call"] == "cuModuleLoadDataEx"


@pytest.mark.parametrize(
    ("program", "wrong"),
    [
        ("burn", {"kinds": ["coin"]}),
        ("burn", {"kinds": []}),
        ("burn", {"seconds": 1e9}),
        ("memory_check", {"share": 2}),
        ("memory_check", {"patterns": "all"}),
        ("verify_copy", {"op": "burn"}),
        ("verify_copy", {"op": "p2p"}),
        ("verify_copy", {"op": "h2d", "gpus": ["; rm -rf /"]}),
        ("cuda_copy", {"op": "bidir", "gpus": GPUS[:2]}),
    ],
    ids=str,
)
def test_arguments_are_checked_on_the_node(child, program, wrong):
    assert error(child.run(program, {"gpus": GPUS[:1], **wrong}))["name"] == "BAD_TASK"


# More directions of copies, and the links under them.

COPY = {"gpus": GPUS[:1], "op": "h2d"}


def test_both_ways_at_once_are_the_sum_of_two_streams_that_begin_each_window_together(child):
    lines = child.run("cuda_copy", {**COPY, "op": "bidir"}, "rate h2d 0 * 50; rate d2h 0 * 40")
    assert found(lines, "gbps") == pytest.approx([90.0] * 16, rel=1e-3)
    assert all(
        each == {"h2d": pytest.approx(50, rel=1e-3), "d2h": pytest.approx(40, rel=1e-3)}
        for each in found(lines, "each")
    )


def test_a_direction_that_ends_first_waits_for_the_other_so_that_no_window_has_it_alone(child):
    lines = child.run("cuda_copy", {**COPY, "op": "bidir", "windows": 4}, "rate h2d 0 * 50; rate d2h 0 * 1")
    of_a_d2h_copy, of_h2d_copies = 67.1, 29.5
    gaps = [line["gap_ms"] for line in lines if line.get("w", 0) > 1]
    assert gaps == pytest.approx([of_a_d2h_copy - of_h2d_copies] * 2, abs=1.0)


def test_a_direction_that_never_completes_is_a_deadline(child):
    lines = child.run("cuda_copy", {**COPY, "op": "bidir"}, "stall d2h 0 *", seconds=1.0)
    assert (error(lines)["name"], error(lines)["call"]) == ("DEADLINE", "d2h warm-up")


def test_a_link_that_is_slow_for_one_window_is_seen_and_its_order_kept(child):
    child.add_link(0)
    (foot,) = found(child.run("cuda_copy", COPY, "drop 0; slow h2d 0 * 0.3"), "foot")
    fast, slow = "32.0 GT/s PCIe x16", "8.0 GT/s PCIe x16"
    assert foot["link"] == {"bus": GPUS[0], "during": [fast, slow, fast], "transitions": 2}


def test_the_links_above_the_gpu_are_looked_at_too_nearest_first(child):
    child.add_link(0, ["0000:01:00.0", "0000:02:00.0"])
    (foot,) = found(child.run("cuda_copy", {**COPY, "op": "d2h"}), "foot")
    assert foot["link"]["transitions"] == 0
    assert [link["bus"] for link in foot["above"]] == ["0000:02:00.0", "0000:01:00.0"]


def test_links_that_can_not_be_read_are_absent(child):
    (foot,) = found(child.run("cuda_copy", COPY), "foot")
    assert "link" not in foot
    assert "above" not in foot
